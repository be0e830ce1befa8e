"""What the loops of a function compare to know that they are over.

In:  a code object.
Out: its loops that go on as long as one number is less than another, and which numbers these are.

    while step < args.steps:                   step, args.steps
        for batch in batches:
            if seen >= 10_000: return          seen, 10_000: this ends both loops
            ...
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import NamedTuple

from capture.bytecode.by_code import cached
from capture.bytecode.dialects import dialect
from capture.bytecode.loop_iterators import Head, heads


class Test(NamedTuple):
    """The loop goes on while `counter` is less than `limit`. `is_last`: if it does, the next turn begins at
    once, as behind the condition of a `while`.
    """

    counter: dialect.Number
    limit: dialect.Number
    is_last: bool


class LimitedLoop(NamedTuple):
    """A loop with tests, between two offsets. `steps`: it is a `for` loop, whose iterator lies at `height` on
    the stack. Items from there on belong to this loop, and to those inside.
    """

    steps: bool
    height: int
    start: int
    end: int
    tests: tuple[Test, ...]


@cached(maxsize=256)
def limited_loops(code: CodeType) -> tuple[LimitedLoop, ...]:
    """Those outside of exception handlers, the outer ones first."""
    if not dialect.jumps_back(code):
        return ()
    items = list(dialect.bare_instructions(code))
    found: list[LimitedLoop] = []
    for head in heads(code):
        tests = tuple(_tests(code, items, head))
        if not tests:
            continue
        loop = LimitedLoop(head.steps, head.depth - 2 * head.steps, head.start, head.end, tests)
        if found and loop.start <= found[-1].end < loop.end:  # one loop: a `continue` leads to its first test
            first = found.pop()
            loop = first._replace(end=loop.end, tests=(*first.tests, *tests))
        found.append(loop)
    return tuple(loop._replace(tests=_of_the_condition(loop.tests)) for loop in found)


def _of_the_condition(tests: tuple[Test, ...]) -> tuple[Test, ...]:
    """A `while` with a limit ends there: a `break` in front of that may be for what never happens."""
    return tuple(test for test in tests if test.is_last) or tests


def _tests(code: CodeType, items: Sequence[dialect.BareInstruction], head: Head) -> Iterator[Test]:
    ways = _ways_inside(items, head)
    goes_on = _with_a_way_back(ways, head)
    for index in goes_on:
        found = dialect.compared(code, items, index)
        going_on = [way in goes_on or way == head.index for way in ways[index]]
        if found is None or len(going_on) < 2 or all(going_on):
            continue
        less = _LESS.get((found.symbol, found.jumps_if == going_on[0]))
        counter, limit = (found.left, found.right) if less else (found.right, found.left)
        if less is not None and counter.where != "constant":  # else it counts down from nobody knows where
            yield Test(counter, limit, head.index in ways[index])


#: Whether the left number is the lesser one, where a loop goes on if the comparison has that value. Loops
#: that count upwards to a number that they must not miss compare with `!=`.
_LESS = {
    ("<", True): True,
    ("<=", True): True,
    (">", True): False,
    (">=", True): False,
    ("!=", True): True,
    ("<", False): False,
    ("<=", False): False,
    (">", False): True,
    (">=", False): True,
    ("==", False): True,
}


def _ways_inside(items: Sequence[dialect.BareInstruction], head: Head) -> dict[int, list[int]]:
    """For each instruction of the loop those that may come next, the target of a jump first."""
    offsets = [item.offset for item in items]
    found = {}
    for index in range(head.index, bisect_left(offsets, head.end) + 1):
        item = items[index]
        ways = [] if item.target is None else [bisect_left(offsets, item.target)]
        if item.name not in dialect.ENDS and item.name not in dialect.ALWAYS_JUMPS:
            ways.append(index + 1)
        found[index] = ways
    return found


def _with_a_way_back(ways: dict[int, list[int]], head: Head) -> set[int]:
    """The instructions from which a way inside of the loop leads to its head: it may go on there."""
    found: set[int] = set()
    before = -1
    while before < len(found):
        before = len(found)
        for index in reversed(ways):
            if any(way == head.index or way in found for way in ways[index]):
                found.add(index)
    return found
