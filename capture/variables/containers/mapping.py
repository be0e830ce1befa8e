"""Dicts: dict, OrderedDict and defaultdict.

In:  the entries: hash key -> (key, value).
Out: a `DictVariable`, and the table `DICT_METHODS` of its methods.
"""

from __future__ import annotations

import collections
import functools
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.value_method import method_of_value, missing_method
from capture.variables.containers.sequence import TupleVariable
from capture.variables.containers.sets import iterator_of, length_of
from capture.variables.containers.views import DictViewVariable, MappingProxyVariable
from capture.variables.core.base import NotConstant, ObservedException, Variable, realize
from capture.variables.core.class_lookup import lookup_type
from capture.variables.core.constant import NONE, ConstantVariable, is_literal_key
from capture.variables.core.exception import ExceptionVariable, raise_new
from capture.variables.core.granted import granted
from capture.variables.core.identity import IdentityVariable, looked_up
from capture.variables.core.makers import constant, makes, makes_constant
from capture.variables.core.replay import is_realized_from
from capture.variables.iterators.iterator import EntriesIterator
from capture.variables.numbers.symbolic import is_fixed
from capture.variables.operations.equality import ForeignKey, equal_or_same, hash_key
from capture.variables.operations.operator_methods import call_operator
from capture.variables.text.size_text import is_open
from guards.lookup import dict_items
from guards.sources import AttrSource, DictItemSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.output.python_code import PythonCode
    from capture.output.result_recipe import Recipe
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source

FIRST_ADDRESS = 4096  # no object lies below


@makes(dict)
class DictVariable(Variable):
    """`entries`: hash key -> (key, value), in order.

    The entries of an existing dict (`original`) are guarded when they are used. A look-up or a store guards
    one key. A walk over the dict or a read of its length guards all keys in order (`guard_order`). A store
    under a key that is a symbol guards nothing: it waits in `blind`, and so do all stores behind it, until
    the program uses `entries`.
    """

    mutable = True
    hashes_items = True

    def __init__(
        self,
        entries: dict[Any, tuple[Variable, Variable]] | None = None,
        source: Source | None = None,
        *,
        cls: type = dict,
        factory: Variable | None = None,
        original: dict[Any, Any] | None = None,
    ) -> None:
        super().__init__(source)
        self.blind: list[tuple[Interpreter, Variable, Variable]] = []
        self.entries = entries if entries is not None else {}
        self.cls = cls
        self.factory = factory
        self.original = original
        #: whether the dict belongs to an existing object whose class derives from `cls`
        self.held_by_subclass = False
        self.keys_guarded = original is None
        #: how many times keys were added, removed or moved, and how many times a key got another value
        self.key_changes = 0
        self.value_changes = 0
        #: attributes of an OrderedDict that the frame makes
        self.attributes: dict[str, Variable] = {}
        #: keys that the frame removed, even if it added them again
        self.deleted: set[Any] = set()
        #: keys that the frame stored or removed
        self.touched: set[Any] = set()

    @property
    def entries(self) -> dict[Any, tuple[Variable, Variable]]:
        if self.blind:
            waiting, self.blind = self.blind, []
            for tx, key, value in waiting:
                self.set_named(tx, self.key_of(tx, ConstantVariable(key.as_constant())), key, value)
        return self._entries

    @entries.setter
    def entries(self, entries: dict[Any, tuple[Variable, Variable]]) -> None:
        self._entries = entries

    @classmethod
    def from_strings(cls, values: dict[str, Variable]) -> DictVariable:
        return cls({k: (ConstantVariable(k), v) for k, v in values.items()})

    def python_type(self) -> type:
        return self.cls

    def describe(self) -> str:
        return self.cls.__name__ if self.blind else f"{self.cls.__name__} of {len(self.entries)}"

    def as_constant(self) -> Any:
        raise NotConstant(self)

    def argument_value(self) -> Any:
        """A new dict of constants for the call."""
        if type(self) is DictVariable and self.source is None and self.cls is dict:
            return {key.as_constant(): held.as_constant() for key, held in self.entries.values()}
        return self.as_constant()

    def as_proxy(self) -> Any:
        self.show_keys()
        return {k.as_constant(): v.as_proxy() for k, v in self.entries.values()}

    def hashed_keys(self, tx: Interpreter) -> dict[Any, Variable]:
        self.guard_keys(tx.output)
        return {name: key for name, (key, _) in self.entries.items()}

    # --- versions, for iterators ---

    def keys_version(self) -> Any:
        """It changes when keys are added, removed or moved."""
        assert self.entries is not None
        return self.key_changes

    def values_version(self) -> Any:
        """It changes when a key gets another value."""
        return self.value_changes

    def replay_stops_iterators(self, output: Output) -> bool:
        """Whether the replayed changes end the walk of an iterator over the real dict.

        New values of old keys do not end it.
        """
        stops = bool(self.keys_version())
        return stops and self.source is not None and output.side_effects.is_mutated(self)

    # --- guarded reading ---

    def guard_keys(self, output: Output) -> None:
        """Guard all keys and their order, because the following operation depends on them."""
        self.show_keys()
        self.guard_order(output)

    def guard_order(self, output: Output) -> None:
        """The same for an operation that depends on the order and the number of keys, and on no key."""
        if self.source is not None:
            granted().walked.add(self.source.text)
        if not self.keys_guarded:
            self.keys_guarded = True
            output.guarding.dict_keys(self.source, self.original)

    def show_keys(self) -> None:
        """The frame gets keys as numbers. What follows from one that is an address holds in this process."""
        if self.source is not None:
            granted().shown.add(self.source.text)

    def guard_key(self, output: Output, name: Any) -> None:
        """Guard whether the existing dict has the key. A change of the frame says it too, and so do all keys,
        if none of them can be an address, which is another number in the next process.
        """
        guarded = self.keys_guarded and not self._may_have_addresses
        if not guarded and name not in self.touched:
            output.guarding.dict_contains(self, name, self.original)

    @functools.cached_property
    def _may_have_addresses(self) -> bool:
        return self.original is not None and any(
            type(key) is int and key >= FIRST_ADDRESS for key, _ in dict_items(self.original)
        )

    def key_of(self, tx: Interpreter, key: Variable) -> Any:
        """The hash key of `key` in this dict.

        If the dict has keys whose `__eq__` only Python can call, any other key breaks the graph.
        """
        foreign = {k.variable: k for k in self.entries if isinstance(k, ForeignKey)}
        if not foreign:
            return hash_key(tx, key, self.entries)
        held = foreign.get(tx.output.objects.resolve(key))
        if held is None:
            raise GraphBreak("builtin", name="hash", value=key)
        return held

    def find(self, tx: Interpreter, key: Variable) -> Variable | None:
        return self.find_named(tx, self.key_of(tx, key))

    def find_named(self, tx: Interpreter, name: Any) -> Variable | None:
        entry = self.entries.get(name)
        self.guard_key(tx.output, name)
        if entry is None:
            return None
        value = realize(entry[1])
        self.entries[name] = (entry[0], value)
        return value

    def unpack(self, tx: Interpreter) -> list[Variable]:
        self.guard_order(tx.output)
        for name, (key, value) in list(self.entries.items()):
            self.entries[name] = (realize(key), value)
        return [self._as_value(tx, name, key) for name, (key, _) in self.entries.items()]

    def _as_value(self, tx: Interpreter, name: Any, key: Variable) -> Variable:
        """A key that the frame gets as a value: `id(x)`, where it is that of an object that the frame has
        looked up. While the frame only looks it up again, it may be another number in the next process.
        """
        if self.source is None or type(name) is not int or name < FIRST_ADDRESS:
            return key
        owner = looked_up(tx, name)
        if owner is None:
            self.show_keys()
            return key
        return IdentityVariable(tx, owner)

    def values(self, tx: Interpreter) -> list[Variable]:
        self.guard_order(tx.output)
        for name, (key, value) in list(self.entries.items()):
            self.entries[name] = (key, realize(value))
        return [v for _, v in self.entries.values()]

    def items(self, tx: Interpreter) -> list[tuple[Variable, Variable]]:
        return list(zip(self.unpack(tx), self.values(tx)))

    def truth(self, tx: Interpreter) -> bool:
        self.guard_order(tx.output)
        return bool(self.entries)

    def length(self, tx: Interpreter) -> int:
        self.guard_order(tx.output)
        return len(self.entries)

    def get_item(self, tx: Interpreter, key: Variable) -> Variable:
        value = self.find(tx, key)
        if value is not None:
            return value
        return self.missing(tx, key)

    def missing(self, tx: Interpreter, key: Variable) -> Variable:
        if self.factory is not None and not self.factory.is_exactly(None):
            value = self.factory.call(tx, [], {})
            self.set_item(tx, key, value)
            return value
        raise ObservedException(ExceptionVariable(KeyError, [key]))

    def set_item(self, tx: Interpreter, key: Variable, value: Variable) -> None:
        if self._may_store_blindly(tx, key):
            tx.output.side_effects.will_mutate(self)
            self.blind.append((tx, key, value))
        else:
            self.set_named(tx, self.key_of(tx, key), key, value)

    def _may_store_blindly(self, tx: Interpreter, key: Variable) -> bool:
        """Whether a store needs no look-up: the key is open, or another one was before it."""
        if any(isinstance(name, ForeignKey) for name in self._entries):
            return False
        if is_open(tx, key):
            return bool(self.blind) or not is_fixed(key)
        return bool(self.blind) and is_literal_key(key)

    def set_named(self, tx: Interpreter, name: Any, key: Variable, value: Variable) -> None:
        held = self.entries.get(name)
        self.guard_key(tx.output, name)
        tx.output.side_effects.will_mutate(self)
        self.touched.add(name)
        self.key_changes += held is None
        self.value_changes += held is not None
        self._entries[name] = (held[0] if held else key, value)

    def del_item(self, tx: Interpreter, key: Variable) -> Variable:
        name = self.key_of(tx, key)
        value = self.find_named(tx, name)
        if value is None:
            raise ObservedException(ExceptionVariable(KeyError, [key]))
        self.guard_keys(tx.output)
        tx.output.side_effects.will_mutate(self)
        self.key_changes += 1
        self.deleted.add(name)
        self.touched.add(name)
        del self.entries[name]
        return value

    def clear(self, tx: Interpreter) -> None:
        self.guard_keys(tx.output)
        tx.output.side_effects.will_mutate(self)
        self.key_changes += len(self.entries)
        self.entries.clear()

    def equals(self, tx: Interpreter, other: DictVariable) -> bool:
        self.guard_keys(tx.output)
        other.guard_keys(tx.output)
        if self.entries.keys() != other.entries.keys():
            return False
        ordered = issubclass(self.cls, collections.OrderedDict) and issubclass(
            other.cls, collections.OrderedDict
        )
        if ordered and list(self.entries) != list(other.entries):
            return False
        mine, theirs = self.values(tx), [other.find(tx, k) for k, _ in self.entries.values()]
        return all(equal_or_same(tx, a, b) for a, b in zip(mine, theirs) if b is not None)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name == "default_factory" and self.cls is collections.defaultdict:
            return self.factory or NONE
        held = self._own_attribute(tx, name) if self.cls is collections.OrderedDict else None
        if held is not None:
            return held
        return method_of_value(tx, self, name)

    def _own_attribute(self, tx: Interpreter, name: str) -> Variable | None:
        """An attribute of an OrderedDict, which can have attributes (a state dict has `_metadata`)."""
        if name in self.attributes or self.source is None or hasattr(collections.OrderedDict, name):
            return self.attributes.get(name)
        namespace = vars(self.original)
        if name in namespace:
            return tx.wrap(namespace[name], AttrSource(self.source, name))
        tx.output.guarding.no_attribute(self, name)
        return None

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        if self.cls is collections.defaultdict and name == "default_factory" and self.source is None:
            self.factory = value
        elif (
            self.cls is collections.OrderedDict
            and self.source is None
            and not hasattr(collections.OrderedDict, name)
        ):
            self.attributes[name] = value
        else:
            raise GraphBreak("set_attr", value=self, name=name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        method = DICT_METHODS.get(name)
        operated = call_operator(tx, self, name, args)
        if operated is not None:
            return operated
        if method is None or (name in ORDERED_ONLY and self.cls is not collections.OrderedDict):
            raise missing_method(self, name)
        return method(self, tx, *args, **kwargs)

    def iterate(self, tx: Interpreter) -> Variable:
        return EntriesIterator(self.unpack(tx), self, self, tx.output.root_step)

    def reversed(self, tx: Interpreter) -> Variable:
        return EntriesIterator(self.unpack(tx)[::-1], self, self, tx.output.root_step, reversed)

    def snapshot(self) -> dict[Any, Any]:
        return dict(self._entries)

    def stored_items(self, before: dict[Any, Any]) -> dict[str, Variable]:
        if self.source is None:
            return {}
        stored = [name for name in self.touched if name in before and name in self._entries]
        return {
            DictItemSource(self.source, name).text: self._entries[name][1]
            for name in stored
            if self._entries[name][0].is_constant()
        }

    def replay_change(self, code: PythonCode, before: dict[Any, Any]) -> None:
        entries = self._entries
        # an iterator notices a deletion even if the key was added again
        for name in [n for n in before if n in self.deleted]:
            self._replay_call(code, "__delitem__", [before[name][0]])
        before = {name: entry for name, entry in before.items() if name not in self.deleted}
        if list(entries)[: len(before)] != list(before):
            self._replay_call(code, "clear", [])
            before = {}
        for name, (key, value) in entries.items():
            old = before.get(name)
            if old is None or (old[1] is not value and not is_realized_from(old[1], value)):
                self._replay_store(code, key, value)
        for _, key, value in self.blind:
            self._replay_store(code, key, value)

    def _replay_store(self, code: PythonCode, key: Variable, value: Variable) -> None:
        if self.held_by_subclass:
            self._replay_call(code, "__setitem__", [key, value])
            return
        code.load(value)
        code.load(self)
        code.load(key)
        code.store_item()

    def _replay_call(self, code: PythonCode, method: str, args: list[Variable]) -> None:
        """Call a method of the built-in class: the interpreter has inlined those of a subclass."""
        base = collections.OrderedDict if issubclass(self.cls, collections.OrderedDict) else dict
        code.call_object(getattr(base, method), [self, *args])
        code.pop()

    def reconstruct(self, code: PythonCode) -> None:
        if self.cls is collections.defaultdict:
            code.call_object(collections.defaultdict, [self.factory or NONE])
        elif self.cls is not dict:
            code.call_object(self.cls, [])
        else:
            code.build_dict()
        for key, value in self._stored_pairs():
            code.copy()  # dict, dict
            code.load_swapped(value)  # dict, value, dict
            code.load(key)
            code.store_item()
        for name, value in self.attributes.items():
            code.copy()
            code.load_swapped(value)
            code.store_attribute(name)

    def add_to_recipe(self, recipe: Recipe) -> bool:
        entries = self._stored_pairs()
        if self.cls is not dict or self.blind or not all(key.is_constant() for key, _ in entries):
            return False
        keys = tuple(key.as_constant() for key, _ in entries)
        return recipe.container(self, [item for _, item in entries], "dict", keys)

    def children(self) -> list[Variable]:
        return [*(v for entry in self.entries.values() for v in entry), *self.attributes.values()]

    def known_children(self) -> list[Variable]:
        return [part for pair in self._stored_pairs() for part in pair] if self.blind else self.children()

    def _stored_pairs(self) -> list[tuple[Variable, Variable]]:
        """The entries, and behind them the stores that wait."""
        waiting = [(key, value) for _, key, value in self.blind]
        return [*(self._entries if waiting else self.entries).values(), *waiting]


# --- dict methods: functions (dict, tx, *args, **kwargs) --------------------------------------------------


def _get(self: DictVariable, tx: Interpreter, key: Variable, default: Variable = NONE) -> Variable:
    value = self.find(tx, key)
    return value if value is not None else default


def _dict_contains(self: DictVariable, tx: Interpreter, key: Variable) -> Variable:
    return ConstantVariable(self.find(tx, key) is not None)


def _dict_set(self: DictVariable, tx: Interpreter, key: Variable, value: Variable) -> Variable:
    self.set_item(tx, key, value)
    return NONE


def _dict_delete(self: DictVariable, tx: Interpreter, key: Variable) -> Variable:
    self.del_item(tx, key)
    return NONE


def _dict_pop(
    self: DictVariable, tx: Interpreter, key: Variable, default: Variable | None = None
) -> Variable:
    if default is not None and self.find(tx, key) is None:
        return default
    return self.del_item(tx, key)


def _pop_item(self: DictVariable, tx: Interpreter, last: Variable = ConstantVariable(True)) -> Variable:
    pairs = self.items(tx)
    if not pairs:
        method = "" if self.cls is collections.OrderedDict else "popitem(): "
        raise raise_new(KeyError, f"{method}dictionary is empty")
    key, value = pairs[-1 if last.truth(tx) else 0]
    self.del_item(tx, key)
    return TupleVariable([key, value])


def _set_default(self: DictVariable, tx: Interpreter, key: Variable, default: Variable = NONE) -> Variable:
    name = self.key_of(tx, key)  # calls `__hash__` only once
    value = self.find_named(tx, name)
    if value is None:
        self.set_named(tx, name, key, default)
        return default
    return value


def _update(
    self: DictVariable, tx: Interpreter, other: Variable | None = None, /, **kwargs: Variable
) -> Variable:
    for key, value in pairs_of(tx, other, self.cls) if other is not None else []:
        self.set_item(tx, key, value)
    for name, value in kwargs.items():
        self.set_item(tx, ConstantVariable(name), value)
    return NONE


def pairs_of(tx: Interpreter, value: Variable, into: type = dict) -> list[tuple[Variable, Variable]]:
    """The pairs of the argument of `dict(value)`: the items of a mapping, or the pairs of an iterable.

    `into` is the class of the new dict.
    """
    value = value.mapping if isinstance(value, MappingProxyVariable) else value
    base = getattr(value, "base_value", None)
    if isinstance(base, DictVariable) and lookup_type(value.python_type(), "__iter__") is dict.__iter__:
        value = value if issubclass(into, collections.OrderedDict) else base  # without its own methods
    if isinstance(value, DictVariable):
        return value.items(tx)
    if hasattr(value, "has_class_attribute") and value.has_class_attribute("keys"):
        keys = value.call_method(tx, "keys", [], {}).iterate(tx).unpack(tx)
        return [(k, value.call_method(tx, "__getitem__", [k], {})) for k in keys]
    result = []
    for index, pair in enumerate(value.iterate(tx).unpack(tx)):
        if pair.is_constant() and not hasattr(pair.python_type(), "__iter__"):
            raise raise_new(
                TypeError, f"cannot convert dictionary update sequence element #{index} to a sequence"
            )
        items = pair.iterate(tx).unpack(tx)
        if len(items) != 2:
            raise raise_new(
                ValueError,
                f"dictionary update sequence element #{index} has length {len(items)}; 2 is required",
            )
        result.append((items[0], items[1]))
    return result


def _dict_clear(self: DictVariable, tx: Interpreter) -> Variable:
    self.clear(tx)
    return NONE


def _dict_copy(self: DictVariable, tx: Interpreter) -> Variable:
    self.guard_keys(tx.output)
    return DictVariable(dict(self.entries), cls=self.cls, factory=self.factory)


def _move_to_end(
    self: DictVariable, tx: Interpreter, key: Variable, last: Variable = ConstantVariable(True)
) -> Variable:
    name = self.key_of(tx, key)
    self.guard_keys(tx.output)
    value = self.del_item(tx, key)
    if last.truth(tx):
        self.entries[name] = (key, value)
    else:
        self.entries = {name: (key, value), **self.entries}
    return NONE


def _view(kind: str) -> Callable[[DictVariable, Interpreter], Variable]:
    def method(self: DictVariable, tx: Interpreter) -> Variable:
        return DictViewVariable(self, kind)

    return method


def _dict_get_item(self: DictVariable, tx: Interpreter, key: Variable) -> Variable:
    return self.get_item(tx, key)


ORDERED_ONLY = frozenset({"move_to_end"})
DICT_METHODS: dict[str, Callable[..., Variable]] = {
    "get": _get,
    "__contains__": _dict_contains,
    "__getitem__": _dict_get_item,
    "__setitem__": _dict_set,
    "__delitem__": _dict_delete,
    "pop": _dict_pop,
    "popitem": _pop_item,
    "setdefault": _set_default,
    "update": _update,
    "clear": _dict_clear,
    "copy": _dict_copy,
    "keys": _view("keys"),
    "values": _view("values"),
    "items": _view("items"),
    "move_to_end": _move_to_end,
    "__len__": length_of,
    "__iter__": iterator_of,
}


@makes_constant(dict)
def _constant_dict(value: dict[Any, Any]) -> DictVariable:
    return DictVariable({key: (constant(key), constant(item)) for key, item in value.items()})
