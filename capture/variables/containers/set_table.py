"""The order of a set: that in which its elements lie in a table, which depends on how it has come about.

So beside each set whose elements are known there is a real one with the same history: what the program does
to its set is done to this one too.

    {8, 0}                ->   8, 0
    {8, 0} | {16}         ->   8, 0, 16      (of the set {0, 8} it would be 0, 8, 16)

Where sets of before the frame had a part in it, guards have to say that theirs lie as they do now
(`guard_order`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import _capture

from capture.variables.core.constant import ConstantVariable
from capture.variables.operations.equality import names_objects
from guards.guard import GuardError
from guards.kinds.containers import SetLayoutGuard
from guards.properties.set_layout import layout_of
from guards.sources import ConstantSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from capture.interpret.output_graph import OutputGraph
    from capture.output.python_code import PythonCode
    from guards.sources import Source


class SetTable:
    """`held`: the real set (a dict or a list where it is an argument only). `origins`: existing sets that its
    order comes from, with their sources.
    """

    def __init__(self, held: Any, origins: tuple[tuple[Source, Any], ...] = ()) -> None:
        self.held = held
        self.origins = origins

    @classmethod
    def of_items(cls, make: Callable[[Iterable[Any]], Any], keys: Iterable[Any]) -> SetTable | None:
        """Made by the frame. None where the keys stand for objects that Python hashes in its own way."""
        keys = list(keys)
        return cls(make(keys)) if all(map(is_hashed_alike, keys)) else None

    @classmethod
    def existing(cls, value: Any, keys: Iterable[Any], source: Source | None) -> SetTable | None:
        if type(value) not in (set, frozenset):
            return None
        if not all(map(is_hashed_alike, keys)):
            return None
        if source is None or isinstance(source, ConstantSource):
            return cls(value)
        return cls(value, ((source, value),))

    @classmethod
    def combined(cls, operation: Any, *tables: SetTable | None) -> SetTable | None:
        """`operation`: a method of the first, or a class that is called with it."""
        known = [table for table in tables if table is not None]
        if len(known) < len(tables):
            return None
        first, *rest = (table.held for table in known)
        made = getattr(first, operation)(*rest) if isinstance(operation, str) else operation(first)
        return cls(made, tuple(origin for table in known for origin in table.origins))

    def changed(self, operation: str, *tables: SetTable | None) -> SetTable | None:
        """After a method that changes the set in place."""
        known = [table for table in tables if table is not None]
        if len(known) < len(tables):
            return None
        getattr(self.held, operation)(*(table.held for table in known))
        return SetTable(self.held, (*self.origins, *(o for table in known for o in table.origins)))

    def pop(self) -> Any:
        return self.held.pop()

    def guard_order(self, output: OutputGraph) -> bool:
        """From here on the order counts. False where no guard can hold it."""
        try:
            guards = [SetLayoutGuard.of(source, value) for source, value in self.origins]
        except GuardError:
            return False
        for guard in guards:
            output.guards.add(guard)
        self.origins = ()
        return True

    def order_of_making(self) -> list[Any]:
        """The elements, such that a set to which they are added in turn gives them in this set's order, if
        there is such an order.
        """
        wanted = list(self.held)
        backwards = wanted[::-1]
        return backwards if list(set(wanted)) != wanted == list(set(backwards)) else wanted

    def is_made_by_adding(self) -> bool:
        """Whether `order_of_making` gives a set whose elements lie in the same places, so that what is done
        to it later gives the same order too.
        """
        made = set(self.order_of_making())
        return layout_of(frozenset(made) if type(self.held) is frozenset else made) == layout_of(self.held)

    def load_clone(self, code: PythonCode) -> None:
        """Leave a set like this one on the stack. A frozen one does not change."""
        if type(self.held) is frozenset:
            code.load_constant(self.held)
        else:
            code.call_object(CLONE, [ConstantVariable(CLONE(self.held))])


def is_hashed_alike(key: Any) -> bool:
    """Whether a key of the interpreter's has the hash of the program's object."""
    if type(key) is tuple:
        return all(map(is_hashed_alike, key))
    return not names_objects(key)


#: without the extension, a copy has the elements in the order of its own table
CLONE: Any = getattr(_capture, "clone_set", set)
