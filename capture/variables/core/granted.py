"""What a translation takes for granted, because it can't change while the process lives.

In:  the objects that the interpreter reads without a guard, and the classes that it looks into.
Out: `Granted`. An entry goes into the store only if another process can check all of it.

    len(x)    ->    the function `len`, the class of x

One translation runs at a time, so there is one present `Granted`.
"""

from __future__ import annotations

from typing import Any

NUMBERS = (int, bool, float)


class Granted:
    def __init__(self) -> None:
        self.objects: dict[int, Any] = {}
        self.classes: dict[int, type] = {}  # by id: a metaclass may have its own hash
        self.inlined: dict[int, Any] = {}  # functions
        self.addresses: dict[int, Any] = {}  # `id(x)` that was looked up among numbers -> x
        self.walked: set[str] = set()  # places of dicts of which the order of keys is known
        self.shown: set[str] = set()  # those of which the frame has had a key as a value
        self.facts: list[tuple[Any, tuple[Any, ...], Any]] = []  # function, arguments, result
        self.here_alone: str | None = None  # why the capture holds in this process alone

    def only_here(self, why: str) -> None:
        self.here_alone = self.here_alone or why

    def fact(self, function: Any, args: tuple[Any, ...]) -> None:
        """A function of Python about the program's classes. It may raise."""
        try:
            self.facts.append((function, args, function(*args)))
        except TypeError:
            self.only_here("a class that answers for others with an error")

    def order_of(self, elements: Any) -> None:
        """The order of a set. It depends on hashes, and those of most objects depend on the process."""
        if len(elements) > 1 and any(type(element) not in NUMBERS for element in elements):
            self.only_here("the order of a set")

    def release(self) -> None:
        """Hold none of the program's objects any more."""
        self.objects, self.classes, self.inlined, self.addresses, self.facts = {}, {}, {}, {}, []

    def taken_over(self) -> Granted:
        """All of it, in a new record. This one is empty then."""
        taken = Granted()
        vars(taken).update(vars(self))
        self.release()
        return taken


_present = [Granted()]


def begin() -> Granted:
    """The record of a new translation."""
    _present[0].release()
    _present[0] = Granted()
    return _present[0]


def granted() -> Granted:
    return _present[0]
