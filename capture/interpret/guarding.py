"""The guards on the facts that the interpreter relies on. Each kind of fact has a method.

In:  variables with their sources, and the values that were found there.
Out: guards in `guards`. A constant source has no guard, because its value can't change.

    hasattr(obj, "a") is False    ->    NoAttributeGuard(obj, "a")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad

from capture.process import function_modes, process_flags
from capture.variables.core.class_lookup import MISSING, lookup_type
from guards import conditions
from guards.guard import Guard
from guards.kinds.attributes import ClassLacksGuard, NoAttributeGuard
from guards.kinds.constants import ConstantGuard
from guards.kinds.containers import DictContainsGuard, DictKeysGuard, LengthGuard
from guards.kinds.identity import DistinctObjectsGuard, IdentityGuard, SameObjectGuard
from guards.kinds.sizes import ShapeGuard
from guards.kinds.state import GlobalStateGuard
from guards.sources import (
    HEAP_TYPE,
    AttrSource,
    ConstantSource,
    DictSource,
    ModuleAttrSource,
    MroItemSource,
    ShapeSource,
    Source,
    StateSource,
    TypeAttrSource,
    TypeSource,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from collections.abc import Set as AbstractSet

    from capture.interpret.output_graph import OutputGraph
    from capture.variables.core.base import Variable


#: so many pairs of objects have guards of their own; one guard covers all the objects if there are more
MOST_PAIRS = 64


def _no_forward_mode() -> Guard:
    """No level of forward-mode differentiation is open. No other guard sees the tangent of a tensor."""
    level = ModuleAttrSource(ConstantSource(forward_ad), "_current_level")
    return ConstantGuard.of(level, forward_ad._current_level)


def guards_of_state() -> list[Guard]:
    """The guards that every capture needs."""
    return [GlobalStateGuard.of(len(function_modes.at_entry())), _no_forward_mode()]


class Guarding:
    """The part of an `OutputGraph` that makes guards."""

    def __init__(self, output: OutputGraph) -> None:
        self.output = output
        self.guards = output.guards
        #: collections whose keys of a class are in `_hashed`, with their sizes
        self._compared: dict[tuple[int, type], tuple[Collection[Any], int]] = {}
        self._hashed: dict[type, dict[Source, None]] = {}  # the places of objects that are keys, by class
        self._class_entries: dict[tuple[int, str], type] = {}  # those with a guard; keeps the classes alive
        self._of_changes: set[Guard] = set()
        self._hooks: dict[tuple[str, int, int], Guard] = {}  # by name, dict and length; keeps the dict alive

    def forget(self) -> None:
        self._class_entries.clear()
        self._hashed.clear()
        self._compared.clear()

    def of_change(self, guard: Guard) -> None:
        """A guard that nothing but the replay of a change needs: what the frame's code does is the same."""
        if guard not in self.guards:
            self._of_changes.add(guard)
            self.guards.add(guard)

    def without_changes(self) -> None:
        """Python makes the changes of the frame itself."""
        self.guards.drop(self._of_changes)

    def any_grad_mode(self) -> None:
        """The frame does the same in each grad mode."""
        for guard in [guard for guard in self.guards if isinstance(guard, GlobalStateGuard)]:
            self.guards.replace(guard, guard.in_any_grad_mode())

    def key_object(self, variable: Variable, among: Collection[Any]) -> None:
        """The object is compared with the keys of a dict or set: it is none of the others there."""
        kind, place = variable.python_type(), variable.found_at
        if place is None or isinstance(place, ConstantSource):
            return
        self._hashed.setdefault(kind, {})[place] = None
        known, size = self._compared.get((id(among), kind), (None, 0))
        if known is among and size == len(among):
            return
        from capture.variables.operations.equality import objects_named  # lazy: import time

        others = (named for key in among for named in objects_named(key))
        for other in (other for other in others if other.python_type() is kind):
            if isinstance(other.found_at, ConstantSource):
                self.identity(variable, self.output.objects.object_of(variable))
                return
            if other.found_at is not None:
                self._hashed[kind][other.found_at] = None
        self._compared[id(among), kind] = among, len(among)

    def hashed_objects(self) -> None:
        fixed = {guard.source for guard in self.guards if isinstance(guard, IdentityGuard)}
        for places in self._hashed.values():
            if len(places) > 1 and not fixed.issuperset(places):
                self.guards.add(DistinctObjectsGuard.of(list(places)))

    def same_object(self, first: Source, second: Source) -> None:
        if isinstance(first, ConstantSource):
            if not isinstance(second, ConstantSource):
                self.guards.add(IdentityGuard.of(second, first.value))
        elif isinstance(second, ConstantSource):
            self.guards.add(IdentityGuard.of(first, second.value))
        else:
            self.guards.add(SameObjectGuard.of(first, second))

    def same_constant(self, first: Variable, second: Variable, same: bool) -> None:
        """Whether two equal constants are one object. The guards on their values do not say that."""
        places = [v.found_at or ConstantSource(v.as_constant()) for v in (first, second)]
        if all(isinstance(place, ConstantSource) for place in places):
            return
        if same:
            self.same_object(*places)
        else:
            self.guards.add(DistinctObjectsGuard.of(places))

    def distinct(self, first: Variable, second: Variable) -> None:
        """The places of two variables hold two objects. A constant has a guard on its value, and a new object
        differs from all others, so neither needs this guard.
        """
        sources = [v.source for v in (first, second)]
        if not any(s is None or isinstance(s, ConstantSource) for s in sources):
            self.guards.add(DistinctObjectsGuard.of(sources))  # type: ignore[arg-type]

    def changed_objects(self, known: Iterable[tuple[Any, Variable]], changed: AbstractSet[Source]) -> None:
        """An object that the frame changes is not one of the other objects that it read. The guards compare
        objects of one class. Nor do two objects come to share their `__dict__`.
        """
        if not changed:
            return
        places: dict[type, list[Source]] = {}
        namespaces: list[Source] = []
        for value, variable in known:
            source = variable.source
            if source is None:
                continue
            places.setdefault(type(value), []).append(source)
            if isinstance(source, DictSource) or (type(value) is dict and not self._is_registry(source)):
                namespaces.append(source)
        for sources in places.values():
            self._apart(sources, changed)
        self._apart(namespaces, {DictSource(source) for source in changed})

    def _apart(self, sources: list[Source], changed: AbstractSet[Source]) -> None:
        """Each of these places that is changed holds another object than all the others."""
        written = [source for source in sources if source in changed]
        if len(written) * len(sources) > MOST_PAIRS:
            self.guards.add(DistinctObjectsGuard.of(sources))
            return
        for index, source in enumerate(written):
            for other in sources:
                constant = isinstance(source, ConstantSource) and isinstance(other, ConstantSource)
                if other is not source and other not in written[:index] and not constant:
                    self.guards.add(DistinctObjectsGuard.of([source, other]))

    def _is_registry(self, source: Source) -> bool:
        """Whether it is a dict that torch keeps in a module, such as that of the parameters."""
        return isinstance(source, AttrSource) and self.output.objects.is_of_module(source)

    def identity(self, variable: Variable, value: Any) -> None:
        if variable.source is not None and not isinstance(variable.source, ConstantSource):
            self.guards.add(IdentityGuard.of(variable.source, value))

    def storage_offset(self, source: Source, tensor: torch.Tensor) -> None:
        if not isinstance(source, ConstantSource):
            offset = conditions.load(ShapeSource(source, "storage_offset"))
            present = conditions.constant(tensor.storage_offset())  # type: ignore[arg-type]
            self.guards.add(ShapeGuard.of(conditions.apply("eq", offset, present)))

    def dict_keys(self, source: Source | None, mapping: Any) -> None:
        if source is not None:
            self.guards.add(DictKeysGuard.of(source, mapping))

    def dict_contains(self, variable: Any, key: Any, mapping: Any) -> None:
        from capture.variables.operations.equality import equals_others, names_objects  # lazy: import time

        if names_objects(key) or equals_others(key):
            variable.keys_guarded = True
            self.dict_keys(variable.source, mapping)
        elif variable.source is not None:
            try:
                present = dict.__contains__(mapping, key)  # not by a method of the program
                self.guards.add(DictContainsGuard.of(variable.source, key, present))
            except TypeError:
                variable.keys_guarded = True
                self.dict_keys(variable.source, mapping)

    def no_attribute(self, variable: Variable, name: str) -> None:
        if variable.source is not None and not isinstance(variable.source, ConstantSource):
            self.guards.add(NoAttributeGuard.of(variable.source, name))

    def class_entry(self, owner: Variable, cls: type, name: str) -> None:
        """Guard the entry `name` of a class and its bases, or its absence.

        The class belongs to `owner`, or is `owner` itself. One guard for each class is enough, because each
        object has a guard on its class. Classes written in C don't change.
        """
        if (id(cls), name) in self._class_entries or not cls.__flags__ & HEAP_TYPE:
            return
        source = self.class_source(owner)
        if source is None:
            return
        self._class_entries[id(cls), name] = cls
        found = lookup_type(cls, name)
        if found is MISSING:
            self.guards.add(ClassLacksGuard.of(source, name))
        else:
            self.guards.add(IdentityGuard.of(TypeAttrSource(source, name), found))

    def bases(self, owner: Variable, cls: type) -> None:
        """Guard the bases of a class: the class of `owner`, or `owner` itself."""
        if (id(cls), "__mro__") in self._class_entries or not cls.__flags__ & HEAP_TYPE:
            return
        source = self.class_source(owner)
        if source is None:
            return
        if source is owner.source and cls is owner.python_type():
            source = TypeSource(source)  # `owner` is a class, and `cls` is its metaclass
        self._class_entries[id(cls), "__mro__"] = cls
        bases = cls.__mro__[1:]
        if len(bases) > 1:  # a class whose only base is `object` can't get other bases
            for index, base in enumerate(bases, 1):
                self.guards.add(IdentityGuard.of(MroItemSource(source, index), base))

    def global_hooks(self, name: str, hooks: dict[Any, Any]) -> None:
        """Guard the number of hooks of all modules. Each call of a module asks for it."""
        key = name, id(hooks), len(hooks)
        guard = self._hooks.get(key)
        if guard is None:
            guard = self._hooks[key] = LengthGuard.of(ConstantSource(hooks, name), hooks)
        self.guards.add(guard)

    def state(self, reader: Any, args: tuple[Any, ...] = ()) -> None:
        """Guard the result of a built-in function that reads the state of the process. The guard compares it
        with the state at the frame's entry.
        """
        changed = self.output.modes.at_entry
        at_entry: dict[Any, Any] = {
            torch.get_autocast_dtype: changed["autocast_dtype"]["cpu"],
            torch.is_autocast_cache_enabled: changed["autocast_cache"],
            **process_flags.read_from(changed["flags"]),
        }
        value = at_entry[reader] if reader in at_entry else reader(*args)
        self.guards.add(ConstantGuard.of(StateSource(reader, args), value))

    def class_source(self, variable: Variable) -> Source | None:
        """The source of the class of an object. The source of a class is its own source."""
        if variable.as_class() is not None:
            return variable.source
        if variable.source is not None:
            return TypeSource(variable.source)
        return self.output.side_effects.class_source(variable)
