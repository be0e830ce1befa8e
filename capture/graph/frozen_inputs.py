"""Parameters and buffers as constants: `options={"freeze": True}`.

In:  the inputs of a finished graph.
Out: inputs that are state of a module and that the graph does not write to are marked for the backend. A
     guard demands that the input is the same tensor and was not written to since.

    fast = capture.compile(model, options={"freeze": True})
    fast(x)                                under torch.no_grad(): weights are folded and packed
    model.load_state_dict(other); fast(x)  captured once more

A tensor that needs gradients is no constant while grad mode is on, because training changes it in each step.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch

from capture.graph.inputs import GraphInput, version_of
from guards.kinds.identity import IdentityGuard
from guards.kinds.tensors import UnwrittenTensorGuard

if TYPE_CHECKING:
    from capture.interpret.output_graph import OutputGraph


def freeze_inputs(output: OutputGraph, inputs: Iterable[GraphInput]) -> None:
    grad_mode = output.modes.at_entry["grad"]
    for item in inputs:
        if is_state(output, item) and not (grad_mode and item.value.requires_grad):
            item.node.meta["frozen"] = True
            output.guards.add(IdentityGuard.of(item.source, item.value))
            output.guards.add(UnwrittenTensorGuard.of(item.source, item.value))


def is_state(output: OutputGraph, item: GraphInput) -> bool:
    """Whether the input is a parameter or buffer of a module, and the graph does not write to it."""
    value = item.value
    if (
        type(value) not in (torch.Tensor, torch.nn.Parameter)
        or item.convert is not None
        or value.is_inference()
    ):
        return False
    if item.version != version_of(item.node.meta["example_value"]):
        return False
    return isinstance(value, torch.nn.Parameter) or output.objects.is_of_module(item.source)
