"""The stance: compiled functions capture as usual, run eagerly, or do not recompile.

In:  `set_stance("fail_on_recompile")`. A call changes the stance of the process. A `with` block changes it
     for the block, and a decorator for each call.
Out: `current()`, for the converters and the regions.

    with capture.set_stance("force_eager"): fast(x)     # as if `fast` were not compiled

Source: torch.compiler.set_stance.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import _capture

from capture.report.arguments import checked_arguments
from capture.report.errors import UsageError, did_you_mean

T = TypeVar("T", bound=Callable[..., Any])

DEFAULT = "default"
FORCE_EAGER = "force_eager"  # neither capture frames nor run entries
EAGER_ON_RECOMPILE = "eager_on_recompile"  # a frame runs eagerly if its code has entries and none fits
FAIL_ON_RECOMPILE = "fail_on_recompile"  # such a frame is an error
STANCES = (DEFAULT, FORCE_EAGER, EAGER_ON_RECOMPILE, FAIL_ON_RECOMPILE)

_current = DEFAULT


#: the compiled functions of the extension do not call `current`
_tell_extension = getattr(_capture, "run_eagerly", bool)


def current() -> str:
    return _current


def _become(stance: str) -> str:
    """Change the stance, and return the stance before."""
    global _current
    before, _current = _current, stance
    _tell_extension(stance == FORCE_EAGER)
    return before


class set_stance:
    """Change the stance from now on, in a `with` block, or (as a decorator) in each call of a function."""

    @checked_arguments
    def __init__(self, stance: str = DEFAULT) -> None:
        if stance not in STANCES:
            raise UsageError(f"no stance is named {stance!r}: {did_you_mean(str(stance), STANCES)}")
        self.stance = stance
        self._before = _become(stance)

    def __enter__(self) -> None:
        _become(self.stance)

    def __exit__(self, *exception: object) -> None:
        _become(self._before)

    def __call__(self, fn: T) -> T:
        _become(self._before)

        @functools.wraps(fn)
        def in_stance(*args: Any, **kwargs: Any) -> Any:
            before = _become(self.stance)
            try:
                return fn(*args, **kwargs)
            finally:
                _become(before)

        return in_stance  # type: ignore[return-value]
