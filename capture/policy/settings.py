"""What the parts of this package expect of each other, as types.

In:  nothing.
Out: `CaptureSettings`, `FrameLike`, `Backend`, `Converter`: names for annotations, and the settings that
     `enable()` was called with.

    enable("llvm", fullgraph=True)   ->   CaptureSettings(backend=llvm_backend, backend_name="llvm",
    fullgraph=True, dynamic=None, options=())
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import torch
    import torch.fx

    CompiledCallable: TypeAlias = Callable[..., Sequence[Any]]
    Backend: TypeAlias = Callable[[torch.fx.GraphModule, list[torch.Tensor]], CompiledCallable]


@dataclass(frozen=True)
class CaptureSettings:
    """One way to capture. Equal settings share cache entries: `capture/hooks/converters.py` has one canonical
    object for them.

    backend is the callable with its options bound in. dynamic None: config.dynamic decides. `tag` sets apart
    what must not share entries with anything else (explain, a compiled function).
    """

    backend: Any
    backend_name: str
    fullgraph: bool = False
    dynamic: bool | None = None
    options: tuple[tuple[str, Any], ...] = ()
    tag: Any = None

    @property
    def key(self) -> CaptureSettings:
        """By which entries know these settings. Only the object that `capture/hooks/converters.py` gives a
        converter is ever used as a key.
        """
        return self


class FrameLike(Protocol):
    """What a converter gets: `_capture.Frame`, or the settrace hook's equivalent.

    locals has an item for each of `code.co_nlocalsplus`, `_capture.NULL` where unbound; failures are (entry,
    guard index) of the entries that were tried and did not fit.
    """

    code: types.CodeType
    function: types.FunctionType
    globals: dict[str, Any]
    builtins: dict[str, Any]
    locals: tuple[Any, ...]
    failures: tuple[tuple[Any, int], ...]


class FrameConverter(Protocol):
    """The callback of a hook: captures the frame and installs an entry, or returns None: run it by Python."""

    def __call__(self, frame: FrameLike) -> Any: ...
