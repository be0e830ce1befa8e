"""The instructions of a code object of CPython 3.11, with their values.

In:  a code object.
Out: `RawInstruction`s: what `dis.get_instructions` says of them, without texts and jump labels for people.
     These take most of its time, and each function that is captured is read once.

    LOAD_FAST 0     ->     RawInstruction(offset=2, opname="LOAD_FAST", arg=0, argval="x", positions=(...))
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any, NamedTuple

from capture.bytecode.dialects.py311_stack import CODE_UNIT, FOLDED

Positions = tuple[int | None, int | None, int | None, int | None]


class RawInstruction(NamedTuple):
    """`argval`: the constant or name that the operand means; of a jump, the offset to which it jumps."""

    offset: int
    opname: str
    arg: int | None
    argval: Any
    positions: Positions


Value = Callable[[CodeType, int, int], Any]  # of the code, the operand, and the offset of the instruction


def _itself(code: CodeType, arg: int, offset: int) -> Any:
    return arg


def _jump(backward: bool) -> Value:
    sign = -1 if backward else 1
    return lambda code, arg, offset: offset + CODE_UNIT * (1 + sign * arg)


#: the functions that `str()` and others stand for in an f-string
_CONVERSIONS = tuple(function for function, _ in dis.FORMAT_VALUE_CONVERTERS)  # type: ignore[attr-defined]

_BY_KIND: tuple[tuple[Iterable[int], Value], ...] = (
    (dis.hasname, lambda code, arg, offset: code.co_names[arg]),
    ((*dis.haslocal, *dis.hasfree), lambda code, arg, offset: code._varname_from_oparg(arg)),  # type: ignore[attr-defined]
    (dis.hascompare, lambda code, arg, offset: dis.cmp_op[arg]),
    (dis.hasconst, lambda code, arg, offset: dis.UNKNOWN),  # type: ignore[attr-defined]
    ((dis.opmap["LOAD_CONST"],), lambda code, arg, offset: code.co_consts[arg]),
    ((dis.opmap["LOAD_GLOBAL"],), lambda code, arg, offset: code.co_names[arg >> 1]),
    ((dis.opmap["FORMAT_VALUE"],), lambda code, arg, offset: (_CONVERSIONS[arg & 3], bool(arg & 4))),
)
_VALUES: list[Value] = [_itself] * len(dis.opname)
for _numbers, _value in _BY_KIND:
    for _number in _numbers:
        _VALUES[_number] = _value
for _number in dis.hasjrel:
    _VALUES[_number] = _jump("JUMP_BACKWARD" in dis.opname[_number])


#: loads a variable that is no local one -> what its operand has beside the place of the name, in bits
_LOADS_NAME = {dis.opmap["LOAD_NAME"]: 0, dis.opmap["LOAD_GLOBAL"]: 1}


def names_loaded(code: CodeType) -> set[str]:
    """The names of the globals and builtins that the code reads. To decode it takes ten times as long."""
    found = dis._unpack_opargs(code.co_code)  # type: ignore[attr-defined]
    return {code.co_names[arg >> _LOADS_NAME[number]] for _, number, arg in found if number in _LOADS_NAME}


def raw_instructions(code: CodeType) -> list[RawInstruction]:
    """All instructions but those that are parts of others."""
    positions = list(code.co_positions())
    found = []
    for offset, number, arg in dis._unpack_opargs(code.co_code):  # type: ignore[attr-defined]
        name = dis.opname[number]
        if name not in FOLDED:
            value = None if arg is None else _VALUES[number](code, arg, offset)
            found.append(RawInstruction(offset, name, arg, value, positions[offset // CODE_UNIT]))
    return found
