"""Sets and frozensets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.break_reasons import GraphBreak
from capture.variables.base import ObservedException, Variable
from capture.variables.compare import ByIdentity, ByUser, hash_key
from capture.variables.constant import NONE, ConstantVariable
from capture.variables.exception import ExceptionVariable, raise_new

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from guards.source import Source


class SetVariable(Variable):
    """set and frozenset: `entries` hash key -> item."""

    mutable = True

    def __init__(
        self, entries: dict[Any, Variable], source: Source | None = None, *, cls: type = set
    ) -> None:
        super().__init__(source)
        self.entries = entries
        self.cls = cls
        #: how often items came or went: iterators watch it
        self.key_changes = 0

    @classmethod
    def from_items(cls, tx: Translator, items: Iterable[Variable], kind: type = set) -> SetVariable:
        entries: dict[Any, Variable] = {}
        for item in items:
            entries.setdefault(hash_key(tx, item), item)
        return cls(entries, cls=kind)

    def python_type(self) -> type:
        return self.cls

    def describe(self) -> str:
        return f"{self.cls.__name__} of {len(self.entries)}"

    def keys(self) -> set[Any]:
        return set(self.entries)

    def as_constant(self) -> Any:
        return self.cls(v.as_constant() for v in self.entries.values())

    def is_constant(self) -> bool:
        return self.cls is frozenset and super().is_constant()

    def truth(self, tx: Translator) -> bool:
        return bool(self.entries)

    def length(self, tx: Translator) -> int:
        return len(self.entries)

    def unpack(self, tx: Translator) -> list[Variable]:
        """Items in Python's own iteration order, where they are constants; else in the order of insertion."""
        if self.source is not None:
            if tx.output.side_effects.is_mutated(self):
                raise GraphBreak("iterate", value=self)
        elif len(self.entries) > 1:
            if any(isinstance(k, (ByIdentity, ByUser)) for k in self.entries):
                raise GraphBreak("iterate", value=self)
            return [self.entries[k] for k in set(self.entries)]
        return list(self.entries.values())

    def iterate(self, tx: Translator) -> Variable:
        from capture.variables.iterator import EntriesIterator

        return EntriesIterator(self.unpack(tx), self, self, tx.output.root_step)

    def get_attr(self, tx: Translator, name: str) -> Variable:
        from capture.variables.function import method_of_value

        return method_of_value(tx, self, name)

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        from capture.variables.function import missing_method
        from capture.variables.operator_methods import call_operator

        method = SET_METHODS.get(name)
        if method is None and self.cls is set:
            method = SET_CHANGES.get(name)
        operated = call_operator(tx, self, name, args)
        if operated is not None:
            return operated
        if method is None or kwargs:
            raise missing_method(self, name)
        return method(self, tx, *args)

    def reconstruct(self, code: PythonCode) -> None:
        for item in self.entries.values():
            code.load(item)
        code.emit("BUILD_SET", len(self.entries))
        if self.cls is not set:
            name = code.temporary()
            code.emit("STORE_FAST", name)
            code.emit("PUSH_NULL")
            code.load_constant(self.cls)
            code.emit("LOAD_FAST", name)
            code.call(1)

    def children(self) -> list[Variable]:
        return list(self.entries.values())


def as_entries(tx: Translator, value: Variable) -> dict[Any, Variable]:
    from capture.variables.mapping import DictVariable

    if isinstance(value, SetVariable):
        return value.entries
    if type(value) is DictVariable:  # whose keys have been hashed
        value.guard_keys(tx)
        return {name: key for name, (key, _) in value.entries.items()}
    return SetVariable.from_items(tx, value.iterate(tx).unpack(tx)).entries


def _set_contains(self: SetVariable, tx: Translator, item: Variable) -> Variable:
    return ConstantVariable(hash_key(tx, item, self.entries) in self.entries)


def _set_copy(self: SetVariable, tx: Translator) -> Variable:
    if self.cls is frozenset:
        return self
    return SetVariable(dict(self.entries), cls=self.cls)


def _union(self: SetVariable, tx: Translator, *others: Variable) -> Variable:
    entries = dict(self.entries)
    for other in others:
        for key, item in as_entries(tx, other).items():
            entries.setdefault(key, item)
    return SetVariable(entries, cls=self.cls)


def _keep(self: SetVariable, tx: Translator, others: tuple[Variable, ...], inside: bool) -> Variable:
    entries = dict(self.entries)
    for other in others:
        held = as_entries(tx, other)
        entries = {k: v for k, v in entries.items() if (k in held) == inside}
    return SetVariable(entries, cls=self.cls)


def _intersection(self: SetVariable, tx: Translator, *others: Variable) -> Variable:
    return _keep(self, tx, others, True)


def _difference(self: SetVariable, tx: Translator, *others: Variable) -> Variable:
    return _keep(self, tx, others, False)


def _symmetric_difference(self: SetVariable, tx: Translator, other: Variable) -> Variable:
    held = as_entries(tx, other)
    entries = {k: v for k, v in self.entries.items() if k not in held}
    entries |= {k: v for k, v in held.items() if k not in self.entries}
    return SetVariable(entries, cls=self.cls)


def _is_subset(self: SetVariable, tx: Translator, other: Variable) -> Variable:
    return ConstantVariable(self.keys() <= set(as_entries(tx, other)))


def _is_superset(self: SetVariable, tx: Translator, other: Variable) -> Variable:
    return ConstantVariable(self.keys() >= set(as_entries(tx, other)))


def _is_disjoint(self: SetVariable, tx: Translator, other: Variable) -> Variable:
    return ConstantVariable(self.keys().isdisjoint(as_entries(tx, other)))


def length_of(self: Any, tx: Translator) -> Variable:
    return ConstantVariable(self.length(tx))


def iterator_of(self: Variable, tx: Translator) -> Variable:
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


def _add(self: SetVariable, tx: Translator, item: Variable) -> Variable:
    key = hash_key(tx, item, self.entries)
    tx.output.side_effects.will_mutate(self)
    self.key_changes += key not in self.entries
    self.entries.setdefault(key, item)
    return NONE


def _discard(self: SetVariable, tx: Translator, item: Variable) -> Variable:
    key = hash_key(tx, item, self.entries)
    tx.output.side_effects.will_mutate(self)
    self.key_changes += key in self.entries
    self.entries.pop(key, None)
    return NONE


def _set_remove(self: SetVariable, tx: Translator, item: Variable) -> Variable:
    if hash_key(tx, item, self.entries) not in self.entries:
        raise ObservedException(ExceptionVariable(KeyError, [item]))
    return _discard(self, tx, item)


def _set_pop(self: SetVariable, tx: Translator) -> Variable:
    if not self.entries:
        raise raise_new(KeyError, "pop from an empty set")
    item = self.unpack(tx)[0]
    _discard(self, tx, item)
    return item


def _replacing(method: Callable[..., Variable]) -> Callable[..., Variable]:
    def change(self: SetVariable, tx: Translator, *others: Variable) -> Variable:
        result = method(self, tx, *others)
        tx.output.side_effects.will_mutate(self)
        assert isinstance(result, SetVariable)
        self.key_changes += self.entries.keys() != result.entries.keys()
        self.entries = result.entries
        return NONE

    return change


def _set_clear(self: SetVariable, tx: Translator) -> Variable:
    tx.output.side_effects.will_mutate(self)
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
