"""Operators that are called by torch's own Python binding in place of the operator object.

In:  an OpOverload of an ExternStep.
Out: the callable that the launch plan holds.

    aten.index_select.default   ->   torch.index_select          a convolution: 8.2 us a call in place of 12.5

A binding parses its arguments by generated code, the operator object by walking the schema. Both end in the same dispatcher call. A binding
takes its operator's arguments as they are (same order, same keywords); where the operator has other overloads it may choose another one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import _capture
import torch
from torch._ops import OpOverload

BINDINGS: tuple[Any, ...] = (torch._C._VariableFunctions, torch._C._nn)
#: the other overload takes another number of arguments
TOLD_APART = frozenset({torch.ops.aten.bmm.default, torch.ops.aten.mm.default})


def rnn_layer(*args: Any) -> Any:
    """Asks for grad mode whether to leave what the backward needs; its own autograd is the graph's."""
    with torch._C._AutoDispatchBelowAutograd(), torch.enable_grad():
        return torch.ops.aten.mkldnn_rnn_layer.default(*args)


#: operators that a launch plan calls in another way
INSTEAD: dict[OpOverload, Callable[..., Any]] = {
    torch.ops.aten.mkldnn_rnn_layer.default: rnn_layer,
    # as values: a lazily conjugated tensor is none that a launch plan could take
    torch.ops.aten._conj.default: torch.conj_physical,
    torch.ops.aten._neg_view.default: torch.neg,
}

#: functions of the extension that do what an operator does; what stands in for the extension, where that is not built, has none of them
NATIVE = {
    torch.ops.aten.convolution.default: "convolution",
    torch.ops.aten.convolution_backward.default: "convolution_backward",
}
INSTEAD.update((op, getattr(_capture, name)) for op, name in NATIVE.items() if hasattr(_capture, name))


TORCHS_OWN = frozenset({"aten", "prim", "prims"})


def uncaptured(call: Callable[..., Any]) -> Callable[..., Any]:
    """A custom operator may be written in Python: as a part of a graph it is one call, whose frames are not looked at."""
    set_callback = _capture.set_callback

    def run(*args: Any, **kwargs: Any) -> Any:
        before = set_callback(None, None)
        try:
            return call(*args, **kwargs)
        finally:
            set_callback(*before)

    return run


def has_other_overloads(op: OpOverload) -> bool:
    """Apart from those that write into given tensors, which take one argument more, and those that want a keyword which `op` has not (a generator, names)."""
    schemas = (getattr(op.overloadpacket, name)._schema for name in op.overloadpacket.overloads())
    own = {argument.name for argument in op._schema.arguments}
    return any(
        schema.overload_name != op._schema.overload_name
        and not any(a.is_out for a in schema.arguments)
        and not any(
            a.kwarg_only and not a.has_default_value() and a.name not in own for a in schema.arguments
        )
        for schema in schemas
    )


def takes_reduction(op: OpOverload) -> bool:
    """Bindings have another default for it than the schema (multi_margin_loss: none in place of the mean)."""
    return any(argument.name == "reduction" for argument in op._schema.arguments)


@functools.cache
def callable_of(op: Any) -> Callable[..., Any]:
    """What calls `op` the quickest way."""
    if not isinstance(op, OpOverload):
        found: Callable[..., Any] = op
        return found
    if op in INSTEAD:
        return INSTEAD[op]
    if op.namespace not in TORCHS_OWN:
        return uncaptured(op._op)
    alone = op in TOLD_APART or not has_other_overloads(op)
    if op.namespace == "aten" and alone and not takes_reduction(op):
        for space in BINDINGS:
            binding: Callable[..., Any] | None = getattr(space, op._schema.name.removeprefix("aten::"), None)
            if binding is not None:
                return binding
    return op._op
