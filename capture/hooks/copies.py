"""What copy and pickle make of a compiled or a disabled function.

In:  a function of ours, which runs a target in a region.
Out: its name, if the name leads to it (a decorated function); else another compiled function, of the copied
     or unpickled target. A function is not copied, as Python copies none.

    pickle.loads(pickle.dumps(compile(f)))       ->   compile(f), in the same settings
    copy.deepcopy(compile(model.generate))       ->   compile(copy.deepcopy(model).generate)

What pickle can't write of the target (a lambda) fails as it does for the target. cloudpickle writes functions
by their parts: `Region.around` makes one whose parts can be written.
"""

from __future__ import annotations

import copy
import sys
import types
from collections.abc import Callable
from typing import Any


class Copies:
    """The extension calls the methods, with the compiled function."""

    def __init__(self, compiled: Callable[[Any], Any], target: Any) -> None:
        self._compiled = compiled
        self._target = target

    def pickled(self, function: Any) -> Any:
        if _named(function) is function:
            return function.__qualname__
        return self._compiled, (self._target,)

    def copied(self, function: Any) -> Any:
        return self._of(copy.copy(self._target), function)

    def deep_copied(self, function: Any, memo: dict[int, Any]) -> Any:
        return self._of(copy.deepcopy(self._target, memo), function)

    def _of(self, target: Any, function: Any) -> Any:
        return function if target is self._target else self._compiled(target)


def remember_copies(function: Any, compiled: Callable[[Any], Any], target: Any) -> None:
    """`compiled(target)` makes another function like this one. Without the extension it is a plain function,
    of which copy and pickle know the name alone.
    """
    if type(function) is not types.FunctionType:
        function.copies = Copies(compiled, target)


def _named(function: Any) -> Any:
    """What the name of the function leads to, None if it leads nowhere."""
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found
