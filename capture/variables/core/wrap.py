"""Wrap existing Python values as variables: a table by type, filled by the families in `capture/wrapping/`.

In:  a value and the source it came from (None: a value that no guard has to follow, held by the code itself).
Out: its Variable, with the guards that make what was concluded from the value hold.

One existing object has one variable, however it was reached; a second way to it is guarded to lead to the
same object.
"""

from __future__ import annotations

import enum
import types
from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.named_tuple import NamedTupleVariable
from capture.variables.containers.ranges import RangeVariable, SliceVariable
from capture.variables.containers.sequence import SizeVariable, TupleVariable
from capture.variables.containers.set_table import SetTable
from capture.variables.containers.sets import SetVariable
from capture.variables.core.base import Variable
from capture.variables.core.constant import (
    LITERALS,
    NUMPY_CONSTANTS,
    TORCH_CONSTANTS,
    ConstantVariable,
)
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.numbers.graph_float import GraphFloatVariable
from capture.variables.numbers.symbolic import SYMBOLIC, SymbolicVariable, from_symbolic
from codegen.kernel.errors import UnsupportedTensor
from guards.kinds.constants import ConstantGuard
from guards.kinds.identity import ExactTypeGuard, IdentityGuard
from guards.sources import ConstantSource, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.interpret.output_graph import OutputGraph

WRAPPERS: dict[type, Any] = {}  # (output, value, source or None) -> Variable


def wraps(*types_: type) -> Callable[[Any], Any]:
    def register(wrapper: Any) -> Any:
        for kind in types_:
            WRAPPERS[kind] = wrapper
        return wrapper

    return register


def wrap(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    """The variable of an existing value."""
    known = output.objects.known(value)
    if known is not None:
        if source is not None and known.source is not None and source != known.source:
            output.guarding.same_object(known.source, source)
        return known
    if source is not None:
        output.budget.count_place()
    wrapper = WRAPPERS.get(type(value)) or _wrapper_by_base(value)
    variable: Variable = wrapper(output, value, source)
    if not isinstance(variable, (ConstantVariable, SymbolicVariable, GraphFloatVariable)):
        output.objects.remember(value, variable)
    return variable


def constant(value: Any) -> Variable:
    """A value computed at translation time from constants (and from sizes that are symbols)."""
    if isinstance(value, torch.Size):
        return SizeVariable([constant(v) for v in value])
    if isinstance(value, tuple):
        if type(value) is tuple:
            return TupleVariable([constant(v) for v in value])
        return NamedTupleVariable([constant(v) for v in value], type(value))
    if type(value) is list:
        return ListVariable([constant(v) for v in value])
    if type(value) is range:
        return RangeVariable(value)
    if type(value) is dict:
        return DictVariable({k: (constant(k), constant(v)) for k, v in value.items()})
    if type(value) in (set, frozenset):
        entries = {item: constant(item) for item in value}
        return SetVariable(entries, cls=type(value), table=SetTable(value.copy()))
    if type(value) is slice:
        return SliceVariable([constant(v) for v in (value.start, value.stop, value.step)])
    if type(value) in LITERALS or isinstance(
        value, (*TORCH_CONSTANTS, *NUMPY_CONSTANTS, enum.Enum, torch.finfo, torch.iinfo)
    ):
        return ConstantVariable(value)
    if isinstance(value, SYMBOLIC):
        return from_symbolic(value)
    raise GraphBreak("unknown_type", value=f"{type(value).__name__} object")


def wrap_class(output: OutputGraph, cls: type) -> Variable:
    """A class reached through the type of a known value: its guard is that value's."""
    return wrap(output, cls, ConstantSource(cls))


def _wrapper_by_base(value: Any) -> Any:
    from capture.variables.objects.wrap import BASE_RULES, wrap_object

    for applies, wrapper in BASE_RULES:
        if applies(value):
            return wrapper
    return wrap_object


def guard_type(output: OutputGraph, value: Any, source: Source | None) -> None:
    if source is not None:
        output.guards.add(ExactTypeGuard.of(source, value))


# --- constants --------------------------------------------------------------------------------------------


@wraps(*LITERALS, *TORCH_CONSTANTS)
def wrap_literal(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    if source is not None and not isinstance(source, ConstantSource):
        symbolic = output.symbols.number_variable(value, source)
        if symbolic is not None:
            return symbolic
        output.guards.add(ConstantGuard.of(source, value))
    return ConstantVariable(value, None)


@wraps(torch.finfo, torch.iinfo, types.CodeType, torch._C._SDPBackend)
def wrap_by_identity(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    if source is not None and not isinstance(source, ConstantSource):
        output.guards.add(IdentityGuard.of(source, value))
    return ConstantVariable(value, None)


# --- tensors ----------------------------------------------------------------------------------------------


@wraps(torch.Tensor, torch.nn.Parameter)
def wrap_tensor(output: OutputGraph, value: torch.Tensor, source: Source | None) -> Variable:
    try:
        return output.inputs.add_tensor(value, source)
    except UnsupportedTensor as error:
        guard_type(output, value, source)
        return OpaqueVariable(value, source, "unsupported_tensor", why=str(error))


def guard_identity(output: OutputGraph, value: Any, source: Source | None) -> None:
    if source is not None and not isinstance(source, ConstantSource):
        output.guards.add(IdentityGuard.of(source, value))
