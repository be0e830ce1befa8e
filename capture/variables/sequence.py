"""Lists, tuples, named tuples, torch.Size, ranges, slices and deques.

Their items are Variables; those of an existing container stay lazy (unguarded) until they are read.
"""

from __future__ import annotations

import collections
import operator
import types
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from capture.break_reasons import GraphBreak
from capture.variables.base import Variable, realize
from capture.variables.constant import ConstantVariable, raise_type_error
from capture.variables.exception import raise_new

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from guards.source import Source


class SequenceVariable(Variable):
    """`items` in order. Subclasses say which Python type and how to build it."""

    builtin: ClassVar[Any]

    def __init__(self, items: list[Variable], source: Source | None = None) -> None:
        super().__init__(source)
        self.items = items

    def python_type(self) -> type:
        return self.builtin

    def describe(self) -> str:
        return f"{self.python_type().__name__} of {len(self.items)}"

    def truth(self, tx: Translator) -> bool:
        return bool(self.items)

    def length(self, tx: Translator) -> int:
        return len(self.items)

    def as_proxy(self) -> Any:
        return self.build([i.as_proxy() for i in self.items])

    def build(self, values: list[Any]) -> Any:
        return self.builtin(values)

    def unpack(self, tx: Translator) -> list[Variable]:
        for index, item in enumerate(self.items):
            self.items[index] = realize(tx, item)
        return list(self.items)

    def like(self, items: list[Variable]) -> Variable:
        """A new sequence of the type that slicing and concatenation give."""
        return type(self)(items)

    def get_item(self, tx: Translator, key: Variable) -> Variable:
        if isinstance(key, SliceVariable):
            return self.like(self.items[key.as_slice()])
        index = index_of(tx, key)
        try:
            item = realize(tx, self.items[index])
        except IndexError:
            raise raise_new(IndexError, f"{self.python_type().__name__} index out of range") from None
        self.items[index] = item
        return item

    def get_attr(self, tx: Translator, name: str) -> Variable:
        from capture.variables.function import method_of_value

        return method_of_value(tx, self, name)

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        from capture.variables.function import missing_method

        method = SEQUENCE_METHODS.get(name) or (LIST_METHODS.get(name) if self.mutable else None)
        if method is None:
            raise missing_method(self, name)
        return method(self, tx, *args, **kwargs)

    def iterate(self, tx: Translator) -> Variable:
        from capture.variables.iterator import IndexIterator

        return IndexIterator(self)

    def children(self) -> list[Variable]:
        return list(self.items)


class TupleVariable(SequenceVariable):
    builtin: ClassVar[Any] = tuple

    def as_constant(self) -> Any:
        return tuple(i.as_constant() for i in self.items)

    def is_constant(self) -> bool:
        return all(i.is_constant() for i in self.items)

    def reconstruct(self, code: PythonCode) -> None:
        for item in self.items:
            code.load(item)
        code.emit("BUILD_TUPLE", len(self.items))


class SizeVariable(TupleVariable):
    """torch.Size: a tuple of ints."""

    builtin: ClassVar[Any] = torch.Size

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name == "numel":
            return _product(tx, self.items)
        return super().call_method(tx, name, args, kwargs)

    def as_constant(self) -> Any:
        return torch.Size(super().as_constant())

    def build(self, values: list[Any]) -> Any:
        return torch.Size(values) if all(isinstance(v, int) for v in values) else tuple(values)

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(torch.Size, [TupleVariable(self.items)])


def _product(tx: Translator, items: list[Variable]) -> Variable:
    from capture.variables.operators import binary_operator

    result: Variable = ConstantVariable(1)
    for item in items:
        result = binary_operator(tx, "*", result, item)
    return result


class NamedTupleVariable(TupleVariable):
    """An instance of a named tuple class or of a `torch.return_types` structure."""

    def __init__(self, items: list[Variable], cls: type, source: Source | None = None) -> None:
        super().__init__(items, source)
        self.cls = cls

    def python_type(self) -> type:
        return self.cls

    def as_constant(self) -> Any:
        return self.build([i.as_constant() for i in self.items])

    def build(self, values: list[Any]) -> Any:
        make = getattr(self.cls, "_make", self.cls)
        return make(values)

    def like(self, items: list[Variable]) -> Variable:
        return TupleVariable(items)

    def get_attr(self, tx: Translator, name: str) -> Variable:
        fields = field_names(self.cls)
        if name in fields:
            return self.get_item(tx, ConstantVariable(fields.index(name)))
        if name in ("_fields", "n_fields", "n_sequence_fields"):
            return tx.wrap_constant(getattr(self.cls, name))
        from capture.variables.user_object import class_attribute

        found = class_attribute(tx, self, self.cls, name)
        return found if found is not None else super().get_attr(tx, name)

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name == "_replace" and not args:
            items = list(self.items)
            for field, value in kwargs.items():
                items[field_names(self.cls).index(field)] = value
            return NamedTupleVariable(items, self.cls)
        if name == "_asdict":
            from capture.variables.mapping import DictVariable

            return DictVariable.from_strings(dict(zip(field_names(self.cls), self.unpack(tx))))
        if isinstance(getattr(self.cls, name, None), types.FunctionType):
            return self.get_attr(tx, name).call(tx, args, kwargs)
        return super().call_method(tx, name, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        if hasattr(self.cls, "_make"):
            code.call_object(self.cls._make, [TupleVariable(self.items)])
        else:
            code.call_object(self.cls, [TupleVariable(self.items)])


def overrides_sequence(cls: type) -> bool:
    """Whether a named tuple class changes what a tuple does: its items are then not what its methods give."""
    names = (
        "__getitem__",
        "__iter__",
        "__len__",
        "__eq__",
        "__contains__",
        "__add__",
        "__hash__",
        "__bool__",
        "__getattribute__",
    )
    return any(isinstance(getattr(cls, name, None), types.FunctionType) for name in names)


def field_names(cls: type) -> list[str]:
    """Fields of a named tuple class, or of a struct sequence such as torch.return_types.max."""
    if hasattr(cls, "_fields"):
        return list(cls._fields)
    return [n for n, v in vars(cls).items() if type(v).__name__ == "member_descriptor"]


class MutableSequence(SequenceVariable):
    mutable = True

    def as_proxy(self) -> Any:
        return [i.as_proxy() for i in self.items]


class ListVariable(MutableSequence):
    builtin = list

    def reconstruct(self, code: PythonCode) -> None:
        for item in self.items:
            code.load(item)
        code.emit("BUILD_LIST", len(self.items))

    def get_item(self, tx: Translator, key: Variable) -> Variable:
        return super().get_item(tx, key)


class DequeVariable(MutableSequence):
    builtin = collections.deque

    def __init__(
        self,
        items: list[Variable],
        source: Source | None = None,
        maxlen: int | None = None,
        original: Any = None,
    ) -> None:
        super().__init__(items, source)
        self.maxlen = maxlen
        self.original = original
        self.trim()

    def like(self, items: list[Variable]) -> Variable:
        return DequeVariable(items, maxlen=self.maxlen)

    def guard_limit(self, tx: Translator) -> None:
        """What follows depends on `maxlen`, which only the object itself knows."""
        if self.original is not None:
            tx.output.guard_identity(self, self.original)

    def trim(self, left: bool = False) -> None:
        if self.maxlen is not None and len(self.items) > self.maxlen:
            self.items = self.items[: self.maxlen] if left else self.items[len(self.items) - self.maxlen :]

    def get_attr(self, tx: Translator, name: str) -> Variable:
        if name != "maxlen":
            return super().get_attr(tx, name)
        self.guard_limit(tx)
        return ConstantVariable(self.maxlen)

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(collections.deque, [ListVariable(self.items), ConstantVariable(self.maxlen)])


class RangeVariable(Variable):
    """A range of known bounds."""

    def __init__(self, value: range, source: Source | None = None) -> None:
        super().__init__(source)
        self.value = value

    def python_type(self) -> type:
        return range

    def as_constant(self) -> Any:
        return self.value

    def truth(self, tx: Translator) -> bool:
        return bool(self.value)

    def length(self, tx: Translator) -> int:
        return len(self.value)

    def unpack(self, tx: Translator) -> list[Variable]:
        return [ConstantVariable(i) for i in self.value]

    def get_item(self, tx: Translator, key: Variable) -> Variable:
        from capture.variables.constant import fold

        return fold(operator.getitem, [self, key], {})

    def get_attr(self, tx: Translator, name: str) -> Variable:
        from capture.variables.constant import fold

        return fold(getattr, [self, ConstantVariable(name)], {})

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        from capture.variables.constant import fold

        return fold(getattr(self.value, name), args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        value = self.value
        code.call_object(range, [ConstantVariable(v) for v in (value.start, value.stop, value.step)])


class SliceVariable(Variable):
    """slice(start, stop, step); parts may be tensors when it indexes a tensor."""

    def __init__(self, parts: list[Variable], source: Source | None = None) -> None:
        super().__init__(source)
        self.parts = parts

    def python_type(self) -> type:
        return slice

    def as_constant(self) -> Any:
        return slice(*[p.as_constant() for p in self.parts])

    def is_constant(self) -> bool:
        return all(p.is_constant() for p in self.parts)

    def as_slice(self) -> slice:
        result = self.as_constant()
        assert isinstance(result, slice)
        return result

    def as_proxy(self) -> Any:
        return slice(*[p.as_proxy() for p in self.parts])

    def truth(self, tx: Translator) -> bool:
        return True

    def get_attr(self, tx: Translator, name: str) -> Variable:
        names = ("start", "stop", "step")
        return self.parts[names.index(name)] if name in names else super().get_attr(tx, name)

    def reconstruct(self, code: PythonCode) -> None:
        for part in self.parts:
            code.load(part)
        code.emit("BUILD_SLICE", 3)

    def children(self) -> list[Variable]:
        return list(self.parts)


# --- methods: functions (sequence, tx, *args, **kwargs) -> Variable -------------------------------------------------------------


def index_of(tx: Translator, key: Variable) -> int:
    """The int that `key.__index__()` gives."""
    if not key.is_constant():
        raise GraphBreak("operator", name="index", value=key)
    try:
        return operator.index(key.as_constant())
    except TypeError:
        raise_type_error(f"list indices must be integers or slices, not {key.python_type().__name__}")


def _contains(self: SequenceVariable, tx: Translator, value: Variable) -> Variable:
    from capture.variables.compare import equal_or_same

    return ConstantVariable(any(equal_or_same(tx, item, value) for item in self.unpack(tx)))


def _index(
    self: SequenceVariable,
    tx: Translator,
    value: Variable,
    start: Variable | None = None,
    stop: Variable | None = None,
) -> Variable:
    from capture.variables.compare import equal_or_same
    from capture.variables.strings import to_repr

    low = start.as_constant() if start else 0
    high = stop.as_constant() if stop else len(self.items)
    for index in range(*slice(low, high).indices(len(self.items))):
        if equal_or_same(tx, self.unpack(tx)[index], value):
            return ConstantVariable(index)
    kind = self.python_type().__name__
    if isinstance(self, TupleVariable):
        raise raise_new(ValueError, "tuple.index(x): x not in tuple")
    raise raise_new(ValueError, f"{to_repr(tx, value)} is not in {kind}")


def _count(self: SequenceVariable, tx: Translator, value: Variable) -> Variable:
    from capture.variables.compare import equal_or_same

    return ConstantVariable(sum(equal_or_same(tx, item, value) for item in self.unpack(tx)))


def _get_item(self: SequenceVariable, tx: Translator, key: Variable) -> Variable:
    return self.get_item(tx, key)


def _len(self: SequenceVariable, tx: Translator) -> Variable:
    return ConstantVariable(len(self.items))


def _iter(self: SequenceVariable, tx: Translator) -> Variable:
    return self.iterate(tx)


def _add(self: SequenceVariable, tx: Translator, other: Variable) -> Variable:
    from capture.variables.operators import binary_operator

    return binary_operator(tx, "+", self, other)


SEQUENCE_METHODS: dict[str, Callable[..., Variable]] = {
    "__contains__": _contains,
    "index": _index,
    "count": _count,
    "__getitem__": _get_item,
    "__len__": _len,
    "__iter__": _iter,
    "__add__": _add,
}

NONE = ConstantVariable(None)


def change(tx: Translator, sequence: Variable) -> None:
    """To be called before a sequence is changed."""
    if isinstance(sequence, DequeVariable):
        sequence.guard_limit(tx)
    tx.output.side_effects.will_mutate(sequence)


def _append(self: MutableSequence, tx: Translator, value: Variable) -> Variable:
    change(tx, self)
    self.items.append(value)
    if isinstance(self, DequeVariable):
        self.trim()
    return NONE


def _extend(self: MutableSequence, tx: Translator, values: Variable) -> Variable:
    new = values.unpack(tx)
    change(tx, self)
    self.items.extend(new)
    if isinstance(self, DequeVariable):
        self.trim()
    return NONE


def _insert(self: MutableSequence, tx: Translator, index: Variable, value: Variable) -> Variable:
    change(tx, self)
    self.items.insert(index_of(tx, index), value)
    return NONE


def _pop(self: MutableSequence, tx: Translator, index: Variable | None = None) -> Variable:
    position = index_of(tx, index) if index is not None else -1
    kind = "deque" if isinstance(self, DequeVariable) else "list"
    if not self.items:
        raise raise_new(IndexError, "pop from an empty deque" if kind == "deque" else "pop from empty list")
    if not -len(self.items) <= position < len(self.items):
        raise raise_new(IndexError, "pop index out of range")
    change(tx, self)
    return realize(tx, self.items.pop(position))


def _remove(self: MutableSequence, tx: Translator, value: Variable) -> Variable:
    from capture.variables.compare import equal_or_same

    for index, item in enumerate(self.unpack(tx)):
        if equal_or_same(tx, item, value):
            change(tx, self)
            del self.items[index]
            return NONE
    kind = self.python_type().__name__
    raise raise_new(ValueError, f"{kind}.remove(x): x not in {kind}")


def _clear(self: MutableSequence, tx: Translator) -> Variable:
    change(tx, self)
    self.items.clear()
    return NONE


def _reverse(self: MutableSequence, tx: Translator) -> Variable:
    change(tx, self)
    self.items.reverse()
    return NONE


def _copy(self: MutableSequence, tx: Translator) -> Variable:
    if isinstance(self, DequeVariable):
        self.guard_limit(tx)
    return self.like(list(self.items))


def _sort(
    self: MutableSequence, tx: Translator, *, key: Variable | None = None, reverse: Variable | None = None
) -> Variable:
    from capture.variables.compare import sort_items

    items = sort_items(tx, self.unpack(tx), key, reverse)
    change(tx, self)
    self.items[:] = items
    return NONE


def _set_item(self: MutableSequence, tx: Translator, key: Variable, value: Variable) -> Variable:
    if isinstance(key, SliceVariable):
        new = value.unpack(tx)
        change(tx, self)
        try:
            self.items[key.as_slice()] = new
        except ValueError as error:
            raise raise_new(ValueError, *error.args) from None
        return NONE
    index = index_of(tx, key)
    if not -len(self.items) <= index < len(self.items):
        raise raise_new(IndexError, f"{self.python_type().__name__} assignment index out of range")
    change(tx, self)
    self.items[index] = value
    return NONE


def _del_item(self: MutableSequence, tx: Translator, key: Variable) -> Variable:
    change(tx, self)
    if isinstance(key, SliceVariable):
        del self.items[key.as_slice()]
        return NONE
    index = index_of(tx, key)
    if not -len(self.items) <= index < len(self.items):
        raise raise_new(IndexError, f"{self.python_type().__name__} assignment index out of range")
    del self.items[index]
    return NONE


def _append_left(self: MutableSequence, tx: Translator, value: Variable) -> Variable:
    change(tx, self)
    self.items.insert(0, value)
    assert isinstance(self, DequeVariable)
    self.trim(left=True)
    return NONE


def _extend_left(self: MutableSequence, tx: Translator, values: Variable) -> Variable:
    for value in values.unpack(tx):
        _append_left(self, tx, value)
    return NONE


def _pop_left(self: MutableSequence, tx: Translator) -> Variable:
    if not self.items:
        raise raise_new(IndexError, "pop from an empty deque")
    change(tx, self)
    return realize(tx, self.items.pop(0))


def _rotate(self: MutableSequence, tx: Translator, steps: Variable = ConstantVariable(1)) -> Variable:
    change(tx, self)
    if self.items:
        by = steps.as_constant() % len(self.items)
        self.items[:] = self.items[-by:] + self.items[:-by] if by else self.items
    return NONE


def _in_place_add(self: MutableSequence, tx: Translator, other: Variable) -> Variable:
    _extend(self, tx, other)
    return self


LIST_METHODS: dict[str, Callable[..., Variable]] = {
    "append": _append,
    "extend": _extend,
    "insert": _insert,
    "pop": _pop,
    "remove": _remove,
    "clear": _clear,
    "reverse": _reverse,
    "copy": _copy,
    "sort": _sort,
    "__setitem__": _set_item,
    "__delitem__": _del_item,
    "__iadd__": _in_place_add,
    "appendleft": _append_left,
    "extendleft": _extend_left,
    "popleft": _pop_left,
    "rotate": _rotate,
}
