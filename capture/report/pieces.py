"""The names of the pieces of captured functions, and of the captures of each piece.

In:  the code objects of functions and of their resume functions.
Out: a `Piece` for each code object: its number in its function, its name, how often it was captured.

    piece_of(scale.__code__).next_capture()     ->    "scale [0/0]", then "scale [0/1]"
    piece_of(its first resume function)         ->    "scale [1/0, resumed at line 6]"

The first number is the piece; 0 is the function itself. The second number is the capture of that piece.
"""

from __future__ import annotations

from types import CodeType

from cache.code_table import CodeTable


class Piece:
    """One code object of a function. `line`: where a resume function goes on.

    made: how many resume functions the function has (of piece 0 alone). captures: how often the piece was
    captured since the last reset.
    """

    def __init__(self, function: str, number: int = 0, line: int | None = None) -> None:
        self.function = function
        self.number = number
        self.line = line
        self.made = 0
        self.captures = 0

    @property
    def name(self) -> str:
        """The name of the piece, for all its captures."""
        return self.function if self.line is None else f"{self.function} [{self.number}{self._place()}]"

    def name_of_capture(self, capture: int) -> str:
        return f"{self.function} [{self.number}/{capture}{self._place()}]"

    def next_capture(self) -> int:
        self.captures += 1
        return self.captures - 1

    def _place(self) -> str:
        return "" if self.line is None else f", resumed at line {self.line}"


_pieces: CodeTable[Piece] = CodeTable()


def piece_of(code: CodeType) -> Piece:
    piece = _pieces.get(code)
    if piece is None:
        piece = _pieces[code] = Piece(code.co_qualname)
    return piece


def note_resumed(code: CodeType, original: CodeType, line: int) -> None:
    """`code` resumes `original` at this line. The pieces have the order in which they were made."""
    whole = piece_of(original)
    whole.made += 1
    _pieces[code] = Piece(whole.function, whole.made, line)


def forget_captures() -> None:
    """Count the captures from 0 again. The pieces keep their numbers."""
    for piece in _pieces.values():
        piece.captures = 0
