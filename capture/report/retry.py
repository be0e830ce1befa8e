"""Signals that end one attempt to translate a frame, each with what the next attempt does in another way.

In:  what the translation found out too late to go on.
Out: a `Retry`, raised anywhere below `capture/frame/convert.py`. The loop there catches it; the table in
     `capture/frame/attempts.py` says how the next attempt differs.

    raise SizesAsNumbers("as_strided: ...")   ->   the frame is translated again, and no size is a symbol

The most frequent one, `GraphBreak`, stands with its reasons in `break_reasons.py`.
"""

from __future__ import annotations

from collections.abc import Callable


class Retry(Exception):
    """Control flow inside the translator. Handlers of the program's errors let it pass."""


class SizesAsNumbers(Retry):
    """An operation can't run on symbols: sizes are numbers from now on."""


class AssertionsAsBreaks(Retry):
    """A graph that holds assertions can't be run again: each assertion breaks the graph from now on."""


class UnbackedAsBreaks(Retry):
    """A graph with numbers that only a run knows can't be run again: each operation that reads values breaks
    the graph from now on.
    """


class UnexpectedWay(Retry):
    """The frame did not come to the break that was expected of it: the next attempt expects none."""


class StateMoved(Retry):
    """Translating or compiling changed what a guard reads, as the first import of a module does that
    registers its classes somewhere. What was concluded from it may hold no more: the next attempt starts
    afresh.
    """


class Uninitialized(Retry):
    """The frame calls a module whose parameters do not exist yet: `initialize` makes them, and the next attempt
    starts afresh.
    """

    def __init__(self, name: str, initialize: Callable[[], None]) -> None:
        super().__init__(name)
        self.initialize = initialize
