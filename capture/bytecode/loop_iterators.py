"""Where a running frame keeps the iterators of its `for` loops.

In:  a code object.
Out: for the offset at which a frame stands the places on the frame's stack, from the outermost loop inwards.

    for epoch in epochs:
        for batch in batches:
            step(batch)        ->        (0, 1) at the call of `step`

CPython does not say how many items lie on the stack of a running frame, and above them is no object that can
be trusted. So a place counts only if every way to the instruction leads through the head of its loop, and
nothing on these ways takes the iterator away.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from types import CodeType

from capture.bytecode.by_code import cached
from capture.bytecode.dialects import dialect
from capture_records import dataclass

#: the number of items on the stack, and which of them are iterators of loops: bit i is the item at place i
_Stack = tuple[int, int]


@cached(maxsize=256)
def iterator_places(code: CodeType) -> dict[int, tuple[int, ...]]:
    """Offsets outside of all loops are missing."""
    items = list(dialect.bare_instructions(code))
    if all(item.name not in dialect.STEPS_LOOP for item in items):
        return {}
    try:
        before = _Flow(code, items).before
    except _Irregular:
        return {}
    found = {}
    for index, (depth, iterators) in before.items():
        held = iterators and iterators & _lowest(_untouched(depth, items[index]))
        if held:
            places = tuple(place for place in range(depth) if held >> place & 1)
            found.update(dict.fromkeys(items[index].places, places))
    return found


@dataclass(frozen=True)
class Head:
    """Where each turn of a loop outside of exception handlers begins.

    index: of the instruction that takes the next item (`steps`), or of the first one in a turn of a `while`
    loop. depth: the number of items on the stack when the turn begins. All of these are objects: the item,
    the iterators of the loops around, and what leaves the `with` blocks around. start, end: offsets.
    """

    index: int
    steps: bool
    depth: int
    start: int
    end: int


def heads(code: CodeType) -> list[Head]:
    """The loops of the code, the outer ones first."""
    if not dialect.jumps_back(code):
        return []
    items = list(dialect.bare_instructions(code))
    jumps = [item for item in items if item.target is not None and item.target <= item.offset]
    if not jumps:
        return []
    try:
        flow = _Flow(code, items, handlers=False)
    except _Irregular:
        return []
    last = {flow.index_of(jump.target): jump.offset for jump in jumps if jump.target is not None}
    found = []
    for index, end in last.items():
        steps = items[index].name in dialect.STEPS_LOOP
        begin = flow.before.get(index + steps)
        if begin is not None:
            found.append(Head(index, steps, begin[0], items[index].offset, end))
    return sorted(found, key=lambda head: head.start)


class _Irregular(Exception):
    """Two ways to one instruction leave different numbers of items."""


class _Flow:
    """The stack before each instruction that can be reached: forward data flow to a fixed point. Without
    `handlers` no exception is raised.
    """

    def __init__(self, code: CodeType, items: list[dialect.BareInstruction], handlers: bool = True) -> None:
        self.items = items
        self.offsets = [item.offset for item in items]
        self.handlers = list(dialect.exception_table(code)) if handlers else []
        self.before: dict[int, _Stack] = {}
        self.waiting: list[int] = []
        self._reach(0, (dialect.depth_at_start(code), 0))
        while self.waiting:
            index = self.waiting.pop()
            for following, stack in self._ways(index, *self.before[index]):
                self._reach(following, stack)

    def index_of(self, offset: int) -> int:
        """A jump may lead to a part of the instruction, in front of it."""
        return bisect_left(self.offsets, offset)

    def _reach(self, index: int, stack: _Stack) -> None:
        known = self.before.get(index, stack)
        if known[0] != stack[0]:
            raise _Irregular
        merged = stack[0], known[1] & stack[1]
        if index not in self.before or merged != known:
            self.before[index] = merged
            self.waiting.append(index)

    def _ways(self, index: int, depth: int, iterators: int) -> Iterator[tuple[int, _Stack]]:
        """The instructions that may come next, with the stack before them."""
        item = self.items[index]
        if item.target is not None:
            kept, after = dialect.untouched(depth, item, by_jump=True)
            yield self.index_of(item.target), (after, iterators & _lowest(kept))
        if item.name not in dialect.ENDS and item.name not in dialect.ALWAYS_JUMPS:
            kept, after = dialect.untouched(depth, item, by_jump=False)
            stepped = 1 << depth - 1 if item.name in dialect.STEPS_LOOP else 0
            yield index + 1, (after, iterators & _lowest(kept) | stepped)
        for handler in self.handlers:
            if handler.start <= item.offset < handler.end:
                kept = min(handler.depth, _untouched(depth, item))
                yield (
                    self.index_of(handler.target),
                    (handler.depth + 1 + handler.lasti, iterators & _lowest(kept)),
                )


def _untouched(depth: int, item: dialect.BareInstruction) -> int:
    """How many of the lowest items stay whatever the instruction does."""
    return min(dialect.untouched(depth, item, by_jump)[0] for by_jump in (False, True))


def _lowest(count: int) -> int:
    """The bits of so many items."""
    return (1 << max(count, 0)) - 1
