"""Regions: blocks and calls with their own hook settings. The end always restores the settings before.

In:  settings and a hook; without a hook it is a region without capture.
Out: a context manager, and functions that run inside such a block.

    region.__enter__()   ->   this thread's hook calls the converter of region.settings
    region.__exit__()    ->   the hook state is as before

Each thread has its own stack of open regions. A region that closes before an inner one is an error. Then all
regions of the thread are closed and the hook is off.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import _capture

from capture.hooks import running_loops, switch
from capture.hooks.converters import converter_for
from capture.policy import patience, stance
from capture.report.errors import UsageError

if TYPE_CHECKING:
    from capture.policy.settings import CaptureSettings

T = TypeVar("T", bound=Callable[..., Any])


class _OpenRegions(threading.local):
    """The regions of one thread: (region, hook state before it) from the outermost to the innermost.

    closed_by_error: regions that an error has closed; their own exit is still to come. following: how many
    regions there are with the innermost one whose frame is followed (`running_loops`), or 0.
    """

    def __init__(self) -> None:
        self.stack: list[tuple[Region, switch.HookState]] = []
        self.closed_by_error: list[Region] = []
        self.following = 0


_open = _OpenRegions()


class Region:
    """A block with its own hook settings. It can be entered again, inside itself and on several threads."""

    def __init__(self, hook: str | None, settings: CaptureSettings | None) -> None:
        self.hook = hook
        self.settings = settings

    def state(self) -> switch.HookState:
        """The hook state of a thread inside this region, for calls that the user asks to capture."""
        if self.settings is None or self.hook is None:
            return switch.OFF
        converter, key = without_capture(converter_for)(self.settings)  # it asks options for their hash
        return switch.HookState(self.hook, converter, key)

    def state_of_block(self) -> switch.HookState:
        """The same for a block, in which not everything pays."""
        state = self.state()
        if state.hook != "pep523" or self.settings is None:
            return state
        return state._replace(converter=patience.patient(state.converter, self.settings))

    def __enter__(self) -> Region:
        inside = switch.OFF if stance.current() == stance.FORCE_EAGER else self.state_of_block()
        block = running_loops.block_in(sys._getframe(1), inside)
        depth = len(_open.stack)
        try:
            _open.stack.append((self, switch.current()))
            switch.switch(inside)
            if block is not None:
                following, _open.following = _open.following, len(_open.stack)
                if not running_loops.follow(block):
                    _open.following = following
        except BaseException:  # Ctrl-C: there will be no exit
            _close_down_to(depth)
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        stack = _open.stack
        if _open.following >= len(stack) > 0:
            _open.following = 0
            running_loops.leave()
        if stack and stack[-1][0] is self:
            switch.switch(stack.pop()[1])
        elif any(region is self for region, _ in stack):
            inner = stack[-1][0]
            _close_all(self)
            raise UsageError(
                f"{self!r} was disabled before {inner!r}, which was enabled inside it. "
                "All regions of this thread are closed now"
            )
        elif self in _open.closed_by_error:
            _open.closed_by_error.remove(self)
        else:
            raise UsageError(f"{self!r} was disabled, but it was not enabled on this thread")

    def around(self, fn: T) -> T:
        """A wrapper of `fn` that runs each call in this region.

        Calls always end in the reverse order of their begin, so they need no place on the stack. The function
        holds what pickle can write: `fn` and the region.
        """
        inside = self.state()

        @functools.wraps(fn)
        def captured(*args: Any, **kwargs: Any) -> Any:
            before = switch.switch(switch.OFF if stance.current() == stance.FORCE_EAGER else self.state())
            try:
                switch.prepare(self.hook, fn)
                return fn(*args, **kwargs)
            finally:
                switch.switch(before)

        return _natively(_remember(captured, fn), inside, fn)

    def around_calls(self) -> Callable[..., Any]:
        """`operator.call` that runs each call as a block of this region does, if a block captures only what
        pays.
        """
        if self.hook != "pep523" or self.settings is None or not patience.waits(self.settings):
            return operator.call

        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        natively: Callable[..., Any] = _natively(call, self.state_of_block(), operator.call)
        return natively

    def around_method(self, owner: Any, name: str) -> Any:
        """The same for a method of an object. Each call looks it up on the class, because users replace
        `forward` there. An attribute of the object itself may call us, so it is not the method.
        """

        def run(*args: Any, **kwargs: Any) -> Any:
            found = inspect.getattr_static(type(owner), name)
            bind = getattr(type(found), "__get__", None)
            method = found if bind is None else bind(found, owner, type(owner))
            return method(*args, **kwargs)

        return _natively(self.around(run), self.state(), owner, name)


_capture.hold_signals_in(Region.__exit__.__code__)  # what raises in it would leave the block open


def _natively(described: Any, inside: switch.HookState, target: Any, *method: str) -> Any:
    """The same function as a native object. It knows how to be copied, and runs without a Python frame of its
    own, unless its hook is the one in Python.
    """
    native = getattr(_capture, "HookedFunction", None)
    if native is None:
        return described
    in_python = inside.hook == "settrace"
    return native(described, target, inside.converter, inside.key, *method, in_python=in_python)


def _remember(wrapper: Any, fn: Any) -> Any:
    wrapper._capture_original = fn
    wrapper._torchdynamo_inline = fn  # torch.compile and torch.export follow the original in its place
    return wrapper


def original_function(fn: Any) -> Any:
    """The function that a compiled function runs; any other function itself."""
    return getattr(fn, "__dict__", {}).get("_capture_original", fn)


def _close_down_to(depth: int) -> None:
    """Close the regions above this depth, as if they had not begun."""
    if _open.following > depth:
        _open.following = 0
        running_loops.leave()
    if len(_open.stack) > depth:
        before = _open.stack[depth][1]
        del _open.stack[depth:]  # first: a signal may raise as soon as the hook is off
        switch.switch(before)


def _close_all(exiting: Region) -> None:
    """Close every region of this thread. All but `exiting` still wait for their own exit."""
    _open.closed_by_error.extend(region for region, _ in _open.stack if region is not exiting)
    _close_down_to(0)


def disabled(fn: T) -> T:
    """The same as `without_capture`, for the program: without a frame of ours in its tracebacks."""
    wrapper: T = _natively(without_capture(fn), switch.OFF, fn)
    return wrapper


def without_capture(fn: T) -> T:
    """A wrapper of `fn` that runs each call with the hook off."""

    @functools.wraps(fn)
    def disabled(*args: Any, **kwargs: Any) -> Any:
        before = switch.switch(switch.OFF)
        try:
            return fn(*args, **kwargs)
        finally:
            switch.switch(before)

    disabled._torchdynamo_inline = fn  # type: ignore[attr-defined]
    return disabled  # type: ignore[return-value]
