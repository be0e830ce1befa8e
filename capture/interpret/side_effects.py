"""Changes that the frame makes to objects that existed before it, and to objects it makes itself.

In:  `will_mutate(variable)` before a container changes, `store_attr`, `store_global` for stores.
Out: bytecode that brings the real objects to the state that the variables have, in the order of the first
     change of each (iterators over dicts ahead of them).

All new values are built before the first change is made, so that nothing is read half-changed.
"""

from __future__ import annotations

import contextlib
import types
from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Deleted, Variable
from capture.variables.core.class_lookup import lookup_type
from capture.variables.core.constant import is_literal
from capture.variables.core.replay import store_attributes
from capture.variables.core.watch import Watch
from guards.lookup import Undecided, Unresolved, instance_dict, isinstance_raw, raw_attribute
from guards.sources import AttrSource, GlobalSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from capture.output.python_code import PythonCode
    from guards.sources import Source


def _held_before(owner: Any, name: str) -> Any:
    """What the place holds in which the frame will put an attribute; the owner itself where that can't be
    told.
    """
    try:
        return raw_attribute(owner, name)
    except Undecided:
        return owner
    except Unresolved:
        return None


class SideEffects:
    def __init__(self) -> None:
        self._mutated: dict[int, Variable] = {}  # existing objects, in order of first change
        self._before: dict[int, Any] = {}  # what containers held before
        self._watches: list[Watch] = []
        self._set_anew: set[tuple[int, str]] = set()
        self._registrations: list[Variable] = []  # handles that are made behind the graph in any case
        self.hooks_unknown_since: int | None = None  # step of the frame at which a handle removed some hook
        self._globals: dict[tuple[int, str], tuple[dict[str, Any], Variable]] = {}
        self._class_sources: dict[int, tuple[Variable, Source | None]] = {}
        self._attributes: dict[
            int, dict[str, Variable]
        ] = {}  # of variables without an `attributes` of their own

    def __bool__(self) -> bool:
        return bool(self._mutated or self._globals or self._registrations)

    def change_count(self) -> int:
        """Objects and globals changed so far, and hooks registered."""
        return len(self._mutated) + len(self._globals) + len(self._registrations)

    # --- recording ---

    def will_mutate(self, variable: Variable) -> None:
        key = id(variable)
        for watch in self._watches:
            if key in watch.variables:
                watch.note()
        if variable.source is None or key in self._mutated:
            return
        self._mutated[key] = variable
        self._before[key] = variable.snapshot()

    @contextlib.contextmanager
    def watching(self, root: Variable) -> Iterator[Watch]:
        """Notes whether something that is reachable from `root` by now, made by the frame or not, is changed."""
        watch = Watch(root)
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    def keep(self, watch: Watch) -> None:
        """To be told until the end of the translation."""
        self._watches.append(watch)

    def register(self, handle: Variable) -> None:
        self._registrations.append(handle)

    def check_hooks_known(self) -> None:
        """Hooks of modules are about to be looked at."""
        if self.hooks_unknown_since is not None:
            signal = GraphBreak("mutation", value="hooks, by a handle")
            signal.born = self.hooks_unknown_since
            raise signal

    def forget_registration(self, handle: Variable) -> None:
        self._registrations = [known for known in self._registrations if known is not handle]

    def is_mutated(self, variable: Variable) -> bool:
        return id(variable) in self._mutated

    def store_attr(self, owner: Variable, name: str, value: Variable) -> None:
        """`owner.name = value` without running user code."""
        self.will_mutate(owner)
        stores = self._attributes_of(owner)
        if isinstance(stores.get(name), Deleted):
            self._set_anew.add((id(owner), name))  # it is the last of the object's attributes now
            del stores[name]
        stores[name] = value

    def is_set_anew(self, owner: Variable, name: str) -> bool:
        """Whether the attribute of an existing object was deleted and then set."""
        return (id(owner), name) in self._set_anew

    def delete_attr(self, owner: Variable, name: str) -> None:
        """`del owner.name` without running user code. What only the frame put there is as if it had never
        been.
        """
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
        self._globals[id(namespace), name] = (namespace, value)

    def delete_global(self, namespace: dict[str, Any], name: str, held: bool) -> None:
        """`held`: there was one before the frame."""
        if held:
            self._globals[id(namespace), name] = (namespace, Deleted())
        else:
            del self._globals[id(namespace), name]

    def writes_globals(self, namespace: dict[str, Any]) -> bool:
        return any(number == id(namespace) for number, _ in self._globals)

    def pending_global(self, namespace: dict[str, Any], name: str) -> Variable | None:
        held = self._globals.get((id(namespace), name))
        return held[1] if held is not None else None

    def changed_sources(self) -> set[Source]:
        """Where the existing objects that the frame changes were found."""
        return {variable.source for variable in self._mutated.values() if variable.source is not None}

    def written_places(self) -> set[str]:
        """Attributes and globals that were there before the frame and are set in it, as their sources read."""
        attributes = {
            AttrSource(owner.source, name).text
            for owner in self._mutated.values()
            if owner.source is not None
            for name in self._attributes_of(owner)
        }
        return attributes | {GlobalSource(name).text for _, name in self._globals}

    def may_let_go(self) -> bool:
        """Whether a place that the frame writes to held an object that may hold others (no number, text or
        tensor).
        """
        held: list[Any] = [namespace.get(name) for (_, name), (namespace, _) in self._globals.items()]
        for owner in self._mutated.values():
            value, names = getattr(owner, "value", None), self._attributes_of(owner)
            if value is None or not names:
                return True
            held += [_held_before(value, name) for name in names]
        return not all(isinstance_raw(value, torch.Tensor) or is_literal(value) for value in held)

    def remember_class_source(self, variable: Variable, source: Source | None) -> None:
        self._class_sources[id(variable)] = (variable, source)

    def class_source(self, variable: Variable) -> Source | None:
        held = self._class_sources.get(id(variable))
        return held[1] if held is not None else None

    # --- replaying ---

    def replay(self, code: PythonCode) -> None:
        mutated = sorted(self._mutated.values(), key=lambda v: not getattr(v, "moves_first", False))
        for variable in mutated:
            for child in [*variable.children(), *self._attributes.get(id(variable), {}).values()]:
                code.build(child)
        for _, value in self._globals.values():
            code.build(value)
        for handle in self._registrations:
            code.build(handle)
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
        """With a new bare object on the stack: give it its attributes (it stays there)."""
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
    """Whether the object has the name in its dict or in a slot."""
    slot = lookup_type(type(value), name)
    if isinstance(slot, types.MemberDescriptorType):
        try:
            slot.__get__(value)
        except AttributeError:
            return False
        return True
    return name in (instance_dict(value) or {})
