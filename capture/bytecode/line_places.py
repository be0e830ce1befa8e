"""Where the instructions of new code stand in the program's source.

In:  a Bytecode with the locations of the frame's own instructions, None for those that were added.
Out: those have the frame's first line, and each is a location that the assembler can write.

The assembler gives columns of 128 and more one byte that the table of lines has no room for: the table would
claim more code than there is, and the interpreter writes past its memory when the code is traced. Such a
place keeps its line only.
"""

from __future__ import annotations

from bytecode import Bytecode, Instr
from bytecode.instr import InstrLocation

FAR = 128  # columns from here on


def fill_places(code: Bytecode, first_line: int) -> None:
    start = InstrLocation(first_line, None, None, None)
    for item in code:
        if isinstance(item, Instr) and item.location is None:
            item.location = start


def cut_far_places(code: Bytecode) -> None:
    for index, item in enumerate(code):
        if isinstance(item, Instr) and item.location is not None and is_far(item.location):
            code[index] = placed = item.copy()
            placed.location = InstrLocation(item.location.lineno, item.location.lineno, None, None)


def is_far(place: InstrLocation) -> bool:
    ends = (place.col_offset, place.end_col_offset)
    return place.lineno == place.end_lineno and any(end is not None and end >= FAR for end in ends)
