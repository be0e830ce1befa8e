"""What an operator does to its arguments, found once for each operator.

In:  an ATen overload.
Out: `Behaviour`: how a trace records a call of it, which arguments it writes, and the operator that computes
     the same and writes nothing.

    add_.Tensor        ->   Behaviour("write", ((0, "self"),), add.Tensor)
    arange.start_out   ->   Behaviour("write", ((3, "out"),), arange.start_step)
    mul.Tensor         ->   Behaviour("pure")
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch._ops import OpOverload

from capture_records import dataclass
from codegen.fake.shapes.table import SHAPE_RULES
from codegen.kernel.foreign import is_foreign
from codegen.rewrite.table import rule_for
from codegen.trace.updates import UPDATES

aten = torch.ops.aten
IDENTITIES = frozenset((aten.detach.default, aten.alias.default))
CONSTANTS = frozenset((aten.lift_fresh.default, aten.lift_fresh_copy.default, aten.lift.default))
ABOUT_LAYOUT = frozenset(("_assert_tensor_metadata", "sym_constrain_range_for_size", "record_stream"))
RESIZES = frozenset(("set_", "resize_as_", "_resize_output_"))


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a call of an operator is recorded.

    `handle` names the method of the recorder that records it. `writes`: positions and names of the arguments
    that are written in place. `functional`: the operator that computes the same and writes nothing.
    """

    handle: str
    writes: tuple[tuple[int, str], ...] = ()
    functional: OpOverload | None = None


@functools.cache
def behaviour_of(func: OpOverload) -> Behaviour:
    if rule_for(func) is not None:
        return Behaviour("rewrite")
    if func in CONSTANTS:
        return Behaviour("constant")
    schema = func._schema
    written = [
        (i, a) for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write
    ]
    outs = [(i, a) for i, a in written if a.is_out]
    writes = tuple((i, a.name) for i, a in outs or written)
    name = schema.name.partition("::")[2]
    if writes:
        if func is aten.resize_.default:
            return Behaviour("resize")
        lists = [str(a.type).startswith("List") for _, a in written]
        if func in UPDATES:
            return Behaviour("update", writes)
        if name in RESIZES or (any(lists) and len(lists) > 1) or is_foreign(func):
            # several lists: fused optimizers without a row in `updates.py`, which are one kernel of torch;
            # the names of foreign operators do not tell which of them computes the same and writes nothing
            return Behaviour("refuse", writes)
        if torch.Tag.nondeterministic_seeded in func.tags and name.endswith("_") and func not in FUNCTIONAL:
            return Behaviour("draw")
        mixed = getattr(getattr(torch.ops, func.namespace), name + "_functional", None)
        if mixed is not None and func._overloadname == "default":
            return Behaviour("mixed", writes, mixed.default)
        functional = functional_of(func, name, {i for i, _ in writes})
        handle = "relayout" if torch.Tag.inplace_view in func.tags else "write"
        return Behaviour(handle if functional is not None else "refuse", writes, functional)
    if func in IDENTITIES:
        return Behaviour("identity")
    if not schema.returns and name not in ABOUT_LAYOUT and takes_tensors(func):
        return Behaviour("check")
    if not any("Tensor" in str(value.type) for value in schema.returns):
        return Behaviour("query")
    if func not in SHAPE_RULES and func.has_kernel_for_dispatch_key(
        torch._C.DispatchKey.CompositeImplicitAutograd
    ):
        return Behaviour("composite")
    return Behaviour("view" if func.is_view or func is aten._unsafe_view.default else "pure")


def functional_of(func: OpOverload, name: str, written: set[int]) -> OpOverload | None:
    """`add_.Tensor` -> `add.Tensor`; `add.out` -> the overload of `add` with the other arguments."""
    if func in FUNCTIONAL:
        return FUNCTIONAL[func]
    module = getattr(torch.ops, func.namespace)
    if name.endswith("_"):
        packet = getattr(module, SPECIAL_NAMES.get(name, name[:-1]), None)
        return same_arguments(packet, func) if packet is not None else None
    packet = func.overloadpacket
    wanted = [(a.name, str(a.type)) for i, a in enumerate(func._schema.arguments) if i not in written]
    left_out = OPTIONS - {name for name, _ in wanted}
    for candidate in (getattr(packet, overload) for overload in packet.overloads()):
        given = [(a.name, str(a.type)) for a in candidate._schema.arguments if a.name not in left_out]
        if given == wanted and (rule_for(candidate) is not None or not candidate._schema.is_mutable):
            return candidate
    return None


def same_arguments(packet: Any, func: OpOverload) -> OpOverload | None:
    """The overload that takes the arguments of `func`.

    Its name is not always the same: `pow_.Scalar` is the in-place form of `pow.Tensor_Scalar`.
    """
    wanted = [str(a.type) for a in func._schema.arguments]
    names = sorted(packet.overloads(), key=lambda name: name != func._overloadname)
    for candidate in (getattr(packet, name) for name in names):
        given = [str(a.type) for a in candidate._schema.arguments[: len(wanted)]]
        if given == wanted and not candidate._schema.is_mutable:
            return candidate
    return None


SPECIAL_NAMES = {"zero_": "zeros_like"}
OPTIONS = frozenset(("dtype", "layout", "device", "pin_memory"))  # of constructors; `out` has its own

#: functional forms that names and types do not lead to
FUNCTIONAL = {
    aten.polygamma_.default: aten.polygamma.default,
    aten.rrelu_with_noise_.default: aten.rrelu_with_noise_functional.default,
}
#: operator -> the order in which its functional form takes the arguments
REORDERED = {aten.polygamma_.default: (1, 0)}


def takes_tensors(func: OpOverload) -> bool:
    return any("Tensor" in str(argument.type) for argument in func._schema.arguments)


def is_check(func: Any) -> bool:
    """Whether the operator returns nothing and writes nothing: it is called for the error that it raises."""
    return isinstance(func, OpOverload) and behaviour_of(func).handle == "check"


def written_tensors(behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments that are written; a list of tensors is flattened."""
    found = [args[i] if i < len(args) else kwargs[name] for i, name in behaviour.writes]
    return list(found[0]) if len(found) == 1 and isinstance(found[0], (list, tuple)) else found


def in_order(func: OpOverload, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an operator in the order of its functional form."""
    order = REORDERED.get(func)
    return args if order is None else tuple(args[i] for i in order)


def has_argument(func: OpOverload, name: str) -> bool:
    return any(argument.name == name for argument in func._schema.arguments)
