"""Which local variables may still be read from an instruction on.

In:  a decoded code object and an index.
Out: the set of names (locals and cells) that some path from there reads before it writes them.

A resume function takes just these; what is dead at a break is neither rebuilt nor guarded.
"""

from __future__ import annotations

import functools
from types import CodeType

from capture.bytecode.instructions import Decoded, decode

READS = frozenset(
    {"LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE", "LOAD_CLASSDEREF", "DELETE_FAST", "DELETE_DEREF"}
)
WRITES = frozenset({"STORE_FAST"})  # a cell is shared with closures: a write does not end its life
ENDS = frozenset({"RETURN_VALUE", "RAISE_VARARGS", "RERAISE"})
UNCONDITIONAL = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"})


def successors(decoded: Decoded, index: int) -> list[int]:
    """Indices that may run after instruction `index`, its exception handler included."""
    instruction = decoded.instructions[index]
    result = []
    if instruction.name not in ENDS and instruction.name not in UNCONDITIONAL:
        result.append(index + 1)
    if instruction.target is not None:
        result.append(instruction.target)
    handler = decoded.handlers[index]
    if handler is not None:
        result.append(handler.target)
    return [i for i in result if i < len(decoded.instructions)]


@functools.lru_cache(maxsize=1024)
def live_sets(code: CodeType) -> tuple[frozenset[str], ...]:
    """For each instruction the names that are live before it (backward data flow to a fixed point)."""
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
            if instruction.name in WRITES:
                after = after - {instruction.value}
            elif instruction.name in READS:
                after = after | {instruction.value}
            if after != live[index]:
                live[index] = after
                changed = True
    return tuple(live)


def live_names(code: CodeType, index: int) -> frozenset[str]:
    sets = live_sets(code)
    return sets[index] if index < len(sets) else frozenset()
