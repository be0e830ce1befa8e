"""Graph breaks that are known before the translation of their frame.

A break deep in a chain of calls breaks each frame of the chain. The captured frame breaks at its call. Then
Python makes that call, and the next frame breaks at its own call, and so on. The first translation went
through the whole chain, so each later translation knows where to stop.

In:  the break, with the frames that it passed.
Out: `of(code)`: the break of the frame that Python enters next. Each break is used once. The first frame
     outside of the chain ends the chain.

    f calls g, g breaks at its 5th instruction    ->    of(g.__code__): ExpectedBreak(steps=4, ...)
"""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING

from capture_records import dataclass

if TYPE_CHECKING:
    from capture.interpret.translator import Translator
    from capture.report.break_reasons import GraphBreak


@dataclass(frozen=True)
class ExpectedBreak:
    """The instruction at `index` breaks; `steps` instructions are done before it."""

    steps: int
    index: int
    signal: GraphBreak

    def is_where(self, tx: Translator) -> bool:
        """Whether `tx` took the same way as it did when its caller was translated."""
        return tx.steps == self.steps and tx.index == self.index


class ExpectedBreaks:
    def __init__(self) -> None:
        self._by_code: dict[
            CodeType, list[ExpectedBreak]
        ] = {}  # a recursion has several, the outermost is last

    def of(self, code: CodeType) -> ExpectedBreak | None:
        held = self._by_code.get(code)
        if not held:
            self._by_code.clear()
            return None
        return held.pop()

    def remember(self, signal: GraphBreak) -> None:
        """Remember the breaks of the captured frame's callees. `signal` also breaks the frame itself."""
        self._by_code.clear()
        for depth, (code, steps, index) in enumerate(signal.frames[:-1], 1):
            self._by_code.setdefault(code, []).append(ExpectedBreak(steps, index, signal.as_seen_from(depth)))
