"""One whole graph of a call, with what its inputs and outputs are.

In:  a function or module, its arguments.
Out: `WholeGraph`: the graph of torch calls, its inputs; which of them are arguments, which are parameters;
     where the results are.

    model(x)   ->   linear(x, weight, bias);  inputs: argument 0, parameter fc.weight, parameter fc.bias

The call runs once, on copies of its tensors and without gradients. It has to be one graph: a graph break is
an error with its line.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.fx

from cache.exported import rebuilt
from capture.backends.settings import make_settings
from capture.explain import forget_entries
from capture.exporting.open_sizes import OpenDim, mark, open_dims
from capture.exporting.structure import Flattened, Form
from capture.graph.program_places import PLACES
from capture.hooks import switch
from capture.hooks.compiled_module import original_of
from capture.hooks.regions import Region, original_function
from capture.policy.frame_filter import OUR_PACKAGES
from capture.report.errors import ExportError, Unsupported
from capture_records import dataclass

TORCH = os.path.dirname(torch.__file__) + os.sep


@dataclass(slots=True)
class WholeGraph:
    """`arguments`: (path, tensor) of each tensor argument. `form`: of the arguments, `result`: of the result.

    `outputs`: for each tensor of the result the position of a graph output, or an argument (-1 - position).
    `open_dims`: sizes of arguments that the caller of the exported function chooses.
    """

    name: str
    module: torch.fx.GraphModule
    inputs: list[Any]
    arguments: list[tuple[str, torch.Tensor]]
    form: Form
    result: Form
    outputs: list[int]
    open_dims: list[OpenDim]

    def argument_at(self, tensor: Any) -> int | None:
        """The position of the argument that is this tensor."""
        for place, (_, argument) in enumerate(self.arguments):
            if argument is tensor:
                return place
        return None


class _Kept:
    """The backend that keeps the graph, what it was called with and what it returned."""

    def __init__(self) -> None:
        self.runs: list[tuple[torch.fx.GraphModule, list[Any], list[Any]]] = []

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        def run(*inputs: Any) -> Any:
            outputs = gm.forward(*inputs)
            self.runs.append((gm, list(inputs), list(outputs)))
            return outputs

        return run


def whole_graph(fn: Any, args: tuple[Any, ...], name: str, dynamic_sizes: Any = None) -> WholeGraph:
    """Raises ExportError where the call is not one graph; what the call raises passes through."""
    target = original_of(fn) if isinstance(fn, torch.nn.Module) else original_function(fn)
    given = _flattened(target, args)
    copies = [copy_of(tensor) for _, tensor in given.tensors]
    arguments = [(path, copy) for (path, _), copy in zip(given.tensors, copies, strict=True)]
    dims = open_dims({} if dynamic_sizes is None else dynamic_sizes, arguments)
    mark(dims, arguments)
    kept = _Kept()
    with torch.no_grad(), _plain_operators():
        result = _captured(target, rebuilt(given.form, copies.__getitem__), name, kept)
    if len(kept.runs) != 1:
        why = "calls no operator of torch" if not kept.runs else f"ran {len(kept.runs)} graphs"
        raise ExportError(f"{name} {why}: there is no graph to export")
    gm, inputs, outputs = kept.runs[0]
    graph = WholeGraph(name, gm, inputs, arguments, given.form, {}, [], dims)
    found = Flattened(result, "", f"the result of {name}:")
    graph.result = found.form
    if dims and (number := next(found.plain_values(), None)) is not None:
        raise ExportError(
            f"{name} returns {number!r}, which may depend on sizes: with dynamic_sizes a result is of tensors"
        )
    graph.outputs = [_position(graph, name, tensor, outputs) for _, tensor in found.tensors]
    return graph


def _flattened(target: Any, args: tuple[Any, ...]) -> Flattened:
    names = list(_parameters(target, len(args)))
    given = Flattened((), "", "the argument")
    given.form = {"tuple": [given._form(value, path) for path, value in zip(names, args, strict=True)]}
    return given


def _parameters(target: Any, count: int) -> Iterator[str]:
    """The names of the first positional parameters; `arg0`, ... where the function does not tell."""
    function = target.forward if isinstance(target, torch.nn.Module) else target
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a function in C
        parameters = []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = [parameter.name for parameter in parameters if parameter.kind in kinds][:count]
    yield from named
    yield from (f"arg{i}" for i in range(len(named), count))


def copy_of(tensor: torch.Tensor) -> torch.Tensor:
    """The same values in the same layout, in memory of its own. An expanded tensor becomes a dense one."""
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout is torch.strided
    if not plain or tensor.device.type != "cpu":
        kind = f"{type(tensor).__name__} of {tensor.layout} on {tensor.device}"
        raise ExportError(f"an argument is a {kind}: export takes plain tensors on the CPU")
    if any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride())):
        return tensor.detach().clone(memory_format=torch.contiguous_format)
    copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    return copy.copy_(tensor.detach())


def _captured(target: Any, args: tuple[Any, ...], name: str, backend: Any) -> Any:
    """The call as one graph for `backend`. Its entries are of no use to later calls."""

    def call() -> Any:
        return target(*args)

    call.__code__ = call.__code__.replace(co_name=name)  # a code object of this call alone
    switch.request(call)
    region = Region("pep523", make_settings(backend, fullgraph=True, dynamic=False, tag=object()))
    try:
        return region.around(call)()
    except Unsupported as error:
        if error.id in ("torch_op_failed", "raised"):
            target(*args)  # raises the program's own error
        reason = error.reason
        where = [
            f" ({line.filename}:{line.lineno})" for line in reason.user_stack if line.filename != __file__
        ]
        raise ExportError(
            f"{name} is not one graph: {reason.reason}{''.join(where[-1:])}: {reason.hint}"
        ) from error
    finally:
        forget_entries(region)


@contextmanager
def _plain_operators() -> Iterator[None]:
    """Modules of torch call operators that have code of our own, not the fused ones of inference."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _position(graph: WholeGraph, name: str, tensor: torch.Tensor, outputs: list[Any]) -> int:
    for position, output in enumerate(outputs):
        if output is tensor:
            return position
    argument = graph.argument_at(tensor)
    if argument is None:
        raise ExportError(
            f"{name} returns a tensor that its graph does not make: a parameter, or a tensor "
            "from outside; return a copy of it"
        )
    return -1 - argument


def place_of(source: Any) -> str:
    """The line of the program that a node of the module comes from."""
    places = source.meta.get(PLACES, ()) if source is not None else ()
    own = [place for place in places if not place.co_filename.startswith((TORCH, *OUR_PACKAGES))]
    return f" ({own[-1].co_filename}:{own[-1].line})" if own else ""
