"""What a frame's own calls of `torch.autograd.grad`, and the leaves that it makes, mean for its results.

In:  each such call, each leaf; at the end the results of the graph.
Out: `GraphBreak` in front of a call or leaf, where a result of the graph would not be the one of eager.

    grad(loss, x); return loss           the call has freed the graph of `loss`, whose backward raises
    x = x.detach().requires_grad_()      a backward of the second result leaves its gradient in `x.grad`
    return x, model(x)

A compiled graph has no steps that are freed, and no gradient comes to a leaf that it makes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from codegen.trace.gradients import steps_behind

if TYPE_CHECKING:
    from capture.interpret.output_graph import OutputGraph


class InnerGradients:
    def __init__(self, output: OutputGraph) -> None:
        self.output = output
        self._freed: dict[Any, int] = {}  # step of autograd's graph -> when a call freed it
        self._leaves: dict[int, tuple[torch.Tensor, int]] = {}  # id -> the fake tensor, and when it was made

    def forget(self) -> None:
        self._freed.clear()
        self._leaves.clear()

    def note_freed(self, steps: Iterable[Any]) -> None:
        for step in steps:
            self._freed.setdefault(step, self.output.root_step)

    def note_leaf(self, leaf: torch.Tensor) -> None:
        self._leaves[id(leaf)] = leaf, self.output.root_step

    def check(self, results: Iterable[torch.fx.Node]) -> None:
        """Raises GraphBreak for the first call or leaf that the graph can't have, given its results."""
        if not self._freed and not self._leaves:
            return
        values = [node.meta.get("example_value") for node in results]
        recorded = [v for v in values if isinstance(v, torch.Tensor) and v.requires_grad]
        found = [(step, "a leaf that leaves it") for step in map(self._made_at, recorded) if step is not None]
        if self._freed:
            with self.output.fake_mode:
                behind = [self._freed.get(step) for step in steps_behind(recorded)]
            found += [(step, "a graph that is freed") for step in behind if step is not None]
        if found:
            born, what = min(found)
            signal = GraphBreak("inner_gradients", what=what)
            signal.born = born
            signal.breaks_callees = False  # it depends on what comes behind
            raise signal

    def _made_at(self, value: torch.Tensor) -> int | None:
        """When the leaf was made that the tensor is, or is a view of."""
        for tensor in (value, value._base):
            known = self._leaves.get(id(tensor))
            if known is not None:
                return known[1]
        return None
