"""The switch of the two hooks: each thread has one state.

In:  `HookState(hook, converter, key)`, or `OFF`.
Out: `switch(state)` sets the state of this thread and returns the state before.

    switch(HookState("pep523", converter, key))   ->   OFF; from now on the extension calls `converter` for
                                                       each frame without a fitting entry
    switch(OFF)                                   ->   HookState("pep523", converter, key)

"pep523" is the extension's evaluator. "settrace" is `capture/hooks/settrace.py`, which needs no extension.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import _capture
import torch

import cache
from cache.code_table import CodeTable
from capture.hooks import settrace
from capture.policy import frame_filter
from capture.report.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from capture.policy.settings import FrameConverter

HOOKS = ("pep523", "settrace")


class HookState(NamedTuple):
    """The hook of a thread (None: off), the converter that it calls, and the key of its entries."""

    hook: str | None
    converter: FrameConverter | None
    key: Any


OFF = HookState(None, None, None)
_capture.set_file_owners(frame_filter.FILE_OWNERS)
#: the converter that the extension calls on this thread, and its key
native_callback: Callable[[], tuple[Any, Any]] = getattr(_capture, "get_callback", lambda: (None, None))


def lookup(name: str) -> str:
    """The name itself. UsageError if no hook has this name, or if the extension is not built."""
    if name not in HOOKS:
        raise UsageError(f"no hook is named {name!r}: {did_you_mean(str(name), HOOKS)}")
    if name == "pep523" and not hasattr(_capture, "set_callback"):
        raise UsageError(
            "the extension _capture is not built (pip install -e . builds it); "
            "hook='settrace' works without it"
        )
    return name


def switch(state: HookState) -> HookState:
    """Set the state of this thread, and return the state before."""
    hook, converter, key = state
    if settrace.get_callback()[0] is not None or hook == "settrace":
        return _switch_traced(state)
    native, native_key = _set_native(converter, key)
    return OFF if native is None else HookState("pep523", native, native_key)


def current() -> HookState:
    """The state of this thread."""
    traced, traced_key = settrace.get_callback()
    if traced is not None:
        return HookState("settrace", traced, traced_key)
    native, native_key = native_callback()
    return OFF if native is None else HookState("pep523", native, native_key)


def _switch_traced(state: HookState) -> HookState:
    before = current()
    hook, converter, key = state
    _set_native(*((converter, key) if hook == "pep523" else (None, None)))
    settrace.set_callback(*((converter, key) if hook == "settrace" else (None, None)))
    return before


def _set_native(converter: Any, key: Any) -> tuple[Any, Any]:
    setter = getattr(_capture, "set_callback", None)
    return setter(converter, key) if setter is not None else (None, None)


def prepare(hook: str | None, fn: Any) -> None:
    """Tell the hook that `fn` will be called. So the settrace hook captures the first call already."""
    if hook == "settrace":
        for function in _functions_of(fn):
            settrace.install(function)


def _functions_of(fn: Any) -> list[types.FunctionType]:
    if isinstance(fn, torch.nn.Module):
        candidates = [type(module).forward for module in fn.modules()]
    else:
        candidates = [getattr(fn, "__func__", fn)]
    return [function for function in candidates if isinstance(function, types.FunctionType)]


# --- marks of code objects --------------------------------------------------------------------------------

_left_alone: CodeTable[bool] = CodeTable()


def leave_alone(code: types.CodeType) -> None:
    """Never capture frames of this code, also after `forget_all`."""
    _left_alone[code] = True
    _capture.skip_code(code)


def request(function: Any) -> None:
    """Capture the frames of this function, even if its file is left alone. `leave_alone` still holds."""
    code = frame_filter.request(function)
    if code is not None and code not in _left_alone:
        _capture.unskip_code(code)


def forget_all() -> None:
    """Remove all entries and skip marks of all code objects."""
    settrace.forget_all()
    for code in _capture.all_codes():
        _capture.clear_entries(code)
        if code not in _left_alone:
            _capture.unskip_code(code)
    cache.forget_died()
