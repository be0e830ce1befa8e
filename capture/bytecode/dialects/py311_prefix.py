"""Instructions in front of existing code, whose own bytes stay as they are but for the places of locals.

In:  a code object; new first instructions; the names of the arguments; which of its own instructions comes
     next.
Out: the new code object, and its beginning alone. Cells are free variables in it, because the caller gives
     them. None where a local would need an instruction of another length: then the library `bytecode` has to
     write the whole code.

    with_prefix(f, [("RESUME", 0), ("LOAD_FAST", "x")], ("x",), 12)    ->    those, JUMP_FORWARD, all of f

A jump in 3.11 says how far it goes, so the old ones stay right. A large function with many graph breaks has
many such copies of its code, and the library takes a thousand times longer for each.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

from capture.bytecode.emit import HeldObject, NamedInstruction
from capture_records import dataclass

UNIT = 2  # bytes of an instruction without its cache
_EXTENDED, _JUMP = dis.EXTENDED_ARG, dis.opmap["JUMP_FORWARD"]
_CACHES: Sequence[int] = dis._inline_cache_entries  # type: ignore[attr-defined]
_LOCALS = frozenset((*dis.haslocal, *dis.hasfree))  # their operand is a place among locals and cells
_WITHOUT_COLUMN = 13  # the kind of an entry of the line table


@dataclass(frozen=True)
class _Layout:
    """begins: for each instruction the byte at which it begins, with what extends its operand.
    places: (byte of the operand, place of the local), for each use of a local.
    """

    begins: tuple[int, ...]
    places: tuple[tuple[int, int], ...]


@functools.lru_cache(maxsize=64)
def _layout(code: CodeType) -> _Layout:
    text = code.co_code
    begins, places = [], []
    at, begin, above = 0, 0, 0
    while at < len(text):
        number = text[at]
        if number == _EXTENDED:
            above = (above | text[at + 1]) << 8
            at += UNIT
            continue
        begins.append(begin)
        if number in _LOCALS:
            places.append((at + 1, above | text[at + 1]))
        at += UNIT * (1 + _CACHES[number])
        begin, above = at, 0
    return _Layout(tuple(begins), tuple(places))


def with_prefix(
    original: CodeType,
    items: Sequence[NamedInstruction],
    arguments: Sequence[str],
    target: int,
    seen_at: int | None,
    stack: int,
    flags: int,
) -> tuple[CodeType, CodeType] | None:
    """Behind the items stands a jump to instruction `target`. The last item has the line of instruction
    `seen_at`, and the handlers around that. `stack`: the size of the stack.
    """
    cells = (*original.co_freevars, *original.co_cellvars)
    known = {*arguments, *cells}
    names = (*arguments, *(name for name in original.co_varnames if name not in known))
    layout = _layout(original)
    body = _with_places(original, layout, (*names, *cells))
    if body is None or len(known) < len(arguments) + len(cells):
        return None
    writer = _Writer(original, names)
    for item in items:
        writer.add(*item)
    last = len(writer.text) // UNIT - 1
    writer.add_word(_JUMP, layout.begins[target] // UNIT)
    offset = None if seen_at is None else layout.begins[seen_at]
    lines = writer.lines(last, _lines_to(original, offset))
    code = original.replace(
        co_code=bytes(writer.text) + body,
        co_argcount=len(arguments),
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_nlocals=len(names),
        co_varnames=names,
        co_freevars=cells,
        co_cellvars=(),
        co_consts=tuple(writer.constants),
        co_names=tuple(writer.names),
        co_stacksize=stack,
        co_flags=flags,
        co_linetable=lines + original.co_linetable,
        co_exceptiontable=_moved_table(original, len(writer.text) // UNIT, last, offset),
    )
    head = code.replace(co_code=bytes(writer.text), co_linetable=lines, co_exceptiontable=b"")
    return code, head


def _lines_to(code: CodeType, offset: int | None) -> int:
    """How many lines an instruction stands behind the first one."""
    if offset is None:
        return 0
    lines = (line for begin, end, line in code.co_lines() if begin <= offset < end)
    return (next(lines, None) or code.co_firstlineno) - code.co_firstlineno


def _with_places(original: CodeType, layout: _Layout, names: Sequence[str]) -> bytes | None:
    """The instructions of the original, for locals and cells in the order of `names`."""
    place_of = {name: place for place, name in enumerate(names)}
    own_cells = (name for name in original.co_cellvars if name not in original.co_varnames)
    moved = [place_of[name] for name in (*original.co_varnames, *own_cells, *original.co_freevars)]
    text = bytearray(original.co_code)
    for at, place in layout.places:
        new = moved[place]
        text[at] = new & 255
        if new > 255 or place > 255:
            if max(new, place) > 65535 or at < 3 or text[at - 3] != _EXTENDED:
                return None
            text[at - 2] = new >> 8
    return bytes(text)


class _Writer:
    """Instructions as bytes. Constants and names are those of the original, and then new ones."""

    def __init__(self, original: CodeType, variables: Sequence[str]) -> None:
        self.text = bytearray()
        self.constants = list(original.co_consts)
        self.names = list(original.co_names)
        self.variables = {name: place for place, name in enumerate(variables)}

    def add(self, name: str, operand: Any = 0) -> None:
        number = dis.opmap[name]
        if number in dis.haslocal:
            operand = self.variables[operand]
        elif number in dis.hasconst:
            self.constants.append(operand.value if isinstance(operand, HeldObject) else operand)
            operand = len(self.constants) - 1
        elif number in dis.hasname:
            self.names.append(operand)
            operand = len(self.names) - 1
        self.add_word(number, operand)

    def add_word(self, number: int, operand: int) -> None:
        for shift in (24, 16, 8):
            if operand >> shift:
                self.text += bytes((_EXTENDED, (operand >> shift) & 255))
        self.text += bytes((number, operand & 255))
        self.text += bytes(UNIT * _CACHES[number])

    def lines(self, place: int, further: int) -> bytes:
        """All have the first line of the function, but for the unit at `place`: so many lines further. There
        are no columns.
        """
        behind = len(self.text) // UNIT - place - 1
        return b"".join((_lines(place), _line(1, further), _line(1, -further), _lines(behind - 1)))


def _lines(units: int) -> bytes:
    full, rest = divmod(units, 8)
    return b"".join(_line(length, 0) for length in [8] * full + ([rest] if rest else []))


def _line(units: int, further: int) -> bytes:
    """An entry of the line table: up to 8 units, on a line that is so many lines further."""
    number = -further << 1 | 1 if further < 0 else further << 1
    text = bytearray((0x80 | _WITHOUT_COLUMN << 3 | units - 1,))
    while number > 63:  # six bits a byte, the lowest first
        text.append(0x40 | number & 63)
        number >>= 6
    return bytes((*text, number))


def _moved_table(original: CodeType, units: int, place: int, like: int | None) -> bytes:
    """The exception table for instructions that begin `units` later. The unit at `place` has the handler of
    the one at the offset `like`.
    """
    table = bytearray()
    entries = dis._parse_exception_table(original)  # type: ignore[attr-defined]
    around = (entry for entry in entries if like is not None and entry.start <= like < entry.end)
    moved = [(place, 1, entry) for entry in around]
    moved += [(entry.start // UNIT + units, (entry.end - entry.start) // UNIT, entry) for entry in entries]
    for begin, length, entry in moved:
        numbers = (begin, length, entry.target // UNIT + units, entry.depth << 1 | entry.lasti)
        for index, number in enumerate(numbers):
            digits = list(_digits(number))
            digits[0] |= 0x80 if index == 0 else 0
            table += bytes(digits)
    return bytes(table)


def _digits(number: int) -> Iterator[int]:
    """Six bits a byte, the highest first; all but the last byte say that another follows."""
    shift = 6 * max(0, (number.bit_length() - 1) // 6)
    for place in range(shift, 0, -6):
        yield 0x40 | (number >> place) & 63
    yield number & 63
