"""What the instructions of CPython 3.11 do to the stack.

In:  instructions, and what lies on the stack before them.
Out: what lies there behind them; which items they leave alone.

    untouched(4, BINARY_OP)     ->     (2, 3): the two lowest of four items stay as they are, three are left
"""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

from capture.bytecode.stack_items import NULL, VALUE

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction

CODE_UNIT = 2  # bytes of an instruction without its cache
#: these are parts of other instructions
FOLDED = frozenset(("CACHE", "EXTENDED_ARG"))
JUMPS = frozenset(dis.opname[number] for number in (*dis.hasjrel, *dis.hasjabs))
ALWAYS_JUMPS = frozenset(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"))
#: takes the next item of the iterator on top of the stack, and leaves the iterator there
STEPS_LOOP = frozenset(("FOR_ITER",))

_CACHES: Sequence[int] = dis._inline_cache_entries  # type: ignore[attr-defined]
#: take a tuple or list apart
UNPACKS = frozenset(("UNPACK_SEQUENCE", "UNPACK_EX"))
_PUSHES_NOTHING_NEW = frozenset(
    ("LIST_APPEND", "SET_ADD", "MAP_ADD", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE")
)
_POPS = ("POP_", "STORE_", "DELETE_", "RAISE", "RERAISE", "JUMP_IF")
#: The arguments of a call are taken at CALL.
_TOUCHES_NOTHING = ALWAYS_JUMPS | {"NOP", "RESUME", "PRECALL", "KW_NAMES", "MAKE_CELL", "COPY_FREE_VARS"}
_IS_SENT_NONE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class BareInstruction(NamedTuple):
    """An instruction without its value and its line, which take most of the time of `dis`."""

    offset: int
    name: str
    arg: int | None
    target: int | None  # of a jump: an offset
    places: range  # the offsets at which a frame may stand while it runs: its own, and those of its cache


def bare_instructions(code: CodeType) -> Iterator[BareInstruction]:
    for offset, number, arg in dis._unpack_opargs(code.co_code):  # type: ignore[attr-defined]
        name = dis.opname[number]
        if name in FOLDED:
            continue
        distance = -arg if "JUMP_BACKWARD" in name else arg
        target = offset + CODE_UNIT * (1 + distance) if name in JUMPS else None
        places = range(offset, offset + CODE_UNIT * (1 + _CACHES[number]), CODE_UNIT)
        yield BareInstruction(offset, name, arg, target, places)


def depth_at_start(code: CodeType) -> int:
    """The number of items on the stack when the code begins."""
    return 1 if code.co_flags & _IS_SENT_NONE else 0


def untouched(depth: int, instruction: BareInstruction, by_jump: bool) -> tuple[int, int]:
    """How many of the lowest items an instruction neither takes nor replaces, and the depth behind it."""
    kept, after = _change(instruction.name, instruction.arg, by_jump)
    return depth + kept, depth + after


@functools.lru_cache(maxsize=4096)  # a program has few of them, each many times
def _change(name: str, arg: int | None, by_jump: bool) -> tuple[int, int]:
    """The numbers of `untouched`, beyond the depth."""
    if name in _TOUCHES_NOTHING:
        return 0, 0
    if name == "SWAP":
        return -(arg or 0), 0
    after = _effect(name, arg, by_jump)
    return after - len(_new_items(name, arg, by_jump)), after


def stack_after(before: Sequence[str], instruction: Instruction, by_jump: bool) -> list[str]:
    """Kinds of the stack items after an instruction, from the kinds `before` it."""
    new = _new_items(instruction.name, instruction.arg, by_jump)
    kept = len(before) + _effect(instruction.name, instruction.arg, by_jump) - len(new)
    return [*before[:kept], *new]


def _effect(name: str, operand: int | None, by_jump: bool) -> int:
    """By how many items the stack grows. CALL includes PRECALL."""
    if name == "CALL":
        return -((operand or 0) + 1)
    if name == "LOAD_METHOD":
        return 1
    if name in UNPACKS:
        return len(_new_items(name, operand, by_jump)) - 1
    if name == "LOAD_GLOBAL":
        return len(_new_items(name, operand, by_jump))
    taken = operand if dis.opmap[name] >= dis.HAVE_ARGUMENT else None
    return dis.stack_effect(dis.opmap[name], taken, jump=by_jump)


def _new_items(name: str, operand: int | None, by_jump: bool) -> list[str]:
    """Kinds of the items that the instruction pushes."""
    arg = operand or 0
    if name == "LOAD_METHOD" or (name == "LOAD_GLOBAL" and arg & 1):
        return [NULL, VALUE]
    if name in UNPACKS:
        return [VALUE] * ((arg & 0xFF) + (arg >> 8) + (name == "UNPACK_EX"))
    if name in STEPS_LOOP:
        return [] if by_jump else [VALUE]
    if name.startswith(_POPS) or name in _PUSHES_NOTHING_NEW:
        return []
    return [VALUE] * (2 if name == "BEFORE_WITH" else 1)
