"""Writes that autograd does not see, and operations that it records: they are parts of two graphs.

In:  each operation, before and after it ran on fake tensors.
Out: `GraphBreak` at the first operation of the other kind.

    optimizer.step(); loss = model(x)    ->    the graph of the step, the graph of the model

A step writes to parameters without grad mode. The joint graph of a forward and its backward does not say
whether a saved tensor is from before or after such a write, so the compiler runs such a graph operation by
operation. As two graphs, both are compiled.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensor

from capture.report.break_reasons import GraphBreak

Versions = list[tuple[torch.Tensor, int]]


class HiddenWrites:
    """What a graph has had until now. `splits`: False where the graph has to stay whole."""

    def __init__(self, splits: bool) -> None:
        self.splits = splits
        self.written = self.recorded = False

    def before(self, arguments: Any) -> Versions:
        """The inputs of the graph that require grad among the arguments of an operation without grad mode.

        Inference tensors do not count their writes, and autograd sees none.
        """
        found: Versions = []
        if not self.splits or torch.is_grad_enabled():
            return found

        def note(node: torch.fx.Node) -> torch.fx.Node:
            fake = node.meta.get("example_value")
            if node.op != "placeholder" or not isinstance(fake, FakeTensor):
                return node
            if fake.requires_grad and not fake.is_inference():
                found.append((fake, fake._version))
            return node

        torch.fx.node.map_arg(arguments, note)
        return found

    def after(self, name: str, before: Versions, value: Any) -> None:
        """Raises GraphBreak where the operation and the graph before it have to be two graphs."""
        if not self.splits:
            return
        self.written |= any(fake._version != version for fake, version in before)
        self.recorded |= torch.is_grad_enabled() and _is_recorded(value)
        if self.written and self.recorded:
            signal = GraphBreak("write_without_grad", name=name)
            signal.breaks_callees = False  # it depends on what was before
            raise signal


def _is_recorded(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_is_recorded, value))
    return isinstance(value, FakeTensor) and value.requires_grad and value.grad_fn is not None
