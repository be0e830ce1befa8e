"""The side effects of a frame: its changes of existing objects and of globals, and the hooks it registers.

In:  `will_mutate(variable)` before an object changes; `store_attr` and `store_global` for stores.
Out: bytecode that gives the real objects the state of their variables, in the order of their first changes.
     Iterators over dicts come first, deferred calls (`deferred_calls.py`) last.

The code builds all new values before it makes the first change, so it reads no half-changed object.

    xs.append(1); self.n = 2    ->    xs[2:] = [1]; self.n = 2, after the graph
"""

from __future__ import annotations

import contextlib
import types
from typing import TYPE_CHECKING, Any

import torch

from capture.interpret.deferred_calls import DeferredCalls
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Deleted, LazyVariable, Variable, realize
from capture.variables.core.class_lookup import lookup_type
from capture.variables.core.constant import is_literal
from capture.variables.core.ends import check_end
from capture.variables.core.replay import store_attributes
from capture.variables.core.watch import Watch
from guards.lookup import Undecided, Unresolved, instance_dict, isinstance_raw, raw_attribute
from guards.sources import AttrSource, GlobalSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from capture.interpret.existing_objects import ExistingObjects
    from capture.output.python_code import PythonCode
    from guards.sources import Source


def _held_before(owner: Any, name: str) -> Any:
    """The value of an attribute before the frame sets it. The owner itself if the value is not known."""
    try:
        return raw_attribute(owner, name)
    except Undecided:
        return owner
    except Unresolved:
        return None


class SideEffects:
    def __init__(self, objects: ExistingObjects, defers_calls: bool = True) -> None:
        self._objects = objects
        self._mutated: dict[int, Variable] = {}  # existing objects, in the order of their first changes
        self._before: dict[int, Any] = {}  # snapshots of these objects before the change
        self._watches: list[Watch] = []
        self._set_anew: set[tuple[int, str]] = set()
        self._registrations: list[Variable] = []  # handles of hooks, always made after the graph
        self.hooks_unknown_since: int | None = None  # the step at which a handle removed a hook
        self._late = 0  # the number of tensors that are read behind the graph
        self.deferred = DeferredCalls(defers_calls)
        self._globals: dict[tuple[int, str], tuple[dict[str, Any], Variable]] = {}
        self._class_sources: dict[int, tuple[Variable, Source | None]] = {}
        #: stored attributes of the variables that have no `attributes` themselves
        self._attributes: dict[int, dict[str, Variable]] = {}

    def __bool__(self) -> bool:
        return bool(self._mutated or self._globals or self._registrations or self.deferred)

    def change_count(self) -> int:
        """The number of objects and globals changed so far, of hooks registered, and of what runs late."""
        changes = len(self._mutated) + len(self._globals) + len(self._registrations)
        return changes + self._late + len(self.deferred)

    # --- recording ---

    def will_mutate(self, variable: Variable) -> None:
        key = id(variable)
        for watch in self._watches:
            if key in watch.variables:
                watch.note()
        if variable.source is None or key in self._mutated:
            return
        self.deferred.check_unread(lambda: self._objects.object_of(variable))
        for child in variable.known_children():
            if child.source is not None:
                check_end(getattr(child, "value", None))
        self._mutated[key] = variable
        self._before[key] = variable.snapshot()

    @contextlib.contextmanager
    def watching(self, root: Variable) -> Iterator[Watch]:
        """Note the changes of all objects that are reachable from `root` now, new or existing."""
        watch = Watch(root)
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    def keep(self, watch: Watch) -> None:
        """Go on with the watch until the end of the translation."""
        self._watches.append(watch)

    def note_late_read(self) -> None:
        """A tensor is read behind the graph. The body of a transform can't do that."""
        self._late += 1

    def register(self, handle: Variable) -> None:
        self._registrations.append(handle)

    def has_registered(self, kind: type) -> bool:
        return any(isinstance(known, kind) for known in self._registrations)

    def check_hooks_known(self) -> None:
        """Call this before a read of a module's hooks. Breaks the graph if a handle removed a hook."""
        if self.hooks_unknown_since is not None:
            signal = GraphBreak("mutation", value="hooks (by a handle)")
            signal.born = self.hooks_unknown_since
            raise signal

    def forget_registration(self, handle: Variable) -> None:
        self._registrations = [known for known in self._registrations if known is not handle]

    def is_mutated(self, variable: Variable) -> bool:
        return id(variable) in self._mutated

    def has_changed(self, value: Any) -> bool:
        """Whether the frame has changed this existing object, or module with this namespace."""
        known = self._objects.known(value)
        return self.writes_globals(value) or (known is not None and self.is_mutated(known))

    def store_attr(self, owner: Variable, name: str, value: Variable) -> None:
        """`owner.name = value` without running user code."""
        if owner.source is not None and getattr(owner, "value", None) is not None:
            check_end(_held_before(owner.value, name))  # type: ignore[attr-defined]
        self.will_mutate(owner)
        stores = self._attributes_of(owner)
        if isinstance(stores.get(name), Deleted):
            self._set_anew.add((id(owner), name))  # now it is the last attribute of the object
            del stores[name]
        stores[name] = value

    def is_set_anew(self, owner: Variable, name: str) -> bool:
        """Whether the frame deleted the attribute of an existing object and then set it."""
        return (id(owner), name) in self._set_anew

    def delete_attr(self, owner: Variable, name: str) -> None:
        """`del owner.name` without running user code. An attribute that only the frame set just goes."""
        value = getattr(owner, "value", None)
        if value is not None and held_by_itself(value, name):
            self.store_attr(owner, name, Deleted())
        else:
            self._attributes_of(owner).pop(name, None)

    def _attributes_of(self, owner: Variable) -> dict[str, Variable]:
        own = getattr(owner, "attributes", None)
        if own is not None:
            return own
        return self._attributes.setdefault(id(owner), {})

    def pending_attr(self, owner: Variable, name: str) -> Variable | None:
        return self._attributes.get(id(owner), {}).get(name)

    def store_global(self, namespace: dict[str, Any], name: str, value: Variable) -> None:
        self.deferred.check_unread(lambda: namespace)
        check_end(namespace.get(name))
        self._globals[id(namespace), name] = (namespace, value)

    def delete_global(self, namespace: dict[str, Any], name: str, held: bool) -> None:
        """`held`: the global existed before the frame."""
        self.deferred.check_unread(lambda: namespace)
        if held:
            check_end(namespace.get(name))
            self._globals[id(namespace), name] = (namespace, Deleted())
        else:
            del self._globals[id(namespace), name]

    def writes_globals(self, namespace: dict[str, Any]) -> bool:
        """Whether the frame changes the namespace of a module, and does not put back what was there."""
        written = [(name, value) for (key, name), (_, value) in self._globals.items() if key == id(namespace)]
        return not all(name in namespace and self._is(value, namespace[name]) for name, value in written)

    def _is(self, variable: Variable, value: Any) -> bool:
        if isinstance(variable, LazyVariable):
            return variable.value is value
        return self._objects.known(value) is variable

    def pending_global(self, namespace: dict[str, Any], name: str) -> Variable | None:
        held = self._globals.get((id(namespace), name))
        return realize(held[1]) if held is not None else None

    def changed_sources(self) -> set[Source]:
        """The sources of the existing objects that the frame changes."""
        return {variable.source for variable in self._mutated.values() if variable.source is not None}

    def stores(self) -> dict[str, Variable]:
        """What the frame puts into attributes, items and globals, by the texts of their sources."""
        attributes = {
            AttrSource(owner.source, name).text: value
            for owner in self._mutated.values()
            if owner.source is not None
            for name, value in self._attributes_of(owner).items()
        }
        items = {
            place: value
            for key, owner in self._mutated.items()
            for place, value in owner.stored_items(self._before[key]).items()
        }
        return (
            attributes
            | items
            | {GlobalSource(name).text: value for (_, name), (_, value) in self._globals.items()}
        )

    def may_release(self, target: Any) -> bool:
        """Whether a write of the frame may release the object, or one that may hold it (no tensor)."""
        held: list[Any] = [namespace.get(name) for (_, name), (namespace, _) in self._globals.items()]
        for owner in self._mutated.values():
            value, names = getattr(owner, "value", None), self._attributes_of(owner)
            if value is None or not names:
                return True
            held += [_held_before(value, name) for name in names]
        return not all(
            value is not target and (isinstance_raw(value, torch.Tensor) or is_literal(value))
            for value in held
        )

    def remember_class_source(self, variable: Variable, source: Source | None) -> None:
        self._class_sources[id(variable)] = (variable, source)

    def class_source(self, variable: Variable) -> Source | None:
        held = self._class_sources.get(id(variable))
        return held[1] if held is not None else None

    # --- replaying ---

    def replay(self, code: PythonCode) -> None:
        mutated = sorted(self._mutated.values(), key=lambda v: not getattr(v, "moves_first", False))
        for variable in mutated:
            for child in [*variable.known_children(), *self._attributes.get(id(variable), {}).values()]:
                code.build(child)
        for _, value in self._globals.values():
            code.build(value)
        for handle in self._registrations:
            code.build(handle)
        self.deferred.build(code)
        for variable in mutated:
            self._apply(code, variable)
        code.lists_are_changed()
        for (_, name), (namespace, value) in self._globals.items():
            value.replay_global(code, namespace, name)

    def _apply(self, code: PythonCode, variable: Variable) -> None:
        variable.replay_change(code, self._before[id(variable)])
        stores = self._attributes.get(id(variable))
        if stores:
            store_attributes(code, variable, stores)

    def fill_new_object(self, code: PythonCode, variable: Any) -> None:
        """A new object without attributes is on the stack. Give it its attributes; it stays there."""
        for name, value in variable.attributes.items():
            if isinstance(value, Deleted):
                continue
            code.copy()
            code.load_callable_below(object.__setattr__)
            code.load_constant(name)
            code.load(value)
            code.call(3)
            code.pop()


def held_by_itself(value: Any, name: str) -> bool:
    """Whether the object itself has the attribute, in its dict or in a slot."""
    slot = lookup_type(type(value), name)
    if isinstance(slot, types.MemberDescriptorType):
        try:
            slot.__get__(value)
        except AttributeError:
            return False
        return True
    return name in (instance_dict(value) or {})
