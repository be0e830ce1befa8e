"""Rules of the functions that make containers: list, tuple, set, dict, range, slice and similar classes.

In:  the arguments of such a call, of `sorted` or of `copy.copy`.
Out: the variable of the new container.
"""

from __future__ import annotations

import collections
import copy
import types
from typing import TYPE_CHECKING

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.lists import DequeVariable, ListVariable
from capture.variables.containers.mapping import DictVariable, pairs_of
from capture.variables.containers.named_tuple import NamedTupleVariable, overrides_sequence
from capture.variables.containers.ranges import RangeVariable, SliceVariable
from capture.variables.containers.sequence import SizeVariable, TupleVariable
from capture.variables.containers.set_table import SetTable
from capture.variables.containers.sets import SetVariable, operand
from capture.variables.containers.views import MappingProxyVariable
from capture.variables.core.base import Variable
from capture.variables.core.constant import NONE, ConstantVariable, fold, raise_type_error
from capture.variables.core.exception import raise_new
from capture.variables.core.rules import CALLS, rule
from capture.variables.numbers.symbolic import is_symbolic, present_int
from capture.variables.objects import copy_polyfills
from capture.variables.objects.instance import native_new
from capture.variables.operations.equality import sort_items

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.protocols import Interpreter


@rule(list)
def _list(tx: Interpreter, items: Variable | None = None) -> Variable:
    return ListVariable(items.take(tx) if items is not None else [])


@rule(tuple)
def _tuple(tx: Interpreter, items: Variable | None = None) -> Variable:
    if type(items) is TupleVariable:
        return items
    return TupleVariable(items.take(tx) if items is not None else [])


@rule(tuple.__new__)
def _new_tuple(tx: Interpreter, cls: Variable, items: Variable | None = None) -> Variable:
    kind = cls.real_value()
    values = items.take(tx) if items is not None else []
    if kind is tuple:
        return TupleVariable(values)
    if not hasattr(kind, "_fields") or overrides_sequence(kind):
        return native_new(tx, tuple, cls, [TupleVariable(values)], {})
    return NamedTupleVariable(values, kind)


def _set_from(tx: Interpreter, kind: type, items: Variable | None) -> Variable:
    entries, table = operand(tx, items) if items is not None else ({}, SetTable.of_items(list, ()))
    return SetVariable(dict(entries), cls=kind, table=SetTable.combined(kind, table))


@rule(set)
def _set(tx: Interpreter, items: Variable | None = None) -> Variable:
    return _set_from(tx, set, items)


@rule(frozenset)
def _frozenset(tx: Interpreter, items: Variable | None = None) -> Variable:
    if isinstance(items, SetVariable) and items.python_type() is frozenset:
        return items
    return _set_from(tx, frozenset, items)


def _dict_of(cls: type) -> Callable[..., Variable]:
    def make(tx: Interpreter, items: Variable | None = None, /, **kwargs: Variable) -> Variable:
        result = DictVariable({}, cls=cls)
        for key, value in pairs_of(tx, items, cls) if items is not None else []:
            result.set_item(tx, key, value)
        for name, value in kwargs.items():
            result.set_item(tx, ConstantVariable(name), value)
        return result

    return make


CALLS[dict] = _dict_of(dict)


CALLS[collections.OrderedDict] = _dict_of(collections.OrderedDict)


@rule(collections.defaultdict)
def _defaultdict(
    tx: Interpreter, factory: Variable = NONE, items: Variable | None = None, /, **kwargs: Variable
) -> Variable:
    if factory.is_constant() and not factory.is_exactly(None):
        raise_type_error("first argument must be callable or None")
    result = CALLS[dict](tx, *([items] if items is not None else []), **kwargs)
    assert isinstance(result, DictVariable)
    result.cls, result.factory = collections.defaultdict, factory
    return result


@rule(collections.deque)
def _deque(tx: Interpreter, iterable: Variable | None = None, maxlen: Variable = NONE) -> Variable:
    limit = maxlen.as_constant()
    if type(limit) is not int and limit is not None:
        raise_type_error("an integer is required")
    if limit is not None and limit < 0:
        raise raise_new(ValueError, "maxlen must be non-negative")
    values = iterable.iterate(tx).unpack(tx) if iterable is not None else []
    return DequeVariable(values, maxlen=maxlen.as_constant())


@rule(range)
def _range(tx: Interpreter, *args: Variable) -> Variable:
    args = tuple(
        arg.call_method(tx, "__index__", [], {}) if issubclass(arg.python_type(), torch.Tensor) else arg
        for arg in args
    )
    present = [present_int(arg) for arg in args]
    if any(map(is_symbolic, args)) and len(args) in (1, 2) and None not in present:
        bounds = [*[ConstantVariable(0)] * (2 - len(args)), *args, ConstantVariable(1)]
        return RangeVariable(range(*present), parts=bounds)  # type: ignore[arg-type]
    result = fold(range, list(args), {})
    return result if isinstance(result, RangeVariable) else RangeVariable(result.as_constant())


@rule(slice)
def _slice(tx: Interpreter, *args: Variable) -> Variable:
    if not 1 <= len(args) <= 3:
        bound = "at least 1 argument" if not args else "at most 3 arguments"
        raise_type_error(f"slice expected {bound}, got {len(args)}")
    parts = list(args) if len(args) > 1 else [NONE, *args]
    return SliceVariable([*parts, *[NONE] * (3 - len(parts))])


@rule(torch.Size)
def _size(tx: Interpreter, items: Variable | None = None) -> Variable:
    sizes = items.iterate(tx).unpack(tx) if items is not None else []
    if not all(size.python_type() is int for size in sizes):
        raise GraphBreak("builtin", name="torch.Size", value=items)
    return SizeVariable(sizes)


@rule(sorted)
def _sorted(
    tx: Interpreter, items: Variable, *, key: Variable | None = None, reverse: Variable | None = None
) -> Variable:
    return ListVariable(sort_items(tx, items.take(tx), key, reverse))


@rule(types.MappingProxyType)
def _mapping_proxy(tx: Interpreter, mapping: Variable) -> Variable:
    if not isinstance(mapping, DictVariable):
        raise GraphBreak("builtin", name="MappingProxyType", value=mapping)
    return MappingProxyVariable(mapping)


@rule(copy.copy)
def _copy(tx: Interpreter, value: Variable) -> Variable:
    if isinstance(value, (ListVariable, DequeVariable, DictVariable, SetVariable)):
        return value.call_method(tx, "copy", [], {})
    if value.is_constant():
        return value
    return tx.wrap_function(copy_polyfills.copy_object).call(tx, [value], {})
