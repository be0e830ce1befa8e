"""Converters and keys: one converter and one key for equal settings.

In:  `CaptureSettings`.
Out: `converter_for(settings)`: the converter for these settings, and their key. Each cache entry has the key
     of its settings.

    enable("eager") twice   ->   the same (converter, key): the second block runs the entries of the first

The hook compares keys by identity, so equal settings must have one object. Keys live as long as the process,
because entries refer to them.
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
    """Decorator for the only class of converters."""
    _makers.append(cls)
    return cls


def converter_for(settings: CaptureSettings) -> tuple[FrameConverter, CaptureSettings]:
    """The converter of these settings and their key.

    Settings that can't be hashed (an option is a list) get a new key each time.
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
    """Release settings that no one will use again (the settings of a finished `explain`)."""
    _converters.pop(settings, None)
