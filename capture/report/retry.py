"""Signals: each one ends an attempt to translate a frame, and a new attempt follows.

In:  a fact that the translation learns too late.
Out: a `Retry`, raised during the translation. The loop in `capture/frame/convert.py` catches it. The table in
     `capture/frame/attempts.py` says how the next attempt differs.

    raise SizesAsNumbers("as_strided: ...")   ->   the frame is translated again, and no size is a symbol
    SizesAsNumbers("view: ...", frozenset({"n"}))   ->   the same, but only the argument n is no symbol

The most frequent signal is `GraphBreak`. It is in `break_reasons.py`, together with its reasons.
"""

from __future__ import annotations

from collections.abc import Callable


class Retry(Exception):
    """Control flow inside the translator. Handlers of the program's errors do not catch it."""


class SizesAsNumbers(Retry):
    """An operation can't run on symbols: in the next attempt, what the symbols stand for are numbers.

    `places` has the texts of their sources. None: nothing is a symbol in the next attempt.
    """

    def __init__(self, text: str, places: frozenset[str] | None = None) -> None:
        super().__init__(text)
        self.places = places


class AssertionsAsBreaks(Retry):
    """A graph with assertions can't run twice: in the next attempt, each assertion breaks the graph."""


class UnbackedAsBreaks(Retry):
    """A graph with unbacked symbols can't run twice: in the next attempt, each read of values breaks it."""


class CallsAsBreaks(Retry):
    """A graph that may raise after a write has deferred calls: in the next attempt, they break the graph."""


class ErrorsAsBreaks(Retry):
    """A graph would write to an input before it raises, and the frame changes Python objects: in the next
    attempt, the graph breaks in front of what may raise.
    """


class UnexpectedWay(Retry):
    """The frame did not reach the break that was expected: the next attempt expects none."""


class StateMoved(Retry):
    """The capture itself changed a value that a guard reads: the next attempt starts from the beginning.

    For example, the first import of a module may register its classes in a global table. Conclusions from the
    old value may be wrong now.
    """


class NumbersChange(Retry):
    """The frame gives a number or size that it reads another value: in the next attempt, it is a symbol."""


class ChangingItems(Retry):
    """Statements read items of another kind in each call: in the next attempt, Python runs them.

    `begin` instructions are done before them; they end before the instruction at `end`.
    """

    def __init__(self, place: str, begin: int, end: int) -> None:
        super().__init__(place)
        self.place, self.begin, self.end = place, begin, end


class TooLong(Retry):
    """The capture would not pay: the next attempt does not inline the function that is too long."""


class FirstStep(Retry):
    """The frame makes what its later calls find (gradients, optimizer state): Python runs this call."""


class Uninitialized(Retry):
    """The frame calls a module without its parameters: `initialize` makes them before the next attempt."""

    def __init__(self, name: str, initialize: Callable[[], None]) -> None:
        super().__init__(name)
        self.initialize = initialize
