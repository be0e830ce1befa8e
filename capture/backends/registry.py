"""Backends: what turns a captured graph into something to call.

In:  a name or a function `f(gm: torch.fx.GraphModule, example_inputs: list[Tensor]) -> callable`, and options
     for it.
Out: `resolve(...)`: the function with its options bound; `call(...)`: a callable from placeholders to a
     tuple, checked.

    @backends.register("mine")
    def mine(gm, example_inputs): return gm.forward

    capture.compile(model, backend="mine")

Functions written for torch.compile's `backend=` work unchanged: options go to their keyword parameters of
those names, or as a dict to `options`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from capture.hooks.switch import OFF, switch
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


def register(name: str) -> Callable[[Backend], Backend]:
    """Decorator: make a function known as the backend `name`. A name is taken once."""
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
    """Decorator: what this backend returns needs no check at each call."""
    _keeping_contract.append(function)
    return function


def names() -> list[str]:
    """Registered names, sorted."""
    return sorted(_registry)


def lookup(name: str) -> Backend:
    """The backend function of that name."""
    try:
        return _registry[name]
    except KeyError:
        raise UnknownBackend(name, f"not registered; {did_you_mean(name, _registry)}") from None


def backend_name(backend: str | Backend) -> str:
    """How a backend reads in messages."""
    if isinstance(backend, str):
        return backend
    for name, function in _registry.items():
        if function is backend:
            return name
    return getattr(backend, "__name__", None) or type(backend).__name__


def resolve(backend: str | Backend, options: Mapping[str, Any] | None = None) -> Backend:
    """The backend function, with `options` bound. Errors: UnknownBackend, ConfigError for an option that it
    doesn't take.
    """
    if not isinstance(backend, str) and not callable(backend):
        raise UsageError(f"backend must be a name or a function, not {backend!r}")
    function = lookup(backend) if isinstance(backend, str) else backend
    return _bind_options(backend_name(backend), function, dict(options)) if options else function


def _bind_options(name: str, function: Backend, options: dict[str, Any]) -> Backend:
    parameters = list(inspect.signature(function).parameters.values())[2:]
    accepted = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    if "options" in accepted:
        return functools.partial(function, options=options)  # type: ignore[call-arg]
    unknown = sorted(set(options) - accepted)
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        known = did_you_mean(unknown[0], accepted) if accepted else "it takes none"
        raise ConfigError(f"backend {name!r} has no option {unknown[0]!r}: {known}")
    return functools.partial(function, **options)


# --- calling a backend ------------------------------------------------------------------------------------


def call(
    settings: CaptureSettings, gm: torch.fx.GraphModule, example_inputs: list[Any]
) -> Callable[..., tuple[Any, ...]]:
    """What `settings.backend` makes of `gm`.

    A backend that raises: BackendError under config.raise_on_error; else one warning, and the graph runs as
    it stands.
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
    function = getattr(settings.backend, "func", settings.backend)
    if any(function is keeping for keeping in _keeping_contract):
        return compiled  # the hook calls it without Python between
    return CheckedBackend(settings.backend_name, compiled, _output_count(gm))


def _output_count(gm: torch.fx.GraphModule) -> int:
    (outputs,) = next(node for node in reversed(gm.graph.nodes) if node.op == "output").args
    return len(outputs)


class CheckedBackend:
    """What a backend returned, held to the contract: a tuple of as many values as the graph has outputs."""

    def __init__(self, name: str, compiled: Callable[..., Any], count: int) -> None:
        self.name = name
        self.compiled = compiled
        self.count = count

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        before = switch(OFF)  # the backend's own Python code is nothing to capture
        try:
            outputs = self.compiled(*args)
        finally:
            switch(before)
        if not isinstance(outputs, tuple | list):
            raise BackendError(
                self.name,
                f"its callable returned {type(outputs).__name__}, not a tuple of {self.count} outputs",
            )
        if len(outputs) != self.count:
            raise BackendError(
                self.name, f"its callable returned {len(outputs)} outputs, the graph has {self.count}"
            )
        return tuple(outputs)
