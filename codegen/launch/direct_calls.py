"""How a launch plan calls operators without the operator object.

In:  an OpOverload of an ExternStep.
Out: the callable that the launch plan holds: a function of libtorch_cpu's C ABI, or torch's own Python
     binding.

    aten.index_select.default   ->   torch.index_select
    aten.topk.default           ->   _capture.DirectCall("aoti_torch_cpu_topk", ...)

Generated code parses the arguments of a binding. The operator object walks the schema instead. Both end in
the same dispatcher call. A binding takes the arguments of its operator unchanged (same order, same keywords).
Where the operator has other overloads, the binding may choose another one.

Some operators have an entry point in the C ABI. It takes the arguments of the schema in a fixed form
(`KINDS`) and calls the CPU's operator. Our own convolutions have entry points of the same form.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import _capture
import torch
from torch._ops import OpOverload

from codegen.kernel.foreign import OUR_OPERATORS

BINDINGS: tuple[Any, ...] = (torch._C._VariableFunctions, torch._C._nn)
#: the other overload of these takes another number of arguments
TOLD_APART = frozenset({torch.ops.aten.bmm.default, torch.ops.aten.mm.default})


def rnn_layer(*args: Any) -> Any:
    """Reads grad mode to decide whether to save what the backward needs. The graph has its own autograd."""
    with torch._C._AutoDispatchBelowAutograd(), torch.enable_grad():
        return torch.ops.aten.mkldnn_rnn_layer.default(*args)


#: operators that run with grad mode on
IN_GRAD_MODE: dict[OpOverload, Callable[..., Any]] = {
    torch.ops.aten.mkldnn_rnn_layer.default: rnn_layer,
}

#: operators that a launch plan calls in another way
INSTEAD: dict[OpOverload, Callable[..., Any]] = {
    # results must hold values: a launch plan can't take a lazily conjugated tensor
    torch.ops.aten._conj.default: torch.conj_physical,
    torch.ops.aten._neg_view.default: torch.neg,
}

#: by type of an argument in the schema: how entry points take it (`native/graph/direct_call.c`). "N" is a
# pointer, and we only ever pass NULL.
KINDS = {
    "Tensor": "t", "int": "i", "SymInt": "i", "float": "d", "bool": "b",
    "List[int]": "l", "List[SymInt]": "l", "List[bool]": "m",
    "Optional[Tensor]": "T", "Optional[int]": "I", "Optional[SymInt]": "I", "Optional[float]": "D",
    "Optional[bool]": "B", "Optional[List[int]]": "L", "Optional[List[SymInt]]": "L",
    "Optional[ScalarType]": "N", "Optional[Generator]": "N", "Optional[number]": "N",
}  # fmt: skip


TORCHS_OWN = frozenset({"aten", "prim", "prims"})


def uncaptured(call: Callable[..., Any]) -> Callable[..., Any]:
    """`call` without the frame hook: a custom operator is one call of the graph, even if it is in Python."""
    set_callback = _capture.set_callback

    def run(*args: Any, **kwargs: Any) -> Any:
        before = set_callback(None, None)
        try:
            return call(*args, **kwargs)
        finally:
            set_callback(*before)

    return run


def has_other_overloads(op: OpOverload) -> bool:
    """Whether a binding may choose another overload than `op`.

    Overloads that write into given tensors do not count: they take one more argument. Overloads that require
    a keyword that `op` does not have (a generator, names) do not count either.
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
    """Whether it has an argument `reduction`.

    The default of a binding for it differs from the schema (multi_margin_loss: none in place of the mean).
    """
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


def directly(op: OpOverload, symbol: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The entry point of `op`, if `op` is a function of values and has one."""
    schema = op._schema
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
    """The fastest callable for `op`."""
    if not isinstance(op, OpOverload):
        found: Callable[..., Any] = op
        return found
    if op in INSTEAD:
        return INSTEAD[op]
    if op.namespace == OUR_OPERATORS:
        from codegen.kernel.own_operators import kernel_of  # lazy: import time

        return directly(op, op.name(), kernel_of(op.name()))
    if op.namespace not in TORCHS_OWN:
        return uncaptured(op._op)
    if op.namespace != "aten":
        return op._op
    symbol = "_".join(filter(None, ("aoti_torch_cpu", base_name(op), op._schema.overload_name)))
    return directly(op, symbol, IN_GRAD_MODE.get(op) or binding_of(op))
