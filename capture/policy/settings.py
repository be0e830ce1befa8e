"""The settings of a capture, and the types of frames, backends and converters.

In:  the checked arguments of `enable()`.
Out: `CaptureSettings`. `FrameLike`, `Backend` and `FrameConverter` are names for annotations.

    enable("llvm", fullgraph=True)
        ->   CaptureSettings(backend=llvm_backend, backend_name="llvm", fullgraph=True, dynamic=None)
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from capture.report.config import config
from capture_records import dataclass

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
    key: that of the cache entries. A converter has one (`capture/hooks/converters.py`).
    """

    backend: Any
    backend_name: str
    fullgraph: bool = False
    dynamic: bool | None = None
    options: tuple[tuple[str, Any], ...] = ()
    tag: Any = None
    key: Any = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def dynamic_sizes(self) -> bool | None:
        return config.dynamic if self.dynamic is None else self.dynamic


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
    """The callback of a hook: captures the frame and returns its new entry, or None to leave it to Python.

    learned: what earlier processes have learned of the program (`capture.stored.learned.Learned`).
    """

    learned: Any

    def __call__(self, frame: FrameLike) -> Any: ...
