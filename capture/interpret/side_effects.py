"""Changes that the frame makes to objects that existed before it, and to objects it makes itself.

In:  `will_mutate(variable)` before a container changes, `store_attr`, `store_global` for stores.
Out: bytecode that brings the real objects to the state that the variables have, in the order of the first
     change of each (iterators over dicts ahead of them).

All new values are built before the first change is made, so that nothing is read half-changed.
"""

from __future__ import annotations

import collections
import contextlib
import types
from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.function import CellVariable
from capture.variables.containers.lists import DequeVariable, ListVariable
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.ranges import SliceVariable
from capture.variables.containers.sets import SetVariable
from capture.variables.core.base import Deleted, Variable
from capture.variables.core.class_lookup import lookup_type, plain_setattr
from capture.variables.core.constant import ConstantVariable, is_literal
from capture.variables.core.watch import Watch
from capture.variables.iterators.iterator import IteratorVariable
from capture.variables.numbers.random_object import RandomVariable
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.tensors.tensor import TensorVariable
from guards.lookup import Undecided, Unresolved, instance_dict, isinstance_raw, raw_attribute
from guards.sources import AttrSource, GlobalSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        return self.count()

    def count(self) -> int:
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
        for kind, snapshot in SNAPSHOTS:
            if isinstance(variable, kind):
                self._before[key] = snapshot(variable)

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
        if isinstance(stores.get(name), Deleted) and not isinstance(value, Deleted):
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

    def roots(self) -> list[Variable]:
        """Variables that the replay needs."""
        values = [v for _, v in self._globals.values() if not isinstance(v, Deleted)]
        for variable in self._mutated.values():
            values.extend([variable, *variable.children(), *self._attributes.get(id(variable), {}).values()])
        return values + self._registrations

    # --- replaying ---

    def replay(self, code: PythonCode) -> None:
        mutated = sorted(self._mutated.values(), key=lambda v: not getattr(v, "moves_first", False))
        for variable in mutated:
            for child in [*variable.children(), *self._attributes.get(id(variable), {}).values()]:
                self._build(code, child)
        for _, value in self._globals.values():
            self._build(code, value)
        for handle in self._registrations:
            self._build(code, handle)
        for variable in mutated:
            self._apply(code, variable)
        code.lists_are_changed()
        for (_, name), (namespace, value) in self._globals.items():
            if not isinstance(value, Deleted):
                code.load(value)
            code.load_constant(namespace)
            code.load_constant(name)
            if isinstance(value, Deleted):
                code.delete_item()
            else:
                code.store_item()

    def _build(self, code: PythonCode, value: Variable) -> None:
        if isinstance(value, Deleted):
            return
        value = code.output.objects.resolve_place(value)
        if value.source is None and not isinstance(value, ConstantVariable):
            code.load(value)
            code.pop()

    def _apply(self, code: PythonCode, variable: Variable) -> None:
        for kind, apply in APPLY:
            if isinstance(variable, kind):
                apply(code, variable, self._before.get(id(variable)))
        stores = self._attributes.get(id(variable))
        if stores:
            _store_attributes(code, variable, stores)

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


def _call_method(code: PythonCode, owner: Variable, name: str, args: list[Variable]) -> None:
    code.load(owner)
    code.load_method(name)
    for arg in args:
        code.load(arg)
    code.call(len(args))
    code.pop()


# --- containers: snapshot before, replay after ------------------------------------------------------------


def _apply_list(code: PythonCode, variable: Any, before: list[Variable]) -> None:
    """`xs[k:] = [...]` with k the length of what is unchanged at the front; past the methods of a subclass."""
    same = 0
    for old, new in zip(before, variable.items):
        if old is not new and not _realized_from(old, new):
            break
        same += 1
    rest = SliceVariable([ConstantVariable(same), ConstantVariable(None), ConstantVariable(None)])
    code.call_object(list.__setitem__, [variable, rest, ListVariable(variable.items[same:])])
    code.pop()


def _realized_from(old: Variable, new: Variable) -> bool:
    return old.source is not None and old.source == new.source


def _apply_deque(code: PythonCode, variable: Any, before: list[Variable]) -> None:
    if not variable.changes and len(before) == len(variable.items):  # nothing moved: its iterators go on
        for index, (old, new) in enumerate(zip(before, variable.items)):
            if old is not new and not _realized_from(old, new):
                code.call_object(collections.deque.__setitem__, [variable, ConstantVariable(index), new])
                code.pop()
        return
    for function, args in (
        (collections.deque.clear, []),
        (collections.deque.extend, [ListVariable(list(variable.items))]),
    ):
        code.call_object(function, [variable, *args])
        code.pop()


def _apply_dict(code: PythonCode, variable: Any, before: dict[Any, Any]) -> None:
    entries = variable.entries
    if variable.held_by_subclass:
        _apply_dict_subclass(code, variable, before)
        return
    for name in [
        n for n in before if n in variable.deleted
    ]:  # an iterator sees it, even where the key is back
        code.load(variable)
        code.load(before[name][0])
        code.delete_item()
    before = {name: entry for name, entry in before.items() if name not in variable.deleted}
    if list(entries)[: len(before)] != list(before):
        _call_method(code, variable, "clear", [])
        before = {}
    for name, (key, value) in entries.items():
        old = before.get(name)
        if old is None or (old[1] is not value and not _realized_from(old[1], value)):
            code.load(value)
            code.load(variable)
            code.load(key)
            code.store_item()


def _apply_dict_subclass(code: PythonCode, variable: Any, before: dict[Any, Any]) -> None:
    """Past the methods that the subclass overrides."""
    base = collections.OrderedDict if issubclass(variable.cls, collections.OrderedDict) else dict
    code.call_object(base.clear, [variable])
    code.pop()
    for key, value in variable.entries.values():
        code.call_object(base.__setitem__, [variable, key, value])
        code.pop()


def _apply_set(code: PythonCode, variable: Any, before: dict[Any, Variable]) -> None:
    gone = [item for name, item in before.items() if name not in variable.entries]
    for item in gone:
        code.call_object(set.discard, [variable, item])
        code.pop()
    added = [item for name, item in variable.entries.items() if name not in before]
    if added:
        code.call_object(set.update, [variable, ListVariable(added)])
        code.pop()


def _apply_object(code: PythonCode, variable: Any, before: Any) -> None:
    _store_attributes(code, variable, variable.attributes)


def remove_attribute(owner: Any, name: str) -> None:
    """`del owner.name`, where it is there: the frame may have set it before it deleted it."""
    with contextlib.suppress(AttributeError):
        delattr(owner, name)


def remove_past_class(owner: Any, name: str) -> None:
    """The same without the `__delattr__` of its class, which the frame has been through."""
    with contextlib.suppress(AttributeError):
        object.__delattr__(owner, name)


def _store_attributes(code: PythonCode, owner: Any, stores: dict[str, Variable]) -> None:
    import torch

    setter = lookup_type(owner.python_type(), "__setattr__")
    plain = setter in (*plain_setattr(), torch.nn.Module.__setattr__, type.__setattr__)
    deleter = lookup_type(owner.python_type(), "__delattr__")
    deletes_plainly = deleter in (*plain_setattr(), torch.nn.Module.__delattr__, type.__delattr__)
    remove = remove_attribute if deletes_plainly else remove_past_class
    for name, value in stores.items():
        deleted = isinstance(value, Deleted)
        if deleted or code.output.side_effects.is_set_anew(owner, name):
            code.call_object(remove, [owner, ConstantVariable(name)])
            code.pop()
        if deleted:
            continue
        if plain:
            code.load(value)
            code.load(owner)
            code.store_attribute(name)
        else:
            code.call_object(object.__setattr__, [owner, ConstantVariable(name), value])
            code.pop()


def _apply_cell(code: PythonCode, variable: Any, before: Any) -> None:
    if variable.contents is None:
        code.load(variable)
        code.delete_attribute("cell_contents")
    else:
        code.load(variable.contents)
        code.load(variable)
        code.store_attribute("cell_contents")


def _apply_replay(code: PythonCode, variable: Any, before: Any) -> None:
    variable.replay(code)


def _tables() -> tuple[Any, Any]:
    snapshots: list[tuple[type, Callable[[Any], Any]]] = [
        (ListVariable, lambda v: list(v.items)),
        (DequeVariable, lambda v: list(v.items)),
        (DictVariable, lambda v: dict(v.entries)),
        (SetVariable, lambda v: dict(v.entries)),
    ]
    apply: list[tuple[type, Callable[..., None]]] = [
        (ListVariable, _apply_list),
        (DequeVariable, _apply_deque),
        (DictVariable, _apply_dict),
        (SetVariable, _apply_set),
        (ObjectVariable, _apply_object),
        (TensorVariable, _apply_object),
        (CellVariable, _apply_cell),
        (IteratorVariable, _apply_replay),
        (RandomVariable, _apply_replay),
    ]
    return snapshots, apply


SNAPSHOTS, APPLY = _tables()
