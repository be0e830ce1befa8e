"""Sequences: the base class of tuples, lists, deques and named tuples; tuples and torch.Size.

In:  the items, which are Variables. Items of an existing container stay lazy, without a guard, until a read.
Out: a variable with the operations that all sequences share.
"""

from __future__ import annotations

import itertools
import operator
import sys
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.value_method import method_of_value, missing_method
from capture.variables.containers.ranges import SliceVariable
from capture.variables.core.base import LazyVariable, NotConstant, Variable, realize, realized_item
from capture.variables.core.constant import ConstantVariable, fold, raise_type_error
from capture.variables.core.exception import raise_new
from capture.variables.core.makers import constant, makes, makes_constant
from capture.variables.iterators.iterator import IndexIterator
from capture.variables.numbers.symbolic import SymbolicVariable, is_symbolic
from capture.variables.operations.equality import equal_or_same, is_one_of_numbers
from capture.variables.operations.operator_methods import call_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from capture.output.python_code import PythonCode
    from capture.output.result_recipe import Recipe
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


class SequenceVariable(Variable):
    """`items` in order. A subclass knows the Python type and how bytecode builds it."""

    builtin: ClassVar[Any]
    methods: ClassVar[dict[str, Callable[..., Variable]]]
    #: whether the `__setstate__` of an iterator over the sequence moves the iterator
    moves_iterators: ClassVar[bool] = False
    #: how many times items were added, removed or moved; only deques count it, for their iterators
    changes = 0

    def __init__(self, items: list[Variable], source: Source | None = None) -> None:
        super().__init__(source)
        self.items = items

    def is_overriding(self) -> bool:
        return any(item.is_overriding() for item in self.items)

    def python_type(self) -> type:
        return self.builtin

    def describe(self) -> str:
        return f"{self.python_type().__name__} of {len(self.items)}"

    def truth(self, tx: Interpreter) -> bool:
        return bool(self.items)

    def length(self, tx: Interpreter) -> int:
        return len(self.items)

    def as_proxy(self) -> Any:
        return self.build([i.as_proxy() for i in self.items])

    def as_proxy_for(self, target: Any) -> Any:
        if target is torch.tensor:
            return self.build([item.as_proxy_for(target) for item in self.items])
        return self.as_proxy()

    def build(self, values: list[Any]) -> Any:
        return self.builtin(values)

    def unpack(self, tx: Interpreter) -> list[Variable]:
        return self.realized_items()

    def realized_items(self) -> list[Variable]:
        return [realized_item(self.items, index) for index in range(len(self.items))]

    def like(self, items: list[Variable]) -> Variable:
        """A new sequence of the type that slicing and concatenation return."""
        return type(self)(items)

    def get_item(self, tx: Interpreter, key: Variable) -> Variable:
        if isinstance(key, SliceVariable):
            place = slice_of(tx, key)
            whole = type(self) is TupleVariable and place.indices(len(self.items)) == (0, len(self.items), 1)
            return self if whole else self.like(self.items[place])
        leave_to_python_if_it_changes(tx, self, key)
        index = index_of(tx, key)
        if not -len(self.items) <= index < len(self.items):
            raise raise_new(IndexError, f"{self.python_type().__name__} index out of range")
        return realized_item(self.items, index)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        return method_of_value(tx, self, name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        method = self.methods.get(name)
        if method is None:
            operated = call_operator(tx, self, name, args)
            if operated is not None:
                return operated
            raise missing_method(self, name)
        return method(self, tx, *args, **kwargs)

    def iterate(self, tx: Interpreter) -> Variable:
        return IndexIterator(self)

    def children(self) -> list[Variable]:
        return list(self.items)


@makes(tuple)
class TupleVariable(SequenceVariable):
    builtin: ClassVar[Any] = tuple
    moves_iterators = True

    def hashed_items(self, tx: Interpreter) -> list[Variable] | None:
        return self.unpack(tx) if type(self) is TupleVariable else None

    def as_constant(self) -> Any:
        return tuple(i.as_constant() for i in self.items)

    def is_constant(self) -> bool:
        return all(i.is_constant() for i in self.items)

    def reconstruct(self, code: PythonCode) -> None:
        for item in self.items:
            code.load(item)
        code.build_tuple(len(self.items))

    def add_to_recipe(self, recipe: Recipe) -> bool:
        return type(self) is TupleVariable and recipe.container(self, self.items, "tuple", len(self.items))


class SizeVariable(TupleVariable):
    """torch.Size: a tuple of ints."""

    builtin: ClassVar[Any] = torch.Size

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name == "numel":
            return _product(tx, self.items)
        return super().call_method(tx, name, args, kwargs)

    _node: Any = None  # the node that makes it in the graph, if an item is symbolic

    def as_constant(self) -> Any:
        return torch.Size(super().as_constant())

    def as_proxy(self) -> Any:
        items = [item.realize() if isinstance(item, LazyVariable) else item for item in self.items]
        symbolic = [item for item in items if isinstance(item, SymbolicVariable)]
        if not symbolic:
            return super().as_proxy()
        if self._node is None or self._node._erased:
            self._node = symbolic[0].symbols.size_node(items)
        return self._node

    def build(self, values: list[Any]) -> Any:
        return torch.Size(values) if all(isinstance(v, int) for v in values) else tuple(values)

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(torch.Size, [TupleVariable(self.items)])


def holds_symbols(tx: Interpreter, value: Variable) -> bool:
    """Whether it is a symbolic number, or a sequence that contains one."""
    value = realize(value)
    if isinstance(value, SequenceVariable):
        return any(holds_symbols(tx, item) for item in value.items)
    return is_symbolic(value)


def _product(tx: Interpreter, items: list[Variable]) -> Variable:
    result: Variable = ConstantVariable(1)
    for item in items:
        result = tx.operate("*", result, item)
    return result


# --- methods: functions (sequence, tx, *args, **kwargs) -> Variable ---------------------------------------


def checked_index(result: Variable) -> Variable:
    """The result of `__index__`, which must be an int.

    Python warns about an instance of a subclass of int, and it raises an exception for anything else.
    """
    kind = result.python_type()
    if not issubclass(kind, int):
        raise_type_error(f"__index__ returned non-int (type {kind.__name__})")
    if kind is not int:
        raise GraphBreak("builtin", name="index", value=result)
    return result


def leave_to_python_if_it_changes(tx: Interpreter, container: SequenceVariable, key: Variable) -> None:
    """Break where a number that changes from call to call is the place in an existing sequence. For
    `batches[i % 9]` there would be 9 captures.
    """
    if (
        isinstance(key, SymbolicVariable)
        and container.source is not None
        and tx.output.symbols.policy.breaks_at_places(len(container.items))
    ):
        raise GraphBreak("not_constant", value=f"the changing index {key.describe()}")


def index_of(tx: Interpreter, key: Variable) -> int:
    """The int that `key.__index__()` gives."""
    base = getattr(key, "base_value", None)
    key = base if base is not None and base.python_type() is int else key.plain_argument()
    has_attribute = getattr(key, "has_class_attribute", None)
    is_tensor = issubclass(key.python_type(), torch.Tensor)
    if is_tensor or (has_attribute is not None and has_attribute("__index__")):
        key = checked_index(key.call_method(tx, "__index__", [], {}))
    try:
        return operator.index(key.as_constant())
    except NotConstant:
        raise GraphBreak("operator", name="index", value=key) from None
    except TypeError:
        raise_type_error(f"list indices must be integers or slices, not {key.python_type().__name__}")


def slice_of(tx: Interpreter, key: SliceVariable) -> slice:
    """The slice of ints that Python makes of `key`. Its parts may have `__index__`."""
    parts = [
        part if part.is_exactly(None) else _slice_part(tx, part)
        for part in (part.plain_argument() for part in key.parts)
    ]
    start, stop, step = (part if isinstance(part, int) else None for part in parts)
    if step == 0:
        raise raise_new(ValueError, "slice step cannot be zero")
    return slice(start, stop, step)


def _slice_part(tx: Interpreter, part: Variable) -> int:
    known = part.is_constant() or hasattr(part, "has_class_attribute")
    has_index = known and hasattr(part.python_type(), "__index__")
    if known and not has_index:
        raise_type_error("slice indices must be integers or None or have an __index__ method")
    return index_of(tx, part)


def live_items(self: SequenceVariable, tx: Interpreter) -> Iterator[Variable]:
    """The items, read by index as C code reads them. An `__eq__` may change the sequence meanwhile."""
    index, changes = 0, self.changes
    while index < len(self.items):
        item = realized_item(self.items, index)
        yield item
        if changes != self.changes:  # only deques count them
            raise raise_new(RuntimeError, "deque mutated during iteration")
        index += 1


def _contains(self: SequenceVariable, tx: Interpreter, value: Variable) -> Variable:
    among_sizes = isinstance(self, SizeVariable) or is_symbolic(value)
    found = is_one_of_numbers(self.unpack(tx), value) if among_sizes else None
    if found is None:
        found = any(equal_or_same(tx, item, value) for item in live_items(self, tx))
    return ConstantVariable(found)


def _index(
    self: SequenceVariable,
    tx: Interpreter,
    value: Variable,
    start: Variable | None = None,
    stop: Variable | None = None,
) -> Variable:
    low = _bound(tx, start) if start is not None else 0
    high = _bound(tx, stop) if stop is not None else sys.maxsize
    first, last, _ = slice(low, high).indices(len(self.items))
    for index, item in enumerate(itertools.islice(live_items(self, tx), first, None), first):
        if index >= last and high < sys.maxsize:
            break
        if equal_or_same(tx, item, value):
            return ConstantVariable(index)
    kind = self.python_type().__name__
    if isinstance(self, TupleVariable):
        raise raise_new(ValueError, "tuple.index(x): x not in tuple")
    raise raise_new(ValueError, f"{tx.to_repr(value)} is not in {kind}")


def _bound(tx: Interpreter, value: Variable) -> int:
    """The `start` or `stop` of `index`. Python allows any size for them."""
    if value.is_constant() and not hasattr(value.python_type(), "__index__"):
        raise_type_error("slice indices must be integers or have an __index__ method")
    return index_of(tx, value)


def _count(self: SequenceVariable, tx: Interpreter, value: Variable) -> Variable:
    return ConstantVariable(sum(equal_or_same(tx, item, value) for item in live_items(self, tx)))


def _get_item(self: SequenceVariable, tx: Interpreter, key: Variable) -> Variable:
    return self.get_item(tx, key)


def _len(self: SequenceVariable, tx: Interpreter) -> Variable:
    return ConstantVariable(len(self.items))


def _hash(self: SequenceVariable, tx: Interpreter) -> Variable:
    return fold(hash, [self], {})


def _iter(self: SequenceVariable, tx: Interpreter) -> Variable:
    return self.iterate(tx)


SEQUENCE_METHODS: dict[str, Callable[..., Variable]] = {
    "__contains__": _contains,
    "index": _index,
    "count": _count,
    "__getitem__": _get_item,
    "__len__": _len,
    "__iter__": _iter,
    "__hash__": _hash,
}
SequenceVariable.methods = SEQUENCE_METHODS


@makes_constant(tuple)
def _constant_tuple(value: tuple[Any, ...]) -> TupleVariable:
    return TupleVariable([constant(item) for item in value])


@makes_constant(torch.Size)
def _constant_size(value: torch.Size) -> SizeVariable:
    return SizeVariable([constant(item) for item in value])
