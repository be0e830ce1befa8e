"""The public functions.

In:  a function, a module, or a block of code; settings for its capture.
Out: the same function, module or block, which is captured when it runs.

    with capture.enable(): train(model, loader)     # every frame called in the block, on this thread
    fast = capture.compile(model)                   # this callable only
"""

from __future__ import annotations

import functools
import sys
import types
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

import torch

from capture.backends.registry import names
from capture.backends.settings import check_mode, make_settings
from capture.bytecode.resume import forget_left, forget_open_locals
from capture.hooks import switch
from capture.hooks.compiled_module import wrap_module
from capture.hooks.converters import forget_learned
from capture.hooks.copies import remember_copies
from capture.hooks.regions import Region, disabled, without_capture
from capture.interpret.budget import forget_too_long
from capture.policy import first_steps, gains, marks, patience
from capture.policy.marks import (
    allow_in_graph,
    assume_constant_result,
    mark_dynamic,
    mark_static,
    maybe_mark_dynamic,
)
from capture.report.arguments import checked_arguments, shown
from capture.report.counters import counters
from capture.report.errors import CaptureWarning, UsageError
from capture.report.log import forget_warnings
from capture.report.pieces import forget_captures
from capture.sizes import policy

if TYPE_CHECKING:
    from capture.policy.settings import Backend

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "disable",
    "enable",
    "graph_break",
    "is_capturing",
    "is_compiling",
    "mark_dynamic",
    "mark_static",
    "maybe_mark_dynamic",
    "reset",
]

T = TypeVar("T", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")


class enable(Region):
    """Capture the code in a `with` block on this thread, or the calls of a wrapped function or module.

    backend: a name (`capture.backends.names()`) or a function (gm, example_inputs) -> callable.
    options: keyword arguments for the backend.
    fullgraph: a graph break is an error (Unsupported).
    dynamic: None: a size that changes becomes a symbol. True: sizes are symbols from the start. False: never.
    hook: "pep523" (the extension) or "settrace" (pure Python, slower).

    Blocks nest: the settings of the inner block hold inside it.
    Errors: UsageError, UnknownBackend, ConfigError.
    """

    @checked_arguments
    def __init__(
        self,
        backend: str | Backend = "llvm",
        *,
        fullgraph: bool = False,
        dynamic: bool | None = None,
        hook: str = "pep523",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        make = without_capture(make_settings)  # it asks options for their hash
        settings = make(backend, fullgraph=fullgraph, dynamic=dynamic, options=options)
        super().__init__(switch.lookup(hook), settings)
        self._name = settings.backend_name
        self._arguments = {
            "backend": backend,
            "fullgraph": fullgraph,
            "dynamic": dynamic,
            "hook": hook,
            "options": options,
        }
        self._unused: _Unused | None = _Unused()

    def __enter__(self) -> enable:
        self.is_used()
        super().__enter__()
        return self

    def is_used(self) -> enable:
        """No warning any more that nothing was captured."""
        if self._unused is not None:
            self._unused.used = True
            self._unused = None
        return self

    def __call__(self, fn: T) -> T:
        """Wrap a function or module."""
        self.is_used()
        return wrap(fn, self, self._arguments)

    def __reduce__(self) -> Any:
        return _enable, (self._arguments,)

    def __repr__(self) -> str:
        return f"enable({self._name!r})"


class _Unused:
    """Dies with a region that was neither entered nor called, and warns: the program forgot the `with`."""

    used = False

    def __del__(self) -> None:
        if not self.used and not sys.is_finalizing():
            text = "capture.enable() alone captures nothing: write `with capture.enable():` around the code"
            warnings.warn(text, CaptureWarning, stacklevel=2)


def _enable(arguments: Mapping[str, Any]) -> enable:
    """The region of a pickled one."""
    return enable(**arguments).is_used()


class _NotGiven:
    """The default of `compile`: a decorator, while None is a mistake."""


_NOT_GIVEN: Any = _NotGiven()


@overload
def compile(
    fn: Callable[P, R],
    *,
    backend: str | Backend = ...,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    hook: str = ...,
    options: Mapping[str, Any] | None = ...,
    mode: str | None = ...,
    disable: bool = ...,
) -> Callable[P, R]: ...
@overload
def compile(
    *,
    backend: str | Backend = ...,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    hook: str = ...,
    options: Mapping[str, Any] | None = ...,
    mode: str | None = ...,
    disable: bool = ...,
) -> Callable[[T], T]: ...
@checked_arguments
def compile(
    fn: Any = _NOT_GIVEN,
    *,
    backend: str | Backend = "llvm",
    fullgraph: bool = False,
    dynamic: bool | None = None,
    hook: str = "pep523",
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
    disable: bool = False,
) -> Any:
    """`fn`, captured whenever it is called; `backend` to `options` are the arguments of `enable`.

    `@capture.compile` and `@capture.compile(backend=...)` both work. A module stays a module of its class. It
    shares parameters, buffers, attributes and state_dict keys with the original, and it can be deep-copied
    and pickled. Methods beside `forward` run as in a block of `enable`, if the program defines them.

    mode: a mode of torch.compile. It changes nothing, because our backend has only one mode.
    disable: return `fn` unchanged.
    Errors: UsageError if `fn` is neither a callable nor a module.
    """
    check_mode(mode)
    if fn is None:
        raise UsageError(
            "compile(None): write capture.compile(model), or @capture.compile() above a function"
        )
    region = enable(backend, fullgraph=fullgraph, dynamic=dynamic, hook=hook, options=options)
    region.is_used()
    if disable:
        return _unchanged if fn is _NOT_GIVEN else fn
    return region if fn is _NOT_GIVEN else region(fn)


def _unchanged(fn: T) -> T:
    return fn


def wrap(fn: Any, region: Any, arguments: Mapping[str, Any]) -> Any:
    """A function or module that runs in `region`. `arguments` make the same region after unpickling."""
    target = fn
    if isinstance(fn, WITHOUT_A_FRAME):
        fn = _in_a_frame(fn)
    switch.request(fn)
    if isinstance(fn, torch.nn.Module):
        return wrap_module(fn, region, rewrap, arguments)
    if isinstance(fn, type):
        raise UsageError(f"capture a class by its instances or methods: {fn.__qualname__} is a class")
    if not callable(fn):
        raise UsageError(_why_not_callable(fn))
    captured = region.around(fn)
    remember_copies(captured, region, target)
    return captured


def _why_not_callable(fn: Any) -> str:
    if isinstance(fn, str) and fn in names():
        return (
            f"compile takes a function or a module, not {fn!r}: write capture.compile(model, backend={fn!r})"
        )
    return f"only callables and modules can be captured, not {shown(fn)} of type {type(fn).__name__}"


def rewrap(module: torch.nn.Module, arguments: Mapping[str, Any] | None) -> Any:
    """The compiled module of a copied or unpickled original."""
    return disable(module) if arguments is None else _enable(arguments)(module)


#: types of callables in C: a call of one has no Python frame to capture
WITHOUT_A_FRAME = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    torch._ops.OpOverload,
    torch._ops.OpOverloadPacket,
)


def _in_a_frame(function: Any) -> Any:
    """A Python function that calls `function`. Its code object is a new one and holds the entries."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    call.__name__ = getattr(function, "__name__", "call")
    call.__code__ = call.__code__.replace(co_name=call.__name__)
    return call


# --- disabling --------------------------------------------------------------------------------------------


class _Disabled(Region):
    """A block without capture."""

    def __init__(self) -> None:
        super().__init__(None, None)

    def __call__(self, fn: T) -> T:
        return disable(fn)

    def __repr__(self) -> str:
        return "disable()"


@overload
def disable(fn: T, recursive: bool = ..., *, reason: str | None = ...) -> T: ...
@overload
def disable(fn: None = None, recursive: bool = ..., *, reason: str | None = ...) -> Any: ...
@checked_arguments
def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Do not capture a function, a module, a class, or the block of `with capture.disable():`.

    It is a decorator too. For a class it disables `__init__`; for a subclass of nn.Module also `__call__`.

    recursive: True also disables the functions that it calls; False disables only its own frame.
    reason: a comment for readers.
    Source: torch.compiler.disable.
    """
    if fn is None:
        return _Disabled() if recursive else functools.partial(disable, recursive=False)
    if isinstance(fn, torch.nn.Module):
        return wrap_module(fn, _Disabled(), rewrap, None)
    if isinstance(fn, type):
        names = ("__init__", "__call__") if issubclass(fn, torch.nn.Module) else ("__init__",)
        for name in names:
            if isinstance(getattr(fn, name), types.FunctionType):
                setattr(fn, name, disable(getattr(fn, name), recursive))
        return fn
    if not callable(fn):
        raise UsageError(f"disable takes a function, a class, a module or nothing, not {shown(fn)}")
    if recursive:
        wrapper = disabled(fn)
        marks.mark_disabled(wrapper)
        remember_copies(wrapper, disable, fn)
        return wrapper
    function = fn.__func__ if isinstance(fn, types.MethodType) else fn
    if not isinstance(function, types.FunctionType):
        raise UsageError(f"disable(recursive=False) takes a Python function, not {shown(fn)}")
    marks.mark_disabled(function)
    switch.leave_alone(function.__code__)
    return fn


# --- inside captured code ---------------------------------------------------------------------------------


def graph_break(msg: str = "") -> None:
    """End the graph here if this code is captured; a new graph begins after it. `msg` is for readers."""


def is_capturing() -> bool:
    """True in captured code, False in code that runs eagerly."""
    return False


def is_compiling() -> bool:
    """The same as `is_capturing`, under the name of torch.compiler."""
    return is_capturing()


# --- reset ------------------------------------------------------------------------------------------------


@checked_arguments
def reset() -> None:
    """Forget all entries, skipped frames, counters and warnings. Marks of functions and tensors stay."""
    switch.forget_all()
    forget_learned()
    policy.forget_all()
    first_steps.forget_all()
    gains.forget()
    patience.forget_prices()
    counters.clear()
    forget_warnings()
    forget_captures()
    forget_too_long()
    forget_open_locals()
    forget_left()
