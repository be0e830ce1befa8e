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
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cache.store import KernelStore
from capture.backends import array_cost
from capture.backends.float_arguments import compile_with_floats
from capture.backends.sized_graph import SizedGraph
from capture.backends.value_parts import compile_in_parts, reads_values
from capture.hooks import switch as hooks
from capture.report.config import config
from capture.report.errors import (
    BackendError,
    ConfigError,
    UnknownBackend,
    UsageError,
    did_you_mean,
)
from capture.report.log import failure_text, warn_once
from codegen.compile_fx import compile_for_sizes, compile_fx
from codegen.launch.compiled import CompiledGraph, EagerGraph

if TYPE_CHECKING:
    import torch.fx

    from capture.policy.settings import Backend, CaptureSettings

_registry: dict[str, Backend] = {}


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
    if getattr(settings.backend, "func", settings.backend) is llvm_backend:
        return compiled  # ours keeps the contract, and the hook calls it without Python between
    return CheckedBackend(settings.backend_name, compiled, _output_count(gm))


def is_worth_running(compiled: Any, captured: torch.fx.Graph, instructions: int) -> bool:
    """Is the frame's Python no quicker? Only asked of what our own backend compiled: others are run because
    the user said so.
    """
    if isinstance(compiled, CheckedBackend):
        return True
    from codegen.autograd.worth_running import is_worth_running

    return is_worth_converting(compiled, captured) and is_worth_running(compiled, captured, instructions)


def is_worth_converting(compiled: Any, captured: torch.fx.Graph) -> bool:
    """The same, of graphs of NumPy's operations alone."""
    return not isinstance(compiled, CompiledGraph) or array_cost.is_worth_running(captured)


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
        before = hooks.switch(hooks.OFF)  # the backend's own Python code is nothing to capture
        try:
            outputs = self.compiled(*args)
        finally:
            hooks.switch(before)
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


# --- built in ---------------------------------------------------------------------------------------------


@register("eager")
def eager_backend(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
    """The graph as it was captured, run call by call: shows what capture alone does."""
    return gm.forward


@register("llvm")
def llvm_backend(
    gm: torch.fx.GraphModule, example_inputs: list[Any], *, freeze: bool = False
) -> Callable[..., Any]:
    """Native code for the whole graph, and for its backward where an input wants gradients. freeze: inputs
    whose placeholders are marked "frozen" are constants.
    """
    if reads_values(gm.graph):
        return compile_in_parts(gm, _compile_part) or EagerGraph(gm, "no part of it is worth compiling")
    return compile_with_floats(gm, example_inputs, functools.partial(_compile_natively, freeze=freeze))


def _compile_part(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """A part of a graph with numbers that only a run knows: for all of them at once, or not at all."""
    forward: Callable[..., Any] = gm.forward
    if any(type(value) is int for value in example_inputs):
        symbolic = compile_for_sizes(gm, example_inputs, store=kernel_store())
        if symbolic is None:
            return forward
        return SizedGraph(gm, example_inputs, lambda module, _: module.forward, symbolic)
    compiled = compile_fx(gm, example_inputs, store=kernel_store())
    return forward if isinstance(compiled, EagerGraph) else compiled


def _compile_natively(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], *, freeze: bool
) -> Callable[..., Any]:
    places = [node for node in gm.graph.nodes if node.op == "placeholder"]
    frozen = frozenset(place for place, node in enumerate(places) if freeze and node.meta.get("frozen"))
    compile_graph = functools.partial(compile_fx, store=kernel_store(), frozen=frozen)
    if any(type(value) is int for value in example_inputs):
        symbolic = compile_for_sizes(gm, example_inputs, store=kernel_store())
        return SizedGraph(gm, example_inputs, compile_graph, symbolic)
    return compile_graph(gm, example_inputs)


@register("aot_eager")
def aot_eager_backend(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
    """The traced forward and backward graphs, each ATen operator a call: shows what tracing does, without
    kernels.
    """
    return compile_with_floats(gm, example_inputs, _trace)


def _trace(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    compile_graph = functools.partial(compile_fx, kernels=False)
    if any(type(value) is int for value in example_inputs):
        return SizedGraph(gm, example_inputs, compile_graph)
    return compile_graph(gm, example_inputs)


def kernel_store() -> Any:
    """The disk cache of machine code, or None where config.disk_cache is off."""
    return _open_store(config.cache_dir) if config.disk_cache else None


@functools.cache
def _open_store(directory: str) -> Any:
    if not directory:
        import platformdirs

        directory = platformdirs.user_cache_dir("capture")
    return KernelStore(directory)
