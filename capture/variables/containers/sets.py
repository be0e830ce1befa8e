"""Sets and frozensets.

In:  the entries: hash key -> item. Those of an existing set are read, with a guard, at the first use.
Out: a `SetVariable`, and the tables `SET_METHODS` and `SET_CHANGES` of its methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.value_method import method_of_value, missing_method
from capture.variables.containers.sequence import TupleVariable
from capture.variables.containers.set_table import SetTable
from capture.variables.core.base import ObservedException, Variable, realize
from capture.variables.core.constant import NONE, ConstantVariable, is_literal_key
from capture.variables.core.exception import ExceptionVariable, raise_new
from capture.variables.core.makers import constant, makes_constant
from capture.variables.iterators.iterator import EntriesIterator
from capture.variables.operations.equality import hash_key
from capture.variables.operations.operator_methods import call_operator
from capture.variables.text.size_text import is_open

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source


class SetVariable(Variable):
    """A set or frozenset. `entries` maps hash keys to items; `table` knows their order.

    `unread` reads the entries and the table of an existing set. Until then `blind` has the items that the
    frame adds.
    """

    mutable = True
    hashes_items = True

    def __init__(
        self,
        entries: dict[Any, Variable],
        source: Source | None = None,
        *,
        cls: type = set,
        table: SetTable | None = None,
        unread: Callable[[], tuple[dict[Any, Variable], SetTable | None]] | None = None,
    ) -> None:
        super().__init__(source)
        self.unread = unread
        self.blind: list[tuple[Interpreter, Variable]] = []
        self._before: dict[Any, Variable] = {}  # the items from before the frame, where they are read late
        self._entries = entries
        self._table = table
        self.cls = cls
        #: how many times items were added or removed, for iterators
        self.key_changes = 0
        #: the items that the frame popped before it changed the set in any other way
        self.popped: list[Any] = []

    @property
    def entries(self) -> dict[Any, Variable]:
        self._read()
        return self._entries

    @entries.setter
    def entries(self, entries: dict[Any, Variable]) -> None:
        self._entries = entries

    @property
    def table(self) -> SetTable | None:
        self._read()
        return self._table

    @table.setter
    def table(self, table: SetTable | None) -> None:
        self._table = table

    def _read(self) -> None:
        if self.unread is None:
            return
        self._entries, self._table = self.unread()
        self.unread, self._before = None, dict(self._entries)
        for tx, item in self.blind:
            _add(self, tx, ConstantVariable(item.as_constant()))

    def keys_version(self) -> Any:
        self._read()
        return self.key_changes

    def values_version(self) -> Any:
        """A set has no values."""
        return None

    def replay_stops_iterators(self, output: Output) -> bool:
        changed = self.source is not None and output.side_effects.is_mutated(self)
        return changed and bool(self.keys_version())

    @classmethod
    def from_items(cls, tx: Interpreter, items: Iterable[Variable], kind: type = set) -> SetVariable:
        entries: dict[Any, Variable] = {}
        for item in items:
            entries.setdefault(hash_key(tx, item), item)
        return cls(entries, cls=kind, table=SetTable.of_items(kind, entries))

    def python_type(self) -> type:
        return self.cls

    def describe(self) -> str:
        return f"{self.cls.__name__} of {len(self.entries)}" if self.unread is None else self.cls.__name__

    def keys(self) -> set[Any]:
        return set(self.entries)

    def as_constant(self) -> Any:
        items = {key: value.as_constant() for key, value in self.entries.items()}
        return self.cls(items.values() if self.table is None else [items[key] for key in self.table.held])

    def is_constant(self) -> bool:
        return self.cls is frozenset and super().is_constant()

    def truth(self, tx: Interpreter) -> bool:
        return bool(self.entries)

    def length(self, tx: Interpreter) -> int:
        return len(self.entries)

    def unpack(self, tx: Interpreter) -> list[Variable]:
        """The items in Python's order."""
        if len(self.entries) < 2:
            return list(self.entries.values())
        if self.table is None or not self.table.guard_order(tx.output):
            raise GraphBreak("iterate", value=self)
        return [self.entries[key] for key in self.table.held]

    def iterate(self, tx: Interpreter) -> Variable:
        return EntriesIterator(self.unpack(tx), self, self, tx.output.root_step)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        return method_of_value(tx, self, name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        method = SET_METHODS.get(name)
        if method is None and self.cls is set:
            method = SET_CHANGES.get(name)
        operated = call_operator(tx, self, name, args)
        if operated is not None:
            return operated
        if method is None or kwargs:
            raise missing_method(self, name)
        return method(self, tx, *args)

    def snapshot(self) -> dict[Any, Variable] | None:
        """None where the items are not read yet."""
        return dict(self._entries) if self.unread is None else None

    def replay_change(self, code: PythonCode, before: dict[Any, Variable] | None) -> None:
        if self.unread is not None:
            code.call_object(set.update, [self, TupleVariable([item for _, item in self.blind])])
            code.pop()
            return
        before = self._before if before is None else before
        for _ in self.popped:  # where the next one begins depends on the pops before
            code.call_object(set.pop, [self])
            code.pop()
        before = {name: item for name, item in before.items() if name not in self.popped}
        # an item that was removed and added again may be another one, which is equal
        gone = [item for name, item in before.items() if self.entries.get(name) is not item]
        for item in gone:
            code.call_object(set.discard, [self, item])
            code.pop()
        added = [item for name, item in self.entries.items() if before.get(name) is not item]
        if added:
            code.call_object(set.update, [self, TupleVariable(added)])
            code.pop()

    def reconstruct(self, code: PythonCode) -> None:
        literals = all(type(item) is ConstantVariable for item in self.entries.values())
        if self.table is not None and not self.table.is_made_by_adding():
            if literals:
                self.table.load_clone(code)
                return
            if self.popped:
                raise GraphBreak("reconstruct", value=self)
        for key in self.entries if self.table is None else self.table.order_of_making():
            code.load(self.entries[key])
        code.build_set(len(self.entries))
        if self.cls is not set:
            name = code.temporary()
            code.store_local(name)
            code.load_callable(self.cls)
            code.load_local(name)
            code.call(1)

    def children(self) -> list[Variable]:
        return list(self.entries.values())

    def known_children(self) -> list[Variable]:
        return self.children() if self.unread is None else [item for _, item in self.blind]

    def like(self, entries: dict[Any, Variable], operation: str, given: list[Any]) -> SetVariable:
        """The result of an operation on this set and others."""
        table = SetTable.combined(operation, self.table, *(table for _, table in given))
        return SetVariable(entries, cls=self.cls, table=table)

    def will_change(self, tx: Interpreter, operation: str, *tables: SetTable | None) -> None:
        """Announce that the method `operation` is about to change the set, which may let go of its items."""
        self._read()
        tx.output.side_effects.will_mutate(self)
        if self.source is None and self.table is not None:
            self.table = self.table.changed(operation, *tables)
        else:
            self.table = None  # the replay on an existing set may give another order than our operations


def as_entries(tx: Interpreter, value: Variable) -> dict[Any, Variable]:
    return operand(tx, value)[0]


def operand(tx: Interpreter, value: Variable) -> tuple[dict[Any, Variable], SetTable | None]:
    """The items of an operand of a set operation, and a table with the order of Python's walk over it."""
    value = _past_overrides(value)
    if isinstance(value, SetVariable):
        return value.entries, value.table
    if value.hashes_items:
        entries = value.hashed_keys(tx)
        return entries, SetTable.of_items(dict.fromkeys, entries)
    made = SetVariable.from_items(tx, value.iterate(tx).unpack(tx))
    return made.entries, SetTable.of_items(list, made.entries)


def _set_contains(self: SetVariable, tx: Interpreter, item: Variable) -> Variable:
    return ConstantVariable(hash_key(tx, item, self.entries) in self.entries)


def _set_copy(self: SetVariable, tx: Interpreter) -> Variable:
    if self.cls is frozenset:
        return self
    return SetVariable(dict(self.entries), cls=self.cls, table=SetTable.combined("copy", self.table))


def _union(self: SetVariable, tx: Interpreter, *others: Variable) -> Variable:
    given = [operand(tx, other) for other in others]
    entries = dict(self.entries)
    for held, _ in given:
        for key, item in held.items():
            entries.setdefault(key, item)
    return self.like(entries, "union", given)


def _intersection(self: SetVariable, tx: Interpreter, *others: Variable) -> Variable:
    given = [operand(tx, other) for other in others]
    entries = {k: v for k, v in self.entries.items() if all(k in held for held, _ in given)}
    return self.like(entries, "intersection", given)


def _difference(self: SetVariable, tx: Interpreter, *others: Variable) -> Variable:
    given = [operand(tx, other) for other in others]
    entries = {k: v for k, v in self.entries.items() if not any(k in held for held, _ in given)}
    return self.like(entries, "difference", given)


def _symmetric_difference(self: SetVariable, tx: Interpreter, other: Variable) -> Variable:
    held, table = operand(tx, other)
    entries = {k: v for k, v in self.entries.items() if k not in held}
    entries |= {k: v for k, v in held.items() if k not in self.entries}
    return self.like(entries, "symmetric_difference", [(held, table)])


def _is_subset(self: SetVariable, tx: Interpreter, other: Variable) -> Variable:
    return ConstantVariable(self.keys() <= set(as_entries(tx, other)))


def _is_superset(self: SetVariable, tx: Interpreter, other: Variable) -> Variable:
    return ConstantVariable(self.keys() >= set(as_entries(tx, other)))


def _is_disjoint(self: SetVariable, tx: Interpreter, other: Variable) -> Variable:
    return ConstantVariable(self.keys().isdisjoint(as_entries(tx, other)))


def length_of(self: Any, tx: Interpreter) -> Variable:
    return ConstantVariable(self.length(tx))


def iterator_of(self: Variable, tx: Interpreter) -> Variable:
    return self.iterate(tx)


SET_METHODS: dict[str, Callable[..., Variable]] = {
    "__contains__": _set_contains,
    "__len__": length_of,
    "__iter__": iterator_of,
    "copy": _set_copy,
    "union": _union,
    "intersection": _intersection,
    "difference": _difference,
    "symmetric_difference": _symmetric_difference,
    "issubset": _is_subset,
    "issuperset": _is_superset,
    "isdisjoint": _is_disjoint,
}


def _add(self: SetVariable, tx: Interpreter, item: Variable) -> Variable:
    item = realize(item)
    if self.unread is not None and (is_open(tx, item) or is_literal_key(item)):
        tx.output.side_effects.will_mutate(self)
        self.blind.append((tx, item))
        return NONE
    key = hash_key(tx, item, self.entries)
    self.will_change(tx, "update", SetTable.of_items(list, [key]))
    self.key_changes += key not in self.entries
    self.entries.setdefault(key, item)
    return NONE


def _discard(self: SetVariable, tx: Interpreter, item: Variable) -> Variable:
    key = hash_key(tx, item, self.entries)
    self.will_change(tx, "difference_update", SetTable.of_items(list, [key]))
    self.key_changes += key in self.entries
    self.entries.pop(key, None)
    return NONE


def _set_remove(self: SetVariable, tx: Interpreter, item: Variable) -> Variable:
    if hash_key(tx, item, self.entries) not in self.entries:
        raise ObservedException(ExceptionVariable(KeyError, [item]))
    return _discard(self, tx, item)


def _set_pop(self: SetVariable, tx: Interpreter) -> Variable:
    """`s.pop()`. The replay pops too, because each pop begins where the one before has ended."""
    if not self.entries:
        raise raise_new(KeyError, "pop from an empty set")
    if self.table is None and len(self.entries) == 1 and self.source is None:
        item = next(iter(self.entries.values()))
        _discard(self, tx, item)
        return item
    if self.table is None or not self.table.guard_order(tx.output):
        raise GraphBreak("method", name="pop", value=self)
    tx.output.side_effects.will_mutate(self)
    self.key_changes += 1
    key = self.table.pop()
    self.popped.append(key)
    return self.entries.pop(key)


def _replacing(method: Callable[..., Variable]) -> Callable[..., Variable]:
    operation = f"{method.__name__.removeprefix('_')}_update".removeprefix("union_")

    def change(self: SetVariable, tx: Interpreter, *others: Variable) -> Variable:
        given = [_walked_once(tx, other) for other in others]
        result = method(self, tx, *given)
        assert isinstance(result, SetVariable)
        self.will_change(tx, operation, *(operand(tx, other)[1] for other in given))
        self.key_changes += self.entries.keys() != result.entries.keys()
        self.entries = result.entries
        return NONE

    return change


def _walked_once(tx: Interpreter, value: Variable) -> Variable:
    """The operand itself if it is a set or dict, otherwise a tuple of its items, for more than one walk."""
    value = _past_overrides(value)
    if value.hashes_items:
        return value
    return TupleVariable(value.iterate(tx).unpack(tx))


def _past_overrides(value: Variable) -> Variable:
    """The built-in set of an instance of a subclass, because C code does not call its `__iter__`."""
    base = getattr(value, "base_value", None)
    return base if isinstance(base, SetVariable) else value


def _set_clear(self: SetVariable, tx: Interpreter) -> Variable:
    self.will_change(tx, "clear")
    self.key_changes += len(self.entries)
    self.entries = {}
    return NONE


SET_CHANGES: dict[str, Callable[..., Variable]] = {
    "add": _add,
    "discard": _discard,
    "remove": _set_remove,
    "pop": _set_pop,
    "clear": _set_clear,
    "update": _replacing(_union),
    "intersection_update": _replacing(_intersection),
    "difference_update": _replacing(_difference),
    "symmetric_difference_update": _replacing(_symmetric_difference),
}


@makes_constant(set, frozenset)
def _constant_set(value: set[Any] | frozenset[Any]) -> SetVariable:
    entries = {item: constant(item) for item in value}
    return SetVariable(entries, cls=type(value), table=SetTable(value.copy()))
