"""GuardSet: the guards of one cache entry.

In:  guards in the order in which the symbolic interpreter met them (`add`).
Out: the same without duplicates and in the order in which they are checked (`ordered`), and the objects that
     the entry must not outlive (`weak_objects`).

    add(len(x) == 2), add(type(x) is list), add(x[0] == 1)   ->   type(x) is list, len(x) == 2, x[0] == 1

A guard of a part (x[0]) is checked behind the guards of the whole (x): those make its load meaningful, and
its failure text true.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from guards.guard import Guard
from guards.kinds import GuardKind
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
        """Add guards, or lists of guards as `module_match` returns them. A guard that is there already is
        ignored.
        """
        for item in guards:
            for guard in (item,) if isinstance(item, Guard) else item:
                if guard not in self._guards:
                    self._guards[guard] = None
                    self._ordered = None

    def __iter__(self) -> Iterator[Guard]:
        """In the order in which they are checked; indices of failures refer to it."""
        return iter(self.ordered())

    def __len__(self) -> int:
        return len(self.ordered())

    def __contains__(self, guard: Guard) -> bool:
        return guard in self._guards

    def __getitem__(self, index: int) -> Guard:
        return self.ordered()[index]

    def copy(self) -> GuardSet:
        """A set of its own with the same guards (what an inlined call may throw away again)."""
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
        """Count the objects that these sources name (keys of dicts, classes) among `weak_objects`: the
        graph's inputs are loaded through them.
        """
        self._watched += tuple(sources)

    def _references(self) -> Iterator[ObjectRef]:
        for guard in self._guards:
            yield from guard.references()
        for source in self._watched:
            yield from source.references

    def weak_objects(self) -> list[Any]:
        """Objects whose death makes the guards meaningless: remove the entry then. (Identity is by address,
        which may be used again.)

        An object that is dead already appears as None: don't install the entry.
        """
        references = {ref.id: ref for ref in self._references() if ref.is_weak}
        return [ref.get() for ref in references.values()]

    def strong_objects(self) -> list[Any]:
        """Objects that the guards keep alive since their type allows no weak reference."""
        references = {ref.id: ref for ref in self._references() if not ref.is_weak}
        return [ref.get() for ref in references.values()]

    @property
    def text(self) -> str:
        """One guard a line."""
        return "\n".join(guard.text for guard in self)


# A guard of the first kind makes those of the second on the same source needless.
_IMPLIED: dict[GuardKind, frozenset[GuardKind]] = {
    GuardKind.CONSTANT: frozenset({GuardKind.TYPE, GuardKind.NOT_NONE, GuardKind.BOOL, GuardKind.INT_RANGE}),
    GuardKind.TENSOR_MATCH: frozenset({GuardKind.TYPE, GuardKind.NOT_NONE}),
    GuardKind.ID: frozenset({GuardKind.NOT_NONE}),  # not TYPE: `__class__` of the same object can be assigned
    GuardKind.TYPE: frozenset({GuardKind.NOT_NONE}),
    GuardKind.LENGTH: frozenset({GuardKind.BOOL}),
}


def _without_implied(guards: Iterable[Guard]) -> list[Guard]:
    by_source: dict[Source, set[GuardKind]] = {}
    guards = list(guards)
    for guard in guards:
        for kind in _IMPLIED.get(guard.kind, ()):
            by_source.setdefault(guard.source, set()).add(kind)
    return [guard for guard in guards if guard.kind not in by_source.get(guard.source, ())]


_BETWEEN_SOURCES = frozenset(
    {
        GuardKind.TENSOR_ALIASING,
        GuardKind.OBJECTS_DISTINCT,
        GuardKind.SHAPE_EXPRESSION,
        GuardKind.OBJECT_ALIASING,
    }
)


def _order_key(guards: list[Guard]) -> Any:
    """Global state first; then by depth of the source (wholes before parts), arguments before globals, by
    cost; guards between sources last.
    """
    position = {guard: index for index, guard in enumerate(guards)}

    def key(guard: Guard) -> tuple[int, int, int, int, int]:
        chain = guard.source.chain()
        stage = 0 if guard.kind is GuardKind.GLOBAL_STATE else 2 if guard.kind in _BETWEEN_SOURCES else 1
        root_rank = (
            0 if isinstance(chain[0], LocalSource) else 2 if isinstance(chain[0], ConstantSource) else 1
        )
        return stage, len(chain), root_rank, guard.kind.cost, position[guard]

    return key
