"""Finds the live local variables: an instruction, or a later one, may still read them.

In:  a code object and the index of an instruction.
Out: the names (locals and cells) that some path from there reads before it writes them.

A resume function takes only these. A value that is dead at a graph break is neither rebuilt nor guarded.
"""

from __future__ import annotations

import functools
from types import CodeType

from capture.bytecode.dialects import dialect
from capture.bytecode.instructions import Decoded, decode


def successors(decoded: Decoded, index: int) -> list[int]:
    """Indices of the instructions that may run next, with the exception handler's."""
    instruction = decoded.instructions[index]
    result = []
    if instruction.name not in dialect.ENDS | dialect.ALWAYS_JUMPS:
        result.append(index + 1)
    if instruction.target is not None:
        result.append(instruction.target)
    handler = decoded.handlers[index]
    if handler is not None:
        result.append(handler.target)
    return [i for i in result if i < len(decoded.instructions)]


@functools.lru_cache(maxsize=1024)
def live_sets(code: CodeType) -> tuple[frozenset[str], ...]:
    """For each instruction the names that are live before it: backward data flow to a fixed point."""
    decoded = decode(code)
    count = len(decoded.instructions)
    live: list[frozenset[str]] = [frozenset()] * count
    following = [successors(decoded, i) for i in range(count)]
    changed = True
    while changed:
        changed = False
        for index in range(count - 1, -1, -1):
            instruction = decoded.instructions[index]
            after = (
                frozenset().union(*(live[i] for i in following[index])) if following[index] else frozenset()
            )
            if instruction.name in dialect.WRITES_LOCAL:
                after = after - {instruction.value}
            elif instruction.name in dialect.READS_VARIABLE:
                after = after | {instruction.value}
            if after != live[index]:
                live[index] = after
                changed = True
    return tuple(live)


def live_names(code: CodeType, index: int) -> frozenset[str]:
    sets = live_sets(code)
    return sets[index] if index < len(sets) else frozenset()
