"""The hook without the extension: sys.settrace shows it the calls, and dispatchers run the entries.

In:  call events of this thread's Python frames.
Out: functions whose `__code__` is a dispatcher. From the next call on they look for a cache entry of their
     own code, capture the frame if no entry fits, and run the entry.

    f(x), the first call    ->   f runs its own code;  f.__code__ = dispatcher
    f(x), the next call     ->   the dispatcher runs an entry of f's own code; without one it calls
                                 converter(frame) first

A trace function can't replace a frame that has begun, so capture starts at the next call. Results are the
same as with the extension, because converter, entries, guards and continuations are the same. Each frame
costs two more Python calls. While no thread is enabled, functions have their own code.
"""

from __future__ import annotations

import sys
import threading
import types
import weakref
from typing import TYPE_CHECKING, Any

import _capture

from capture.hooks import function_finder
from capture.hooks.dispatcher import Dispatcher, dispatcher_code, dispatcher_of, own_code
from capture.policy import frame_filter
from capture.process import signals

if TYPE_CHECKING:
    from capture.policy.settings import FrameConverter

OUR_PACKAGES = ("capture", "codegen", "guards", "cache", "capture_records")
GENERATOR_KINDS = 0x20 | 0x80 | 0x200  # generator, coroutine, async generator


class _TracedThread(threading.local):
    def __init__(self) -> None:
        self.callback: FrameConverter | None = None
        self.key: Any = None
        self.previous_trace: Any = None
        self.suspended = False


_state = _TracedThread()
_tell_extension = getattr(_capture, "python_hook", bool)
_lock = threading.Lock()
_enabled_threads = 0


class _Installed:
    """A function that has, or had, a dispatcher, and its two code objects."""

    def __init__(self, function: types.FunctionType, dispatching: types.CodeType) -> None:
        number = id(function)
        self.function = weakref.ref(function, lambda _: _dispatched.pop(number, None))
        self.own = function.__code__
        self.dispatching = dispatching


_dispatched: dict[int, _Installed] = {}  # the key is the id of the function


class TracedFrame:
    """The equivalent of `_capture.Frame`."""

    __slots__ = ("builtins", "code", "failures", "function", "globals", "locals")

    def __init__(
        self,
        code: types.CodeType,
        function: types.FunctionType,
        localsplus: tuple[Any, ...],
        failures: tuple[tuple[Any, int], ...],
    ) -> None:
        self.code = code
        self.function = function
        self.globals: dict[str, Any] = function.__globals__
        self.builtins: dict[str, Any] = _builtins_of(function)
        self.locals = localsplus
        self.failures = failures


# --- switching --------------------------------------------------------------------------------------------


def get_callback() -> tuple[FrameConverter | None, Any]:
    """Converter and key of this thread, or (None, None) if it is not enabled."""
    return _state.callback, _state.key


def set_callback(callback: FrameConverter | None, key: Any) -> tuple[FrameConverter | None, Any]:
    """Enable this thread, or disable it (None). Returns the converter and key before.

    The program's own trace function still gets its events.
    """
    previous = get_callback()
    if (callback is None) != (previous[0] is None):
        _enable_thread() if callback is not None else _disable_thread()
    _state.callback, _state.key = callback, key
    return previous


def _enable_thread() -> None:
    global _enabled_threads
    with _lock:
        _enabled_threads += 1
        if _enabled_threads == 1:
            _tell_extension(True)
            _install_all(lambda installed: installed.dispatching)
    _state.previous_trace = sys.gettrace()
    sys.settrace(_on_event)


def _disable_thread() -> None:
    global _enabled_threads
    if sys.gettrace() is _on_event:
        sys.settrace(_state.previous_trace)
    _state.previous_trace = None
    with _lock:
        _enabled_threads -= 1
        if _enabled_threads == 0:
            _tell_extension(False)
            _install_all(lambda installed: installed.own)


def _install_all(choose: Any) -> None:
    for installed in list(_dispatched.values()):
        function = installed.function()
        if function is not None and function.__code__ in (installed.own, installed.dispatching):
            function.__code__ = choose(installed)


def forget_all() -> None:
    """Give every function its own code back, and forget the dispatchers."""
    with _lock:
        _install_all(lambda installed: installed.own)
        _dispatched.clear()


# --- events -----------------------------------------------------------------------------------------------


def _on_event(frame: types.FrameType, event: str, arg: Any) -> Any:
    if event == "call" and not _state.suspended and not _capture.is_skipped(frame.f_code):
        _state.suspended = True
        try:
            _meet(frame)
        finally:
            _state.suspended = False
    previous = _state.previous_trace
    return previous(frame, event, arg) if previous is not None else None


def _meet(frame: types.FrameType) -> None:
    code = frame.f_code
    # The name of the module also covers the methods that `dataclass` generates.
    ours = frame.f_globals.get("__name__", "").partition(".")[0] in OUR_PACKAGES
    if ours or code.co_flags & GENERATOR_KINDS or frame_filter.why_not_captured(code) is not None:
        _capture.skip_code(code)
        return
    function = function_finder.find(frame)
    if function is None:  # several closures of the same code are possible
        _capture.skip_code(code)
    else:
        install(function)


def install(function: types.FunctionType) -> None:
    """Give `function` a dispatcher, unless it has one or its code is skipped."""
    code = function.__code__
    if own_code(code) is not code or code.co_flags & GENERATOR_KINDS or _capture.is_skipped(code):
        return
    dispatcher = Dispatcher(_dispatch, function)
    dispatching = dispatcher_code(dispatcher)
    _capture.skip_code(dispatching)
    _capture.skip_code(dispatcher.positional.__code__)
    with _lock:
        _dispatched[id(function)] = _Installed(function, dispatching)
        function.__code__ = dispatching


# --- dispatching ------------------------------------------------------------------------------------------


def _dispatch(dispatcher: Dispatcher, arguments: tuple[Any, ...]) -> Any:
    """A call of a function that has a dispatcher."""
    function = dispatcher.positional
    if _state.callback is None or _state.suspended or _capture.is_skipped(dispatcher.code):
        return function(*arguments)
    value = _run_frame(dispatcher.code, function, arguments)
    if _capture.is_resume(dispatcher.code):
        return value
    while type(value) is _capture.Continuation:
        value = _resume(value.fn, value.args)
    return value


def _resume(function: types.FunctionType, arguments: tuple[Any, ...]) -> Any:
    """Run a resume function. Only the hook calls it, so it needs no dispatcher."""
    code = own_code(function.__code__)
    if _state.callback is None or _capture.is_skipped(code):  # the code before the break may have disabled us
        return function(*arguments)
    return _run_frame(code, _plain(function), arguments)


def _plain(function: types.FunctionType) -> types.FunctionType:
    """`function` itself, or the `positional` of its dispatcher, which runs its own code."""
    dispatcher = dispatcher_of(function.__code__)
    return function if dispatcher is None else dispatcher.positional


def _run_frame(code: types.CodeType, function: types.FunctionType, arguments: tuple[Any, ...]) -> Any:
    """Run an entry of `code`, else `function`. Arguments are in the order of the frame's locals."""
    _state.suspended = True  # the look-up runs Python code, and this hook must not see it
    try:
        entry, slots = _find_entry(code, function, arguments)
    finally:
        _state.suspended = False
    return function(*arguments) if entry is None else _run_entry(entry, function, arguments, slots)


def _find_entry(
    code: types.CodeType, function: types.FunctionType, arguments: tuple[Any, ...]
) -> tuple[Any, tuple[Any, ...]]:
    """An entry that fits and its slots: an existing entry, or a new one of the converter; else (None, ())."""
    cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    count = len(code.co_varnames) + len(cells) + len(code.co_freevars)
    localsplus = arguments + (_capture.NULL,) * (count - len(arguments))
    failures = []
    # An entry without guards always fits, so it comes last.
    for entry in sorted(_capture.entries(code), key=lambda entry: entry.guards is None):
        if entry.key is _state.key:
            failed, slots = _check(entry, localsplus, function)
            if failed < 0:
                return entry, slots
            failures.append((entry, failed))
    entry = _ask(TracedFrame(code, function, localsplus, tuple(failures)))
    if entry is not None:
        failed, slots = _check(entry, localsplus, function)
        if failed < 0:
            return entry, slots
    return None, ()


def _builtins_of(function: Any) -> dict[str, Any]:
    """The argument has no type, because some type stubs of functions lack the attribute."""
    found: dict[str, Any] = function.__builtins__
    return found


def _check(
    entry: Any, localsplus: tuple[Any, ...], function: types.FunctionType
) -> tuple[int, tuple[Any, ...]]:
    if entry.guards is None:
        return -1, ()
    failed, slots = entry.guards.check(localsplus, function.__globals__, _builtins_of(function), function)
    return failed, slots or ()


def _ask(frame: TracedFrame) -> Any:
    """The entry that the converter makes, or None. No call is traced while the converter runs."""
    callback = _state.callback
    assert callback is not None
    traced = sys.gettrace()
    sys.settrace(None)
    try:
        with signals.deferred():
            return callback(frame)
    finally:
        sys.settrace(traced)


# --- running an entry -------------------------------------------------------------------------------------


def _run_entry(
    entry: Any, function: types.FunctionType, arguments: tuple[Any, ...], slots: tuple[Any, ...]
) -> Any:
    if entry.code is not None:
        _capture.skip_code(entry.code)
        replacement = types.FunctionType(
            entry.code, function.__globals__, function.__name__, None, function.__closure__
        )
        return replacement(*(*arguments, *slots)[: entry.code.co_argcount])
    if entry.graph is not None:
        try:
            outputs = entry.graph(*slots[: entry.inputs])
        except Exception as error:  # Python runs the frame again and raises the error at the user's line
            if entry.on_failure is not None:
                continuation = entry.on_failure(entry, error, slots[: entry.inputs])
                if continuation is not None:
                    return continuation
        else:
            return make_result(entry.result, outputs, slots)
    return function(*arguments)


def make_result(recipe: tuple[Any, ...], outputs: Any, slots: tuple[Any, ...]) -> Any:
    """Run a result recipe: (("out", 0), ("const", 2), ("tuple", 2)) -> (outputs[0], 2)."""
    stack: list[Any] = []
    for name, operand in recipe:
        _RECIPE[name](stack, operand, outputs, slots)
    return stack.pop()


def _take(stack: list[Any], count: int) -> list[Any]:
    taken = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    return taken


_RECIPE: dict[str, Any] = {
    "out": lambda stack, i, outputs, slots: stack.append(outputs[i]),
    "slot": lambda stack, i, outputs, slots: stack.append(slots[i]),
    "const": lambda stack, value, outputs, slots: stack.append(value),
    "tuple": lambda stack, count, outputs, slots: stack.append(tuple(_take(stack, count))),
    "list": lambda stack, count, outputs, slots: stack.append(_take(stack, count)),
    "dict": lambda stack, keys, outputs, slots: stack.append(dict(zip(keys, _take(stack, len(keys))))),
}
