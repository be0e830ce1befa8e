"""Numbers that a frame counts up.

In:  an augmented assignment to an attribute, a global or an item of a dict: `self.steps += 1`.
Out: `NumbersChange` where the frame has read that number as a constant: the next call finds another one. A
     function that stores it at a second place may put the old one back.

    self.steps += 1; <a hundred operations>    ->    the next attempt takes self.steps for a symbol

That a frame stores another number than it has read shows at its end, too (`capture/frame/attempts.py`). Here
it shows before the rest is translated. The first few attempts ask: each counter of a frame ends one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.bytecode.dialects import dialect
from capture.report.retry import NumbersChange
from capture.variables.core.constant import ConstantVariable

if TYPE_CHECKING:
    from capture.interpret.translator import Translator
    from capture.variables.core.base import Variable
    from guards.sources import Source


def counts_up(tx: Translator, value: Variable) -> bool:
    """Whether the instruction that runs ends an augmented assignment of a number, the only store of its name
    in the function.
    """
    if not (tx.output.watches_counters and isinstance(value, ConstantVariable)):
        return False
    is_counted = type(value.value) in (int, float) and dialect.is_augmented(tx.instructions, tx.index - 1)
    return is_counted and _stores(tx) == 1


def check_counter(tx: Translator, place: Source, value: Variable) -> None:
    """A number that `counts_up` is at that place. Raises NumbersChange."""
    if tx.output.symbols.policy.note_stores([place.text], {place.text: value.as_constant()}, ()):
        raise NumbersChange


def _stores(tx: Translator) -> int:
    """How many instructions of the function are like the one that runs."""
    own = tx.current.name, tx.current.value
    return sum((each.name, each.value) == own for each in tx.instructions)
