"""The limits of one translation.

In:  each instruction that is interpreted, each value of the program that will be guarded.
Out: a graph break after the limit. Where a capture has to pay, the attempt ends there: a graph of so many
     instructions costs more than it gains.
"""

from __future__ import annotations

from types import CodeType

from cache.code_table import CodeTable
from capture.report.break_reasons import GraphBreak
from capture.report.config import config
from capture.report.retry import TooLong

#: values of the program that one capture may guard; some need two of the 65,536 registers of a guard program
MOST_PLACES = 40_000


#: what part of `config.max_instructions` a capture may take that has to pay
HAS_TO_PAY = 2

#: code that needed more than that: the next caller need not try
_too_long: CodeTable[bool] = CodeTable()


def remember_too_long(code: CodeType) -> None:
    _too_long[code] = True


def forget_too_long() -> None:
    _too_long.clear()


class Budget:
    """The part of an `OutputGraph` that counts."""

    def __init__(self, has_to_pay: bool) -> None:
        self.has_to_pay = has_to_pay
        self.instructions = 0
        self.places = 0  # places of the program whose values are guarded

    def count_instruction(self, limited: bool = True) -> None:
        """Count an instruction. `limited`: the graph may break here."""
        self.instructions += 1
        if self.has_to_pay and self.instructions > config.max_instructions // HAS_TO_PAY:
            raise TooLong
        if limited and self.instructions > config.max_instructions:
            raise GraphBreak("too_many_instructions", limit=str(config.max_instructions))

    def refuses(self, code: CodeType) -> bool:
        """Whether a call of this code would not pay as a part of the graph."""
        return self.has_to_pay and code in _too_long

    def count_place(self) -> None:
        """Count a value of the program that will be guarded."""
        self.places += 1
        if self.places > MOST_PLACES:
            raise GraphBreak("too_many_places", limit=str(MOST_PLACES))
