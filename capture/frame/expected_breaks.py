"""Breaks that are known before their frame is translated.

A break deep in a chain of calls breaks each frame of the chain in turn: the captured frame at its call, then,
when Python makes that call, the next frame at its own, and so on. All of them were met by the first
translation, which went through the whole chain; each later one is told where to stop.

In:  the break, with the frames that it passed.
Out: `of(code)`: how far the frame that Python enters next gets. Used once; the first frame that is not of the
     chain ends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from capture.interpret.translator import Translator
    from capture.report.break_reasons import GraphBreak


@dataclass(frozen=True)
class ExpectedBreak:
    """`steps` instructions are done before the one at `index`, which breaks."""

    steps: int
    index: int
    signal: GraphBreak

    def is_where(self, tx: Translator) -> bool:
        """Whether `tx` has gone the way that it went as part of its caller."""
        return tx.steps == self.steps and tx.index == self.index


class ExpectedBreaks:
    def __init__(self) -> None:
        self._by_code: dict[CodeType, list[ExpectedBreak]] = {}  # in a recursion several, the outermost last

    def of(self, code: CodeType) -> ExpectedBreak | None:
        held = self._by_code.get(code)
        if not held:
            self._by_code.clear()
            return None
        return held.pop()

    def remember(self, signal: GraphBreak) -> None:
        """`signal` was raised below the captured frame, whose own break it is too."""
        self._by_code.clear()
        for depth, (code, steps, index) in enumerate(signal.frames[:-1], 1):
            self._by_code.setdefault(code, []).append(ExpectedBreak(steps, index, signal.as_seen_from(depth)))
