"""A code object as a list of instructions, with indices for jump targets and exception handlers.

In:  a code object.
Out: `Decoded`: `instructions[i]`, and `handlers[i]`, the `Handler` of the innermost try block around it.

    LOAD_FAST x; POP_JUMP_FORWARD_IF_FALSE to 12  ->  Instruction("POP_JUMP_FORWARD_IF_FALSE", target=5, ...)
"""

from __future__ import annotations

import weakref
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import CodeType
from typing import Any, TypeVar, overload

from cache.code_table import CodeTable
from capture.bytecode.by_code import cached
from capture.bytecode.dialects import dialect
from capture_records import dataclass


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    arg: the raw operand.
    value: the constant or name that the operand means.
    target: for a jump, the index of the instruction to which it jumps.
    """

    index: int
    name: str
    arg: int | None
    value: Any
    target: int | None
    line: int | None
    positions: tuple[int | None, int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Handler:
    """An entry of the exception table. On an exception the stack is cut to `depth`. Then the offset of the
    instruction (if `lasti`) and the exception are pushed, and instruction `target` runs.
    """

    target: int
    depth: int
    lasti: bool


T = TypeVar("T")


class Later(Sequence[T]):
    """The items of `first`, then those of `rest`, which are made by `move` when they are asked for."""

    def __init__(self, first: Sequence[T], rest: Sequence[T], move: Callable[[T], T]) -> None:
        self._first = first
        self._rest = rest
        self._move = move
        self._made: dict[int, T] = {}

    def __len__(self) -> int:
        return len(self._first) + len(self._rest)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        made = self._made.get(index)
        if made is None:
            place = index if index >= 0 else index + len(self)
            count = len(self._first)
            made = self._first[place] if place < count else self._move(self._rest[place - count])
            self._made[index] = made
        return made


@dataclass(frozen=True, slots=True)
class Decoded:
    instructions: Sequence[Instruction]
    handlers: Sequence[Handler | None]


@cached(maxsize=4096)
def decode(code: CodeType) -> Decoded:
    """The instructions of `code`, without parts of other instructions.

    A jump to such a part becomes a jump to the next instruction.
    """
    prefix = _prefixes.get(code)
    rest = prefix[1]() if prefix is not None else None
    if prefix is None or rest is None:
        return _decode(code)
    return _behind_prefix(prefix[0], rest, prefix[2], prefix[3])


#: code -> its beginning, the code that follows there; the instruction in it to which the beginning jumps, and
#: that whose handlers are around the last instruction in front of the jump
_prefixes: CodeTable[tuple[CodeType, weakref.ref[CodeType], int, int | None]] = CodeTable()


def remember_prefix(code: CodeType, head: CodeType, rest: CodeType, target: int, seen_at: int | None) -> None:
    """`code` is `head` and then `rest`. Its instructions are not read anew, but those of `rest` moved."""
    _prefixes[code] = (head, weakref.ref(rest), target, seen_at)


def _behind_prefix(head: CodeType, rest: CodeType, target: int, seen_at: int | None) -> Decoded:
    raw = dialect.raw_instructions(head)
    count = len(raw)
    lines = [item.positions[0] or head.co_firstlineno for item in raw]
    first = [_instruction(i, item, target + count, lines[i]) for i, item in enumerate(raw)]
    decoded = decode(rest)

    def moved(item: Instruction) -> Instruction:
        jump = None if item.target is None else item.target + count
        return replace(item, index=item.index + count, target=jump)

    def moved_handler(item: Handler | None) -> Handler | None:
        return None if item is None else replace(item, target=item.target + count)

    handlers: list[Handler | None] = [None] * count
    if seen_at is not None:
        handlers[-2] = moved_handler(decoded.handlers[seen_at])  # in front of the jump
    return Decoded(
        Later(first, decoded.instructions, moved), Later(handlers, decoded.handlers, moved_handler)
    )


def _decode(code: CodeType) -> Decoded:
    raw = dialect.raw_instructions(code)
    offsets = [i.offset for i in raw]
    instructions = []
    line = code.co_firstlineno
    for index, item in enumerate(raw):
        line = line if item.positions[0] is None else item.positions[0]
        target = bisect_left(offsets, item.argval) if item.opname in dialect.JUMPS else None
        instructions.append(_instruction(index, item, target, line))
    return Decoded(tuple(instructions), _handlers(code, offsets))


def _instruction(index: int, item: dialect.RawInstruction, target: int | None, line: int) -> Instruction:
    jump = item.opname in dialect.JUMPS
    return Instruction(
        index, item.opname, item.arg, item.argval, target if jump else None, line, item.positions
    )


def _handlers(code: CodeType, offsets: list[int]) -> tuple[Handler | None, ...]:
    """`offsets`: of the instructions. What begins between two of them begins at the later one."""
    handlers: list[Handler | None] = [None] * len(offsets)
    for entry in dialect.exception_table(code):
        handler = Handler(bisect_left(offsets, entry.target), entry.depth, entry.lasti)
        for index in range(bisect_left(offsets, entry.start), bisect_left(offsets, entry.end)):
            handlers[index] = handler
    return tuple(handlers)
