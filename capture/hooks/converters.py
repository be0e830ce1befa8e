"""Converters and keys: one key for equal settings.

In:  `CaptureSettings`.
Out: `converter_for(settings)`: a converter for these settings, and their key. Each cache entry has the key
     of its settings.

    enable("eager") twice   ->   the same key: the second block runs the entries of the first

The hook compares keys by identity, so equal settings must have one object. A key and its entries live as long
as the backend, and keep no backend alive.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, ref

from cache.entries import remove_entries_of
from capture.policy.settings import CaptureSettings, FrameConverter

T = TypeVar("T", bound=Callable[..., FrameConverter])


class Key:
    """What entries of equal settings have in common.

    memory: what the converters of these settings know together; the first of them makes it.
    """

    def __init__(self) -> None:
        self.memory: Any = None


class _KeysOfBackend(dict[Any, Key]):
    """The keys of one backend, by the other settings. When the backend dies, their entries go."""

    def __init__(self, backend: Any) -> None:
        # local names: at shutdown the modules are cleared before the backends die
        remove, is_finalizing = remove_entries_of, sys.is_finalizing

        def on_death(_: Any) -> None:
            if not is_finalizing():
                for key in self.values():
                    remove(key)

        self._backend = ref(backend, on_death)


#: an RLock: a collection may end a backend in the middle
_lock = threading.RLock()
_makers: list[Callable[[CaptureSettings], FrameConverter]] = []
_keys: WeakKeyDictionary[Any, _KeysOfBackend] = WeakKeyDictionary()


def makes_converters(cls: T) -> T:
    """Decorator for the only class of converters."""
    _makers.append(cls)
    return cls


def converter_for(settings: CaptureSettings) -> tuple[FrameConverter, Key]:
    """A converter of these settings and their key.

    Settings that can't be hashed (an option is a list) get a new key each time. So do those of a backend that
    allows no weak reference.
    """
    backend, others = _parts(settings)
    try:
        with _lock:
            of_backend = _keys.get(backend)
            if of_backend is None:
                of_backend = _keys.setdefault(backend, _KeysOfBackend(backend))
            key = of_backend.get(others)
            if key is None:
                key = of_backend.setdefault(others, Key())
    except TypeError:
        key = Key()
    (make,) = _makers
    return make(dataclasses.replace(settings, key=key)), key


def _parts(settings: CaptureSettings) -> tuple[Any, tuple[Any, ...]]:
    """The object whose life counts, and all else. Bound methods are made anew by each look-up, and so is a
    partial function that binds the options.
    """
    backend: Any = settings.backend
    if settings.options:
        backend = getattr(backend, "func", backend)
    function = None
    if isinstance(backend, types.MethodType):
        backend, function = backend.__self__, backend.__func__
    of_region = (settings.backend_name, settings.fullgraph, settings.dynamic, settings.options, settings.tag)
    return backend, (function, *of_region)


def forget(settings: CaptureSettings) -> None:
    """Release settings that no one will use again (the settings of a finished `explain`)."""
    backend, others = _parts(settings)
    of_backend = _keys.get(backend)
    key = None if of_backend is None else of_backend.pop(others, None)
    if key is not None:
        remove_entries_of(key)


def forget_learned() -> None:
    """The converters forget what earlier processes have learned. They read it again when it is needed."""
    for of_backend in list(_keys.values()):
        for key in list(of_backend.values()):
            if key.memory is not None:
                key.memory.learned.forget()
