"""The limits of one translation.

In:  each instruction that is interpreted, each value of the program that will be guarded.
Out: a graph break after the limit.
"""

from __future__ import annotations

from capture.report.break_reasons import GraphBreak
from capture.report.config import config

#: values of the program that one capture may guard; some need two of the 65,536 registers of a guard program
MOST_PLACES = 40_000


class Budget:
    """The part of an `OutputGraph` that counts."""

    def __init__(self) -> None:
        self.instructions = 0
        self.places = 0  # places of the program whose values are guarded

    def count_instruction(self, limited: bool = True) -> None:
        """Count an instruction. `limited`: the graph may break here."""
        self.instructions += 1
        if limited and self.instructions > config.max_instructions:
            raise GraphBreak("too_many_instructions", limit=str(config.max_instructions))

    def count_place(self) -> None:
        """Count a value of the program that will be guarded."""
        self.places += 1
        if self.places > MOST_PLACES:
            raise GraphBreak("too_many_places", limit=str(MOST_PLACES))
