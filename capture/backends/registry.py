"""Backends: a backend makes a callable of a captured graph.

In:  a name, or a function `f(gm: torch.fx.GraphModule, example_inputs: list[Tensor]) -> callable`; options.
Out: `resolve(...)`: the function with its options bound. `call(...)`: a checked callable, from the inputs of
     the graph to a tuple.

    @backends.register("mine")
    def mine(gm, example_inputs): return gm.forward

    capture.compile(model, backend="mine")

A backend that was written for torch.compile works without changes. Each option goes to the keyword parameter
of its name. If the function has a parameter `options`, it gets all options as a dict.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from capture.backends.checked import CheckedBackend
from capture.report.arguments import shown
from capture.report.config import config
from capture.report.errors import (
    BackendError,
    ConfigError,
    UnknownBackend,
    UsageError,
    did_you_mean,
)
from capture.report.log import failure_text, warn_once

if TYPE_CHECKING:
    import torch.fx

    from capture.policy.settings import Backend, CaptureSettings

B = TypeVar("B", bound="Backend")

_registry: dict[str, Backend] = {}
_keeping_contract: list[Backend] = []
_own: list[Backend] = []


def register(name: str) -> Callable[[Backend], Backend]:
    """Decorator: register a function as the backend `name`. Two backends can't have the same name."""
    if not isinstance(name, str) or not name:
        raise UsageError(f"backends.register takes a name: @backends.register('mine'), not {name!r}")

    def add(function: Backend) -> Backend:
        if not callable(function):
            raise UsageError(f"backend {name!r} must be a function, not {function!r}")
        if _registry.get(name, function) is not function:
            raise UsageError(f"backend {name!r} is registered already, as {_registry[name]!r}")
        _registry[name] = function
        return function

    return add


def keeps_contract(function: B) -> B:
    """Decorator: the callables of this backend need no check at each call."""
    _keeping_contract.append(function)
    return function


def own(function: B) -> B:
    """Decorator: a backend of this package. Where its callable fails, Python runs the frame."""
    _own.append(function)
    return function


def is_own(backend: Backend) -> bool:
    return _is_one_of(backend, _own)


def _is_one_of(backend: Backend, functions: list[Backend]) -> bool:
    function = getattr(backend, "func", backend)  # without its options
    return any(function is other for other in functions)


def names() -> list[str]:
    """Registered names, sorted."""
    return sorted(_registry)


def may_fail_unchanged(settings: CaptureSettings) -> bool:
    """Whether graphs of the backend may leave their inputs as they were if they raise: see `fails_unchanged`.

    Other backends run them call by call.
    """
    return settings.backend_name in ("llvm", "aot_eager")


def eager_in_place_of(settings: CaptureSettings) -> CaptureSettings:
    """The settings for a graph whose tensors must be eager's own. Backends of the user keep their graphs."""
    if not may_fail_unchanged(settings):
        return settings
    return dataclasses.replace(settings, backend=lookup("eager"), backend_name="eager", options=())


def lookup(name: str) -> Backend:
    """The backend function of that name."""
    try:
        return _registry[name]
    except KeyError:
        raise UnknownBackend(name, _why_unknown(name)) from None


#: names of torch.compile -> ours
_OF_TORCH = {"inductor": "llvm", "aot_ts": "aot_eager", "aot_eager_decomp_partition": "aot_eager"}


def _why_unknown(name: str) -> str:
    if name in _OF_TORCH:
        return f"it is torch.compile's, write backend={_OF_TORCH[name]!r}"
    return f"not registered; {did_you_mean(name, _registry)}"


def backend_name(backend: str | Backend) -> str:
    """The name of a backend in messages."""
    if isinstance(backend, str):
        return backend
    for name, function in _registry.items():
        if function is backend:
            return name
    return getattr(backend, "__name__", None) or type(backend).__name__


def resolve(backend: str | Backend, options: Mapping[str, Any] | None = None) -> Backend:
    """The backend function with `options` bound.

    Errors: UnknownBackend; ConfigError if the backend has no such option.
    """
    if not isinstance(backend, str) and not callable(backend):
        raise UsageError(f"backend must be a name or a function, not {shown(backend)}")
    function = lookup(backend) if isinstance(backend, str) else backend
    if not isinstance(backend, str):
        _check_parameters(backend)
    return _bind_options(backend_name(backend), function, dict(options)) if options else function


def _check_parameters(backend: Backend) -> None:
    """A function that can't take a graph and its inputs is no backend: the program meant to capture it."""
    name = backend_name(backend)
    if isinstance(backend, torch.nn.Module):
        raise UsageError(
            f"a backend is a name or a function, not the module {name}: write capture.compile(module)"
        )
    try:
        inspect.signature(backend).bind_partial(None, None)  # options come by name
    except ValueError:  # a function in C has no signature
        return
    except TypeError:
        raise UsageError(
            f"a backend takes a graph and its inputs; {name} does not: "
            f"to capture it write capture.compile({name})"
        ) from None


def _bind_options(name: str, function: Backend, options: dict[str, Any]) -> Backend:
    parameters = list(inspect.signature(function).parameters.values())[2:]
    accepted = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    if "options" in accepted:
        return functools.partial(function, options=options)  # type: ignore[call-arg]
    for parameter in parameters:
        _check_value(name, parameter, options)
    unknown = sorted(set(options) - accepted)
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        known = did_you_mean(unknown[0], accepted) if accepted else "it takes none"
        raise ConfigError(f"backend {name!r} has no option {unknown[0]!r}: {known}")
    return functools.partial(function, **options)


#: annotations of options whose values are checked; a string where the module postpones annotations
_CHECKED_KINDS: dict[Any, type] = {
    key: kind for kind in (bool, int, float, str) for key in (kind, kind.__name__)
}


def _check_value(name: str, parameter: inspect.Parameter, options: Mapping[str, Any]) -> None:
    kind = _CHECKED_KINDS.get(parameter.annotation)
    if kind is None or parameter.name not in options:
        return
    value = options[parameter.name]
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise ConfigError(
            f"option {parameter.name!r} of backend {name!r} is {kind.__name__}, not {shown(value)}"
        )


# --- calling a backend ------------------------------------------------------------------------------------


def call(
    settings: CaptureSettings, gm: torch.fx.GraphModule, example_inputs: list[Any]
) -> Callable[..., tuple[Any, ...]]:
    """The callable that `settings.backend` makes of `gm`.

    If the backend raises: BackendError under config.raise_on_error. Else one warning, and the graph runs
    eagerly.
    """
    try:
        compiled = settings.backend(gm, example_inputs)
        if not callable(compiled):
            raise TypeError(f"returned {compiled!r}, which is not callable")
    except Exception as error:
        if config.raise_on_error:
            raise BackendError(settings.backend_name, failure_text(error)) from error
        text = f"backend {settings.backend_name!r} failed, its graphs run eagerly: {failure_text(error)}"
        warn_once(None, f"backend {settings.backend_name}", text)
        return gm.forward
    if _is_one_of(settings.backend, _keeping_contract):
        return compiled  # the hook calls it directly
    return CheckedBackend(settings.backend_name, compiled, gm, check_kinds=not is_own(settings.backend))
