"""Finds the live local variables: an instruction, or a later one, may still read them.

In:  a code object and the index of an instruction.
Out: the names (locals and cells) that some path from there reads before it writes them.

A resume function takes only these. A value that is dead at a graph break is neither rebuilt nor guarded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType

from capture.bytecode.by_code import cached
from capture.bytecode.dialects import dialect
from capture.bytecode.instructions import Decoded, Instruction, decode
from capture_records import dataclass
from guards.sources import HEAP_TYPE


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


def reached(
    decoded: Decoded, begin: int, stop: Callable[[Instruction], bool] = lambda instruction: False
) -> Iterator[Instruction]:
    """The instructions that may run from `begin` on; behind one at which to stop, nothing else."""
    found: set[int] = set()
    waiting = [begin]
    while waiting:
        index = waiting.pop()
        if index not in found:
            found.add(index)
            yield decoded.instructions[index]
            if not stop(decoded.instructions[index]):
                waiting += successors(decoded, index)


@dataclass(frozen=True)
class _Live:
    """For each instruction the names that are live before it: bit i is `names[i]`.

    A large function has thousands of instructions and names. Sets of names would take gigabytes.
    """

    names: tuple[str, ...]
    before: tuple[int, ...]


@cached(maxsize=1024)
def _live(code: CodeType) -> _Live:
    """Backward data flow to a fixed point."""
    decoded = decode(code)
    count = len(decoded.instructions)
    bits: dict[str, int] = {}
    effects = [_effect(instruction, bits) for instruction in decoded.instructions]
    following = [successors(decoded, i) for i in range(count)]
    live = [0] * count
    changed = True
    while changed:
        changed = False
        for index in range(count - 1, -1, -1):
            after = 0
            for other in following[index]:
                after |= live[other]
            read, written = effects[index]
            after = after & ~written | read
            if after != live[index]:
                live[index] = after
                changed = True
    return _Live(tuple(bits), tuple(live))


def _effect(instruction: Instruction, bits: dict[str, int]) -> tuple[int, int]:
    """The bits of the names that the instruction reads and writes."""
    reads = instruction.name in dialect.READS_VARIABLE
    if not reads and instruction.name not in dialect.WRITES_LOCAL:
        return 0, 0
    bit = bits.setdefault(instruction.value, 1 << len(bits))
    return (bit, 0) if reads else (0, bit)


def live_names(code: CodeType, index: int) -> frozenset[str]:
    live = _live(code)
    before = live.before[index] if index < len(live.before) else 0
    return frozenset(name for place, name in enumerate(live.names) if before >> place & 1)


def instances_end_noticed(cls: type) -> bool:
    """Whether the program may notice the end of an instance, by a weak reference or by `__del__`."""
    return bool(cls.__flags__ & HEAP_TYPE) and (cls.__weakrefoffset__ != 0 or hasattr(cls, "__del__"))
