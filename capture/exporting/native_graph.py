"""The native code of a whole graph.

In:  a `WholeGraph`, a machine, where parameters go.
Out: `codegen.export.module.Native`, and for each tensor of the result where it lies.

Parameters become constants in the object file, or arguments of the function behind those of the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)

from capture.exporting.whole_graph import WholeGraph, place_of
from capture.report.errors import ExportError
from codegen.export.c_text import identifier
from codegen.export.machine import Machine
from codegen.export.module import Native, NoNativeForm, native_code
from codegen.export.size_names import rename_sizes
from codegen.fake.fake import FakeMode, mode_of_a_trace
from codegen.freeze.constants import Constants
from codegen.kernel.errors import (
    CompilationFailed,
    EmitError,
    NotSymbolic,
    UnsupportedTensor,
    UntraceableError,
)
from codegen.kernel.program import ExternStep
from codegen.launch.assembly import lower
from codegen.rewrite.recurrent_operators import unrolled
from codegen.trace.draws import draw
from codegen.trace.module_runner import ModuleRunner
from codegen.trace.trace import Trace, trace

if TYPE_CHECKING:
    from capture.exporting.size_bounds import OpenGraph

REFUSED = (
    NotSymbolic,
    NotImplementedError,
    UntraceableError,
    UnsupportedTensor,
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)


def native_graph(
    whole: WholeGraph, machine: Machine, parameters: dict[int, str], inside: bool, cblas: bool = False
) -> tuple[Native, list[int]]:
    """`parameters`: by id of a tensor, its name in the module. `cblas`: products call it.

    Returns the code, and for each argument of it the position among the program's, or -1 for a parameter.
    Raises ExportError.
    """
    refused = (*REFUSED, TypeError) if whole.open_dims else REFUSED  # rules that need a number
    try:
        with torch.no_grad(), plain_operators(), mode_of_a_trace() as mode, ExitStack() as stack:
            opened = _opened(whole, mode, stack)
            traced = trace(whole.module, opened.fakes if opened else whole.inputs, mode)
            outputs = [
                traced.outputs[place] if place >= 0 else _argument(whole, traced, -1 - place)
                for place in whole.outputs
            ]
            with mode:
                traced.copy_back()
                graph = traced.finish(traced.output_nodes(outputs))
            arguments, order = _arguments(whole, traced, graph, parameters, inside)
            program = lower(graph)
            if opened:
                opened.close(graph)
                rename_sizes(program, opened.names)
    except refused as error:
        raise ExportError(
            f"{whole.name} can't be exported: {_why(error)}{place_of(_called(error))}"
        ) from error
    try:
        sizes = opened.sizes(order) if opened else []
        return native_code(whole.name, program, arguments, machine, sizes, cblas), order
    except NoNativeForm as error:
        line = _line(traced, graph, error.step)
        if error.step.op is draw:
            raise ExportError(
                f"{whole.name} draws random numbers{line}: exported code has no generator; call .eval() on a "
                "model with dropout"
            ) from None
        raise ExportError(
            f"{whole.name} calls {error.step.op}{line}: it has no native form; docs/export.md lists what can "
            "be exported"
        ) from None
    except (EmitError, CompilationFailed) as error:
        raise ExportError(f"{whole.name} can't be compiled for {machine.triple}: {error}") from error


def _why(error: Exception) -> str:
    if isinstance(error, (DataDependentOutputException, DynamicOutputShapeException)):
        return f"the result of {error.func} has a size or a number that depends on the values of a tensor"
    return f"{type(error).__name__}: {error}"


def _opened(whole: WholeGraph, mode: FakeMode, stack: ExitStack) -> OpenGraph | None:
    """The sizes that stay open, if there are any; `stack` then has what their trace needs."""
    if not whole.open_dims:
        return None
    from capture.exporting.size_bounds import OpenGraph  # lazy: imports sympy

    stack.enter_context(torch._C._EnablePythonDispatcher())
    return OpenGraph(whole, mode)


@contextmanager
def plain_operators() -> Iterator[None]:
    """Attention and recurrent layers are traced as the operators that they are made of."""
    flash, mkldnn = torch.backends.cuda.flash_sdp_enabled(), torch._C._get_mkldnn_enabled()
    torch.backends.cuda.enable_flash_sdp(False)
    torch._C._set_mkldnn_enabled(False)
    try:
        with unrolled():
            yield
    finally:
        torch.backends.cuda.enable_flash_sdp(flash)
        torch._C._set_mkldnn_enabled(mkldnn)


def _argument(whole: WholeGraph, traced: Trace, place: int) -> Any:
    """The fake tensor of an argument that the program returns as it is."""
    for value, fake in zip(whole.inputs, traced.inputs, strict=True):
        if value is whole.arguments[place][1]:
            return fake
    raise ExportError(f"{whole.name} returns {whole.arguments[place][0]}, an argument that no operator reads")


def _arguments(
    whole: WholeGraph, traced: Trace, graph: torch.fx.Graph, parameters: dict[int, str], inside: bool
) -> tuple[list[tuple[str, str, str]], list[int]]:
    """(buffer, name in C, path) of each argument of the function: first the program's, then parameters.

    Parameters that stay inside become constants of the graph.
    """
    values = [*whole.inputs, *traced.lifted]
    nodes = [node for node in graph.nodes if node.op == "placeholder"]
    written = {tracked.memory.placeholder for tracked in traced.written}
    found: list[tuple[int, str, str]] = []
    behind: list[tuple[str, str]] = []
    constants = Constants(graph, {})
    chosen = {dim.argument for dim in whole.open_dims}
    for node, value in zip(nodes, values, strict=True):
        if type(value) is int and whole.open_dims:
            continue  # a size: it is read from its tensor
        place = whole.argument_at(value)
        if place is not None:
            if node.users or place in chosen:
                found.append((place, node.name, whole.arguments[place][0]))
            continue
        path = parameters.get(id(value), node.name)
        if not isinstance(value, torch.Tensor):
            raise ExportError(f"{whole.name} computes with {value!r} from outside of its arguments")
        if id(value) in parameters and not inside:
            behind.append((node.name, path))
        elif node in written:
            raise ExportError(
                f"{whole.name} writes to {path}, which is inside of the object: call .eval() on the model, "
                'or export with parameters="arguments"'
            )
        else:
            node.replace_all_uses_with(constants.add(value.detach(), node, node))
            graph.erase_node(node)
    found.sort()
    taken: list[str] = [whole.name, *(dim.name for dim in whole.open_dims)]
    named = []
    for buffer, path in [*((buffer, path) for _, buffer, path in found), *behind]:
        taken.append(identifier(path, taken))
        named.append((buffer, taken[-1], path))
    return named, [*(place for place, _, _ in found), *(-1 for _ in behind)]


def _line(traced: Trace, graph: torch.fx.Graph, step: ExternStep) -> str:
    """Where the program calls the operator of a step."""
    nodes = [node for node in graph.nodes if node.target is step.op]
    nodes.sort(key=lambda node: node.name not in step.outputs)
    source = traced.recorder.sources.get(nodes[0]) if nodes else None
    return place_of(source)


def _called(error: BaseException) -> Any:
    """The node of the module that was called when tracing failed."""
    entry, found = error.__traceback__, None
    while entry is not None:
        if entry.tb_frame.f_code is ModuleRunner.run.__code__:
            found = entry.tb_frame.f_locals.get("node")
        entry = entry.tb_next
    return found
