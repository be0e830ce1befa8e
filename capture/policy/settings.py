"""The settings of a capture, and the types of frames, backends and converters.

In:  the checked arguments of `enable()`.
Out: `CaptureSettings`. `FrameLike`, `Backend` and `FrameConverter` are names for annotations.

    enable("llvm", fullgraph=True)
        ->   CaptureSettings(backend=llvm_backend, backend_name="llvm", fullgraph=True, dynamic=None)
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from codegen.kernel.records import dataclass

if TYPE_CHECKING:
    import torch
    import torch.fx

    CompiledCallable: TypeAlias = Callable[..., Sequence[Any]]
    Backend: TypeAlias = Callable[[torch.fx.GraphModule, list[torch.Tensor]], CompiledCallable]


@dataclass(frozen=True)
class CaptureSettings:
    """The settings of a capture. Equal settings share cache entries.

    backend: the callable with its options bound.
    dynamic: None if config.dynamic decides.
    tag: a unique object makes the settings unequal to all others, so that they share no entries (explain).
    """

    backend: Any
    backend_name: str
    fullgraph: bool = False
    dynamic: bool | None = None
    options: tuple[tuple[str, Any], ...] = ()
    tag: Any = None

    @property
    def key(self) -> CaptureSettings:
        """The key of the entries. `capture/hooks/converters.py` has one object for equal settings."""
        return self


class FrameLike(Protocol):
    """The argument of a converter: `_capture.Frame`, or the equivalent of the settrace hook.

    locals: one item for each of `code.co_nlocalsplus`, `_capture.NULL` if it is unbound.
    failures: (entry, guard index) of each entry that did not fit.
    """

    code: types.CodeType
    function: types.FunctionType
    globals: dict[str, Any]
    builtins: dict[str, Any]
    locals: tuple[Any, ...]
    failures: tuple[tuple[Any, int], ...]


class FrameConverter(Protocol):
    """The callback of a hook: captures the frame and returns its new entry, or None to leave it to Python."""

    def __call__(self, frame: FrameLike) -> Any: ...
