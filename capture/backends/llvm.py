"""The backends of the package: native code, and two that stop at an earlier step.

In:  a captured graph and example inputs.
Out: "llvm": native code for the graph and its backward. "aot_eager": the traced graphs, operator by operator.
     "eager": the captured graph, call by call.

    capture.compile(model)                      ->   llvm_backend(gm, example_inputs)
    capture.compile(model, backend="eager")     ->   gm.forward
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cache.store import KernelStore
from capture.backends import array_cost
from capture.backends.checked import CheckedBackend
from capture.backends.float_arguments import FloatGraph, compile_with_floats
from capture.backends.registry import keeps_contract, own, register
from capture.backends.sized_graph import SizedGraph
from capture.backends.value_parts import compile_in_parts, reads_values
from capture.report import log, observe
from capture.report.config import config
from codegen.launch.compiled import CompiledGraph, EagerGraph
from codegen.stored.compile_graph import compile_graph, compile_sizes, keep_floats, restore
from codegen.stored.floats import ForFloats
from codegen.stored.sizes import StoredSizes
from codegen.trace.autocast import SizedWithoutAutocast

if TYPE_CHECKING:
    import torch.fx


@register("eager")
@own
def eager_backend(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
    """Run the captured graph call by call. This shows the effect of capture alone."""
    return gm.forward


@register("llvm")
@own
@keeps_contract
def llvm_backend(
    gm: torch.fx.GraphModule, example_inputs: list[Any], *, freeze: bool = False
) -> Callable[..., Any]:
    """Native code for the whole graph, and for its backward if an input requires gradients.

    freeze: inputs are constants if their placeholders are marked "frozen".
    """
    if reads_values(gm.graph):
        return compile_in_parts(gm, _compile_part) or EagerGraph(gm, "no part of it is worth compiling")
    compiled = compile_with_floats(gm, example_inputs, functools.partial(_compile_natively, freeze=freeze))
    with_ints = any(type(value) is int for value in example_inputs)  # their symbols are in this process
    if isinstance(compiled, FloatGraph) and not freeze and not with_ints:
        keep_floats(compiled.stored, example_inputs, kernel_store())
    return compiled


def _compile_part(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """One part of a graph with unbacked symbols. Its native code is for all sizes; else it has none."""
    if any(type(value) is int for value in example_inputs):
        from codegen.compile_fx import compile_for_sizes  # lazy: a graph from the store needs no compiler

        symbolic = compile_for_sizes(gm, example_inputs, store=kernel_store(), refuses=True)
        if symbolic is None:
            return gm.forward
        return SizedGraph(lambda: gm, example_inputs, lambda module, _: module.forward, symbolic)
    compiled = compile_graph(gm, example_inputs, store=kernel_store())
    return gm.forward if isinstance(compiled, EagerGraph) else compiled


def _compile_natively(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], *, freeze: bool
) -> Callable[..., Any]:
    places = [node for node in gm.graph.nodes if node.op == "placeholder"]
    frozen = frozenset(place for place, node in enumerate(places) if freeze and node.meta.get("frozen"))
    compiler = functools.partial(compile_graph, store=kernel_store(), frozen=frozen)
    if any(type(value) is int for value in example_inputs):
        for_sizes = functools.partial(compile_sizes, gm, store=kernel_store())
        return SizedGraph(lambda: gm, example_inputs, compiler, for_sizes(example_inputs), another=for_sizes)
    return compiler(gm, example_inputs)


def restored_graph(key: str, module: Callable[[Any], torch.fx.GraphModule]) -> Callable[..., Any] | None:
    """The compiled graph that the store has under the key. None: it is gone, or is for another process.

    `module` makes the captured graph of its data, where a rare request needs it.
    """
    store = kernel_store()
    found = restore(key, store, module)
    compiler = functools.partial(compile_graph, store=store)
    if isinstance(found, ForFloats):
        return FloatGraph(found, compiler)
    sizes = found.graph if isinstance(found, SizedWithoutAutocast) else found
    if not isinstance(sizes, StoredSizes):
        return found

    def another(inputs: Sequence[Any]) -> Any:
        return compile_sizes(sizes.module_for(inputs), inputs, store=store)

    return SizedGraph(sizes.module, sizes.inputs, compiler, found, ready=False, another=another)


@register("aot_eager")
@own
def aot_eager_backend(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
    """Run the traced forward and backward graphs, one ATen call at a time: tracing without kernels."""
    return compile_with_floats(gm, example_inputs, _trace)


def _trace(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    from codegen.compile_fx import compile_fx  # lazy: a graph from the store needs no compiler

    compiler = functools.partial(compile_fx, kernels=False, refuses=True)
    if any(type(value) is int for value in example_inputs):
        return SizedGraph(lambda: gm, example_inputs, compiler)
    return compiler(gm, example_inputs)


def kernel_store() -> Any:
    """The disk cache, or None if config.disk_cache is off."""
    return _open_store(config.cache_dir) if config.disk_cache else None


@functools.cache
def _open_store(directory: str) -> Any:
    """The store in a folder; "" is the user's cache folder. None if there is no such folder: a user may have
    no home. The log then has one line.
    """
    try:
        return KernelStore(directory or _user_folder(), note=_count)
    except (RuntimeError, OSError) as error:
        log.get("cache").logger.warning(
            "nothing that is compiled is kept for the next process: %s; "
            "CAPTURE_CACHE_DIR names a folder for it",
            error,
        )
        return None


def _user_folder() -> str:
    """The folder for caches of the user, by the rules of XDG: a relative path counts as none."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    folder = given if os.path.isabs(given) else os.path.expanduser("~/.cache")
    if not os.path.isabs(folder):  # "~" stays as it is where nobody knows the home
        raise RuntimeError("the user has no home folder")
    return os.path.join(folder, "capture")


def _count(kind: str, found: bool) -> None:
    observe.tell("store", kind=kind, found=found)


# --- whether a compiled graph is worth a call -------------------------------------------------------------


def is_worth_running(compiled: Any, captured: torch.fx.Graph, instructions: int) -> bool:
    """Whether the compiled graph is faster than the frame's Python code.

    The question is only for our own backend. The graph of another backend always runs: the user chose it.
    """
    if isinstance(compiled, CheckedBackend):
        return True
    from codegen.autograd import worth_running  # lazy: import time

    return is_worth_converting(compiled, captured) and worth_running.is_worth_running(
        compiled, captured, instructions
    )


def is_worth_converting(compiled: Any, captured: torch.fx.Graph) -> bool:
    """The same question for a graph that has only NumPy's operations."""
    return not isinstance(compiled, CompiledGraph) or array_cost.is_worth_running(captured)
