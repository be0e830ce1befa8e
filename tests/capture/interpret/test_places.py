"""Each node of a graph knows the lines of the program that run it: those of its frame and of all callers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

import capture
from capture.graph.program_places import PLACES, module_call


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def sines(x: torch.Tensor) -> Iterator[torch.Tensor]:
    while True:
        x = doubled(x)
        yield x


def twice_from_a_generator(x: torch.Tensor) -> torch.Tensor:
    numbers = sines(x)
    first = next(numbers)
    second = next(numbers)
    return doubled(first) - second


def lines_of(function: Any, *args: Any) -> list[list[tuple[str, int]]]:
    """For each call of the graph, (function, line counted from its `def`), outermost first."""
    found: list[list[tuple[str, int]]] = []

    def note(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        for node in graph.graph.nodes:
            if PLACES in node.meta:
                places = node.meta[PLACES]
                shown = [(p.co_name, p.line) for p in places if p not in module_call()]
                text = re.findall(r"line (\d+), in (\S+)", node.meta["stack_trace"])
                assert [(name, int(line)) for line, name in text] == shown
                found.append([(p.co_name, p.line - p.co_firstlineno) for p in places])
        return graph

    capture.compile(function, backend=note)(*args)
    return found


def test_a_generator_is_resumed_from_other_lines() -> None:
    assert lines_of(twice_from_a_generator, torch.ones(2)) == [
        [("twice_from_a_generator", 2), ("sines", 2), ("doubled", 1)],
        [("twice_from_a_generator", 3), ("sines", 2), ("doubled", 1)],
        [("twice_from_a_generator", 4), ("doubled", 1)],
        [("twice_from_a_generator", 4)],
    ]


class Outer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = doubled(x)
        return self.inner(x)


def test_frames_of_torch_around_a_module() -> None:
    module = Outer()
    own, call = (
        [("forward", 2)],
        [(place.co_name, place.line - place.co_firstlineno) for place in module_call()],
    )
    first, second = lines_of(lambda x: module(x), torch.ones(2))
    assert first == [("<lambda>", 0), *call, ("forward", 1), ("doubled", 1)]
    assert second[: len(call) + 2] == [("<lambda>", 0), *call, *own]
    assert second[len(call) + 2 : -1] == call
