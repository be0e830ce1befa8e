"""The order of a set: it depends on the places of the elements in the set's table, and so on its history.

In:  the operations that the program applies to a set.
Out: a real set with the same history, to which the same operations are applied. It has the same order.

    {8, 0}                ->   8, 0
    {8, 0} | {16}         ->   8, 0, 16      (for the set {0, 8} it would be 0, 8, 16)

If the order also depends on sets that existed before the frame, guards check that the elements of these sets
keep their places (`guard_order`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import _capture

from capture.variables.core.constant import ConstantVariable
from capture.variables.core.granted import granted
from capture.variables.operations.equality import names_objects
from guards.guard import GuardError
from guards.kinds.containers import SetLayoutGuard
from guards.properties.set_layout import layout_of
from guards.sources import ConstantSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Output
    from guards.sources import Source


class SetTable:
    """`held` is the real set, or a dict or a list for a mere argument of an operation.

    `origins` are the existing sets on which its order depends, with their sources.
    """

    def __init__(self, held: Any, origins: tuple[tuple[Source, Any], ...] = ()) -> None:
        self.held = held
        self.origins = origins
        self.is_real = False  # `held` is the program's own set, not to be changed

    @classmethod
    def of_items(cls, make: Callable[[Iterable[Any]], Any], keys: Iterable[Any]) -> SetTable | None:
        """The table of a set that the frame makes. None if a key stands for an object with its own hash."""
        keys = list(keys)
        return cls(make(keys)) if all(map(is_hashed_alike, keys)) else None

    @classmethod
    def existing(cls, value: Any, keys: Iterable[Any], source: Source | None) -> SetTable | None:
        if type(value) not in (set, frozenset):
            return None
        if not all(map(is_hashed_alike, keys)):
            return None
        constant = source is None or isinstance(source, ConstantSource)
        made = cls(value, () if constant else ((source, value),))  # type: ignore[arg-type]
        made.is_real = True
        return made

    @classmethod
    def combined(cls, operation: Any, *tables: SetTable | None) -> SetTable | None:
        """The table of a new set. `operation` is a method of the first set, or a class to call on it."""
        known = [table for table in tables if table is not None]
        if len(known) < len(tables):
            return None
        first, *rest = (table.held for table in known)
        made = getattr(first, operation)(*rest) if isinstance(operation, str) else operation(first)
        return cls(made, tuple(origin for table in known for origin in table.origins))

    def changed(self, operation: str, *tables: SetTable | None) -> SetTable | None:
        """The table after a method that changes the set in place."""
        known = [table for table in tables if table is not None]
        if len(known) < len(tables):
            return None
        getattr(self.held, operation)(*(table.held for table in known))
        return SetTable(self.held, (*self.origins, *(o for table in known for o in table.origins)))

    def pop(self) -> Any:
        granted().order_of(self.held)
        if self.is_real:
            self.held, self.is_real = CLONE(self.held), False
        return self.held.pop()

    def guard_order(self, output: Output) -> bool:
        """Guard the order, because the program uses it. False if no guard can check it."""
        try:
            guards = [SetLayoutGuard.of(source, value) for source, value in self.origins]
        except GuardError:
            return False
        for guard in guards:
            output.guards.add(guard)
        self.origins = ()
        granted().order_of(self.held)
        return True

    def order_of_making(self) -> list[Any]:
        """The order in which the elements must be added to a new set, so that it gets the order of this set.

        There may be no such order.
        """
        granted().order_of(self.held)
        wanted = list(self.held)
        backwards = wanted[::-1]
        return backwards if list(set(wanted)) != wanted == list(set(backwards)) else wanted

    def is_made_by_adding(self) -> bool:
        """Whether `order_of_making` gives a set with all elements in the same places.

        Only then do later operations give the same order too.
        """
        made = set(self.order_of_making())
        return layout_of(frozenset(made) if type(self.held) is frozenset else made) == layout_of(self.held)

    def load_clone(self, code: PythonCode) -> None:
        """Leave a copy of this set on the stack. A frozenset can't change, so it needs no copy."""
        if type(self.held) is frozenset:
            code.load_constant(self.held)
        else:
            code.call_object(CLONE, [ConstantVariable(CLONE(self.held))])


def is_hashed_alike(key: Any) -> bool:
    """Whether a hash key of the interpreter has the same hash as the program's object."""
    if type(key) is tuple:
        return all(map(is_hashed_alike, key))
    return not names_objects(key)


#: without the extension, the elements of a copy may have another order
CLONE: Any = getattr(_capture, "clone_set", set)
