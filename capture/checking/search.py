"""The first operation of a graph that a backend computes wrongly.

In:  a graph, its inputs, a backend.
Out: a `Finding`, or None; and the operations on whose edges the inputs lie.

The first operations of the graph are compiled alone: half of them, a quarter, ... until one more operation
makes the results wrong. If this operation only stands on an edge (`judge.py`), the search goes on behind it,
from the values that eager has there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx

from capture.checking.judge import Verdict, judge
from capture.checking.parts import CALLS, Cutter, Part
from capture_records import dataclass

EDGES = 8  # after so many the search ends


@dataclass(frozen=True)
class Operation:
    """An operation of a graph, and the place in the program that it comes from."""

    name: str
    call: str
    file: str
    line: int
    function: str
    source: str

    def __str__(self) -> str:
        place = f" ({self.file}:{self.line}, in {self.function})" if self.file else ""
        return f"{self.call}{place}{': ' + self.source if self.source else ''}"


@dataclass(frozen=True)
class Finding:
    """What a backend computes wrongly. `part`: operations that show it."""

    verdict: Verdict
    operation: Operation | None
    part: Part


def operation_of(node: torch.fx.Node) -> Operation:
    places = node.meta.get("program_places") or ()
    target = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", node.target)
    if not places:
        return Operation(node.name, str(target), "", 0, "", "")
    place, lines = places[0], node.meta.get("stack_trace", "").splitlines()
    source = lines[1].strip() if len(lines) > 1 else ""
    return Operation(node.name, str(target), place.co_filename, place.line, place.co_qualname, source)


class Search:
    """`edges`: operations at which the results differ only because the inputs lie on an edge."""

    def __init__(self, module: torch.fx.GraphModule, inputs: Sequence[Any], backend: Any) -> None:
        self.module = module
        self.inputs = list(inputs)
        self.backend = backend
        self.edges: list[Operation] = []

    def run(self) -> Finding | None:
        nodes = [node for node in self.module.graph.nodes if node.op in CALLS]
        whole = Part(self.module, self.inputs, nodes)
        verdict = judge(whole, self.backend)
        if verdict.right:
            return None
        cutter = Cutter(self.module, self.inputs)
        start: int | None = 0
        while start is not None and len(self.edges) < EDGES:
            part = cutter.part(start, len(cutter))
            found = None if part is None else judge(part, self.backend)
            if part is None or found is None or found.right:
                return None if start else Finding(verdict, None, whole)
            end = self.first_wrong(cutter, start)
            part = cutter.part(start, end) or part
            found = judge(part, self.backend)
            blamed = cutter.calls[end - 1]
            if found.right:  # only the whole is wrong
                return Finding(verdict, None, whole)
            if found.wrong:
                return Finding(found, operation_of(blamed), self.shortened(cutter, start, end, part))
            self.edges.append(operation_of(blamed))
            start = next_start(cutter, end)
        return None

    def first_wrong(self, cutter: Cutter, start: int) -> int:
        """The smallest end at which the operations from `start` are not right."""
        ends = [end for end in cutter.ends() if end > start]
        low, high = 0, len(ends) - 1
        while low < high:
            middle = (low + high) // 2
            part = cutter.part(start, ends[middle])
            if part is None or judge(part, self.backend).right:
                low = middle + 1
            else:
                high = middle
        return ends[high]

    def shortened(self, cutter: Cutter, start: int, end: int, whole: Part) -> Part:
        """The last operations before `end` that are wrong without those before them."""
        return latest(cutter, start, end, whole, lambda part: judge(part, self.backend).wrong)


def latest(cutter: Cutter, start: int, end: int, whole: Part, is_wrong: Callable[[Part], bool]) -> Part:
    """The shortest part up to `end` that is still wrong: halves of what is left are cut off its front."""
    alone = cutter.part(end - 1, end)
    if alone is not None and is_wrong(alone):
        return alone
    low, high, best = start, end - 1, whole
    while low < high:
        middle = (low + high + 1) // 2
        part = cutter.part(middle, end)
        if part is not None and is_wrong(part):
            low, best = middle, part
        else:
            high = middle - 1
    return best


def next_start(cutter: Cutter, end: int) -> int | None:
    """The first place from `end` on where the graph can be cut."""
    last = len(cutter)
    return next((start for start in range(end, last) if cutter.part(start, last) is not None), None)
