"""The arguments of `capture.enable` as settings.

In:  a backend, its options, `fullgraph`, `dynamic`.
Out: `CaptureSettings`; equal arguments give equal settings.

    make_settings("llvm", options={"freeze": True})
        ->   CaptureSettings(partial(llvm_backend, freeze=True), ...)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from capture.backends.registry import backend_name, resolve
from capture.policy.settings import CaptureSettings
from capture.report.arguments import shown
from capture.report.config import config
from capture.report.errors import UsageError, did_you_mean
from capture.report.log import warn_once
from codegen.launch.host_memory import keep_memory_mapped, large_heap, welcome_huge_pages

if TYPE_CHECKING:
    from capture.policy.settings import Backend


def make_settings(
    backend: str | Backend,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    options: Mapping[str, Any] | None = None,
    tag: Any = None,
) -> CaptureSettings:
    """Check the arguments of `enable` and make settings of them."""
    if type(fullgraph) is not bool:
        raise UsageError(f"fullgraph must be True or False, not {shown(fullgraph)}")
    if dynamic is not None and type(dynamic) is not bool:
        raise UsageError(f"dynamic must be True, False or None, not {shown(dynamic)}")
    if options is not None and not isinstance(options, Mapping):
        raise UsageError(f"options must be a dict of the backend's options, not {shown(options)}")
    if config.large_heap:
        large_heap()
    if config.keep_memory_mapped:
        keep_memory_mapped()
    welcome_huge_pages(config.huge_pages)
    function = resolve(backend, options)
    named = tuple(sorted(options.items())) if options else ()
    return CaptureSettings(function, backend_name(backend), fullgraph, dynamic, named, tag)


#: of torch.compile; our backend has only one mode
MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def check_mode(mode: str | None) -> None:
    if mode not in MODES:
        raise UsageError(f"no mode is named {mode!r}: {did_you_mean(str(mode), filter(None, MODES))}")
    if mode not in MODES[:2]:
        warn_once(
            None,
            f"mode {mode}",
            f"mode={mode!r} changes nothing, because there is one mode only: leave it out",
        )
