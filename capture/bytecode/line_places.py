"""The source lines and columns of the instructions of new code.

In:  Bytecode in which the frame's own instructions have locations, and added ones have none.
Out: the added instructions have the frame's first line, and the library can write each location.

The library writes one byte too many for columns from 128 on. The table of lines would then claim more code
than there is, and the interpreter would write past its memory while it traces the code. So such a place
keeps only its line.
"""

from __future__ import annotations

from capture.bytecode import library

FAR = 128  # columns from here on


def fill_places(code: library.Bytecode, first_line: int) -> None:
    start = library.InstrLocation(first_line, None, None, None)
    for item in code:
        if isinstance(item, library.Instr) and item.location is None:
            item.location = start


def cut_far_places(code: library.Bytecode) -> None:
    for index, item in enumerate(code):
        if isinstance(item, library.Instr) and item.location is not None and is_far(item.location):
            code[index] = placed = item.copy()
            placed.location = library.InstrLocation(item.location.lineno, item.location.lineno, None, None)


def is_far(place: library.InstrLocation) -> bool:
    ends = (place.col_offset, place.end_col_offset)
    return place.lineno == place.end_lineno and any(end is not None and end >= FAR for end in ends)
