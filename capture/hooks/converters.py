"""Keys: one object for each way to capture.

In:  `CaptureSettings`.
Out: `converter_for(settings)`: the converter that serves these settings, and the key by which a cache entry
     knows that it belongs to them.

    enable("eager") twice   ->   the same (converter, key): the second block runs the entries that the first
    one made

The hook compares keys by identity, so equal settings must have one object. Keys live as long as the process:
entries refer to them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from capture.policy.settings import CaptureSettings, FrameConverter

T = TypeVar("T", bound=Callable[..., FrameConverter])

_lock = threading.Lock()
_makers: list[Callable[[CaptureSettings], FrameConverter]] = []
_converters: dict[CaptureSettings, tuple[FrameConverter, CaptureSettings]] = {}


def makes_converters(cls: T) -> T:
    """Decorator: the one class of converters."""
    _makers.append(cls)
    return cls


def converter_for(settings: CaptureSettings) -> tuple[FrameConverter, CaptureSettings]:
    """The converter of these settings and their key. What can't be hashed (an option that is a list) gets a
    key of its own each time.
    """
    try:
        found = _converters.get(settings)
    except TypeError:
        return _make(settings)
    if found is not None:
        return found
    with _lock:
        return _converters.setdefault(settings, _make(settings))


def _make(settings: CaptureSettings) -> tuple[FrameConverter, CaptureSettings]:
    (make,) = _makers
    return make(settings), settings


def forget(settings: CaptureSettings) -> None:
    """Let go of settings that nobody will use again (those of a finished `explain`)."""
    _converters.pop(settings, None)
