"""How a launch plan calls operators: by the C ABI of libtorch_cpu or torch's own Python binding, in place of
the operator object.

In:  an OpOverload of an ExternStep.
Out: the callable that the launch plan holds.

    aten.index_select.default   ->   torch.index_select
    aten.topk.default           ->   _capture.DirectCall("aoti_torch_cpu_topk", ...)

A binding parses its arguments by generated code, the operator object by walking the schema. Both end in the
same dispatcher call. A binding takes its operator's arguments as they are (same order, same keywords); where
the operator has other overloads it may choose another one.

Some operators have an entry point in the C ABI, which takes what the schema says in a fixed form (`KINDS`)
and calls the operator for the CPU.
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


#: operators that run with grad mode on
IN_GRAD_MODE: dict[OpOverload, Callable[..., Any]] = {
    torch.ops.aten.mkldnn_rnn_layer.default: rnn_layer,
}

#: operators that a launch plan calls in another way
INSTEAD: dict[OpOverload, Callable[..., Any]] = {
    # as values: a lazily conjugated tensor is none that a launch plan could take
    torch.ops.aten._conj.default: torch.conj_physical,
    torch.ops.aten._neg_view.default: torch.neg,
}

#: by type of an argument in the schema: how entry points take it (`native/graph/direct_call.c`). "N": by a
# pointer, of which only NULL is ever given.
KINDS = {
    "Tensor": "t", "int": "i", "SymInt": "i", "float": "d", "bool": "b", "List[int]": "l", "List[SymInt]": "l", "List[bool]": "m",
    "Optional[Tensor]": "T", "Optional[int]": "I", "Optional[SymInt]": "I", "Optional[float]": "D", "Optional[bool]": "B",
    "Optional[List[int]]": "L", "Optional[List[SymInt]]": "L", "Optional[ScalarType]": "N", "Optional[Generator]": "N", "Optional[number]": "N",
}  # fmt: skip


TORCHS_OWN = frozenset({"aten", "prim", "prims"})


def uncaptured(call: Callable[..., Any]) -> Callable[..., Any]:
    """A custom operator may be written in Python: as a part of a graph it is one call, whose frames are not
    looked at.
    """
    set_callback = _capture.set_callback

    def run(*args: Any, **kwargs: Any) -> Any:
        before = set_callback(None, None)
        try:
            return call(*args, **kwargs)
        finally:
            set_callback(*before)

    return run


def has_other_overloads(op: OpOverload) -> bool:
    """Apart from those that write into given tensors, which take one argument more, and those that want a
    keyword which `op` has not (a generator, names).
    """
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


def binding_of(op: OpOverload) -> Callable[..., Any]:
    alone = op in TOLD_APART or not has_other_overloads(op)
    if op.namespace == "aten" and alone and not takes_reduction(op):
        for space in BINDINGS:
            binding: Callable[..., Any] | None = getattr(space, base_name(op), None)
            if binding is not None:
                return binding
    return op._op


def base_name(op: OpOverload) -> str:
    return op._schema.name.removeprefix("aten::")


def directly(op: OpOverload) -> Callable[..., Any]:
    """By its entry point, if it is a function of values and has one."""
    schema, otherwise = op._schema, IN_GRAD_MODE.get(op) or binding_of(op)
    kinds = [KINDS.get(str(argument.real_type)) for argument in schema.arguments]
    gives_tensors = schema.returns and all(str(result.type) == "Tensor" for result in schema.returns)
    shares = any(part.alias_info is not None for part in (*schema.arguments, *schema.returns))
    if not hasattr(_capture, "DirectCall") or None in kinds or not gives_tensors or shares:
        return otherwise
    names = tuple(argument.name for argument in schema.arguments)
    defaults = tuple(
        argument.default_value if argument.has_default_value() else ... for argument in schema.arguments
    )
    _capture.calibrate()
    symbol = "_".join(filter(None, ("aoti_torch_cpu", base_name(op), schema.overload_name)))
    call = _capture.DirectCall(
        symbol,
        "".join(filter(None, kinds)),
        names,
        defaults,
        len(schema.returns),
        otherwise,
        op in IN_GRAD_MODE,
    )
    return call if call.direct else otherwise


def is_direct(call: Callable[..., Any]) -> bool:
    return isinstance(call, getattr(_capture, "DirectCall", ()))


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
    return directly(op) if op.namespace == "aten" else op._op
