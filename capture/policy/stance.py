"""What compiled functions do for a while: capture as usual, run eagerly, or not be captured again.

In:  `set_stance("fail_on_recompile")`: for the process, from now on; as a `with` block or decorator, for that
     block or call.
Out: `current()`, which the converters and the regions ask.

    with capture.set_stance("force_eager"): fast(x)     # as if `fast` were not compiled

Source: torch.compiler.set_stance.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import _capture

from capture.report.errors import UsageError, did_you_mean

T = TypeVar("T", bound=Callable[..., Any])

DEFAULT = "default"
FORCE_EAGER = "force_eager"  # neither capture nor run what was captured
EAGER_ON_RECOMPILE = "eager_on_recompile"  # what fits no entry runs eagerly, where there is an entry
FAIL_ON_RECOMPILE = "fail_on_recompile"  # or is an error
STANCES = (DEFAULT, FORCE_EAGER, EAGER_ON_RECOMPILE, FAIL_ON_RECOMPILE)

_current = DEFAULT


#: compiled functions of the extension's hook ask nobody
_tell_extension = getattr(_capture, "run_eagerly", bool)


def current() -> str:
    return _current


def _become(stance: str) -> str:
    """Returns the one before."""
    global _current
    before, _current = _current, stance
    _tell_extension(stance == FORCE_EAGER)
    return before


class set_stance:
    """From now on; until the end of a `with` block; or, as a decorator, in each call of the function."""

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
