"""The filters of warnings that a frame has set itself, in a block of `warnings.catch_warnings`.

In:  the class and the text of a warning.
Out: whether these filters drop it: then nothing is left to defer.

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")    # a new list of filters, which only the frame has
        warnings.warn("...")               # dropped
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

from capture.variables.containers.sequence import SequenceVariable
from capture.variables.core.base import realize, realized_item
from capture.variables.core.constant import ConstantVariable

if TYPE_CHECKING:
    from capture.interpret.side_effects import SideEffects
    from capture.variables.core.base import Variable


def drop(effects: SideEffects, category: type[Warning] | None, text: str | None) -> bool:
    """The first filter that fits decides, as in `warnings.warn_explicit`.

    False where the frame has set none, or where that one asks for the module or the line.

    category: None for UserWarning. text: None if it is not known.
    """
    filters = effects.pending_global(vars(warnings), "filters")
    if not isinstance(filters, SequenceVariable):
        return False
    for index in range(len(filters.items)):
        item = realized_item(filters.items, index)
        if not isinstance(item, SequenceVariable) or len(item.items) != 5:
            return False
        action, pattern, wanted, module, line = map(realize, item.items)
        cls = wanted.as_class()
        if cls is not None and not issubclass(category or UserWarning, cls):
            continue
        fits = _fits(pattern, text)
        if cls is None or fits is None or not module.is_exactly(None) or not _is_zero(line):
            return False
        if fits:
            return action.is_exactly("ignore")
    return False


def _fits(pattern: Variable, text: str | None) -> bool | None:
    """None: that is not known."""
    if pattern.is_exactly(None):
        return True
    if text is None or pattern.python_type() is not re.Pattern:
        return None
    found: Any = pattern.real_value().match(text)
    return found is not None


def _is_zero(line: Variable) -> bool:
    return isinstance(line, ConstantVariable) and line.value == 0
