"""GuardSet: the guards of one cache entry.

In:  guards in the order in which the symbolic interpreter met them (`add`).
Out: the guards without duplicates, in the order of the checks (`ordered`), and the objects that the entry
     must not outlive (`weak_objects`).

    add(len(x) == 2), add(type(x) is list), add(x[0] == 1)   ->   type(x) is list, len(x) == 2, x[0] == 1

The guards of a whole (x) are checked before the guards of its parts (x[0]): they make the load of a part
meaningful, and its failure text true.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from guards.guard import Guard
from guards.sources import ConstantSource, LocalSource, Source
from guards.values import ObjectRef


class GuardSet:
    """An ordered set of guards."""

    def __init__(self, guards: Iterable[Guard] = ()) -> None:
        self._guards: dict[Guard, None] = {}
        self._ordered: tuple[Guard, ...] | None = None
        self._watched: tuple[Source, ...] = ()
        self.add(*guards)

    def add(self, *guards: Guard | Iterable[Guard]) -> None:
        """Add guards, or lists of guards. A guard that is there already is ignored."""
        for item in guards:
            for guard in (item,) if isinstance(item, Guard) else item:
                if guard not in self._guards:
                    self._guards[guard] = None
                    self._ordered = None

    def replace(self, guard: Guard, by: Guard) -> None:
        """Take another guard in the place of one that asks for too much."""
        self._guards = {by if known == guard else known: None for known in self._guards}
        self._ordered = None

    def drop(self, guards: Collection[Guard]) -> None:
        """Take guards out that nobody needs."""
        self._guards = {guard: None for guard in self._guards if guard not in guards}
        self._ordered = None

    def __iter__(self) -> Iterator[Guard]:
        """In the order in which they are checked; indices of failures refer to it."""
        return iter(self.ordered())

    def __len__(self) -> int:
        return len(self.ordered())

    def count(self) -> int:
        """The number of guards, with those that others imply."""
        return len(self._guards)

    def __contains__(self, guard: Guard) -> bool:
        return guard in self._guards

    def __getitem__(self, index: int) -> Guard:
        return self.ordered()[index]

    def copy(self) -> GuardSet:
        """A new set with the same guards. (What an inlined call adds may be thrown away again.)"""
        copied = GuardSet(self._guards)
        copied.watch(self._watched)
        return copied

    def ordered(self) -> tuple[Guard, ...]:
        """Without duplicates and without what another guard implies, in checking order."""
        if self._ordered is None:
            kept = _without_implied(self._guards)
            self._ordered = tuple(sorted(kept, key=_order_key(kept)))
        return self._ordered

    def watch(self, sources: Iterable[Source]) -> None:
        """Count the objects that these sources name (keys of dicts, classes) among `weak_objects`. The
        graph's inputs are loaded through them.
        """
        self._watched += tuple(sources)

    def _references(self) -> Iterator[ObjectRef]:
        for guard in self._guards:
            yield from guard.references()
        for source in self._watched:
            yield from source.references

    def weak_objects(self) -> list[Any]:
        """Objects whose death makes the guards meaningless, because another object may get their address.

        The entry has to be removed when one of them dies. None stands for an object that is dead already: the
        entry must not be installed.
        """
        references = {ref.id: ref for ref in self._references() if ref.is_weak}
        return [ref.get() for ref in references.values()]

    def strong_objects(self) -> list[Any]:
        """Objects that the guards keep alive, because their type allows no weak reference."""
        references = {ref.id: ref for ref in self._references() if not ref.is_weak}
        return [ref.get() for ref in references.values()]

    @property
    def text(self) -> str:
        """One guard a line."""
        return "\n".join(guard.text for guard in self)


def _without_implied(guards: Iterable[Guard]) -> list[Guard]:
    implied: dict[Source, set[type[Guard]]] = {}
    guards = list(guards)
    for guard in guards:
        if guard.implies:
            implied.setdefault(guard.source, set()).update(guard.implies)
    return [guard for guard in guards if type(guard) not in implied.get(guard.source, ())]


def _order_key(guards: list[Guard]) -> Callable[[Guard], tuple[int, int, int, int, int]]:
    """By stage; then by depth of the source (wholes before parts), arguments before globals, and cost."""
    position = {guard: index for index, guard in enumerate(guards)}

    def key(guard: Guard) -> tuple[int, int, int, int, int]:
        chain = guard.source.chain()
        return guard.stage, len(chain), _root_rank(chain[0]), guard.cost, position[guard]

    return key


def _root_rank(root: Source) -> int:
    if isinstance(root, LocalSource):
        return 0
    return 2 if isinstance(root, ConstantSource) else 1
