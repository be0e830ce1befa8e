"""A code object as a list of instructions, with indices for jump targets and exception handlers.

In:  a code object.
Out: `Decoded`: `instructions[i]`, and `handlers[i]`, the `Handler` of the innermost try block around it.

    LOAD_FAST x; POP_JUMP_FORWARD_IF_FALSE to 12  ->  Instruction("POP_JUMP_FORWARD_IF_FALSE", target=5, ...)
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from types import CodeType
from typing import Any

from capture.bytecode.dialects import dialect


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


@dataclass(frozen=True, slots=True)
class Decoded:
    code: CodeType
    instructions: tuple[Instruction, ...]
    handlers: tuple[Handler | None, ...]


@functools.lru_cache(maxsize=4096)
def decode(code: CodeType) -> Decoded:
    """The instructions of `code`, without parts of other instructions.

    A jump to such a part becomes a jump to the next instruction.
    """
    raw = dialect.raw_instructions(code)
    offsets = [i.offset for i in raw]
    index_at = _index_by_offset(code, offsets)
    instructions = []
    line = code.co_firstlineno
    for index, item in enumerate(raw):
        jump = item.opname in dialect.JUMPS
        positions: tuple[Any, ...] = item.positions or (None, None, None, None)
        if item.positions is not None and item.positions.lineno is not None:
            line = item.positions.lineno
        instructions.append(
            Instruction(
                index=index,
                name=item.opname,
                arg=item.arg,
                value=item.argval,
                target=index_at[item.argval] if jump else None,
                line=line,
                positions=tuple(positions),
            )
        )
    return Decoded(code, tuple(instructions), _handlers(code, offsets, index_at))


def _index_by_offset(code: CodeType, offsets: list[int]) -> dict[int, int]:
    """For each offset in the code the index of the first instruction that starts there or later."""
    result: dict[int, int] = {}
    position = 0
    for offset in range(0, len(code.co_code) + dialect.CODE_UNIT, dialect.CODE_UNIT):
        while position < len(offsets) and offsets[position] < offset:
            position += 1
        result[offset] = position
    return result


def _handlers(code: CodeType, offsets: list[int], index_at: dict[int, int]) -> tuple[Handler | None, ...]:
    handlers: list[Handler | None] = [None] * len(offsets)
    for entry in dialect.exception_table(code):
        handler = Handler(index_at[entry.target], entry.depth, entry.lasti)
        for index in range(index_at[entry.start], index_at[entry.end]):
            handlers[index] = handler
    return tuple(handlers)
