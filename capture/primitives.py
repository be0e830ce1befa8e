"""primitives: what a call does, in terms of torch's primitives.

In:  a function or module, then arguments to call it with.
Out: the primitives as text on standard output, and as a `torch.fx.GraphModule` that runs.

    capture.primitives(torch.add)(torch.ones(3, dtype=torch.half), 1)

    add(arg0: f16[3])
      convert_element_type = prims.convert_element_type(arg0, torch.float32)  # f32[3]
      add = prims.add(convert_element_type, 1.0)  # f32[3]
      convert_element_type_1 = prims.convert_element_type(add, torch.float16)  # f16[3]
      return convert_element_type_1

The call runs once, with all that it does. It has to be one graph: a graph break is an error.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Container
from typing import Any

import torch
import torch.fx
import torch.utils._pytree as pytree
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)

from capture.backends.settings import make_settings
from capture.explain import forget_entries
from capture.hooks import switch
from capture.hooks.compiled_module import original_of
from capture.hooks.regions import Region, original_function
from capture.report.arguments import checked_arguments, shown
from capture.report.errors import Unsupported, UsageError
from codegen.kernel.errors import UnsupportedTensor, UntraceableError

NOT_TRACED = (
    UntraceableError,
    UnsupportedTensor,
    UnsupportedOperatorException,
    DataDependentOutputException,
    DynamicOutputShapeException,
)
#: reasons for breaks after which Python raises; nothing has run yet
RAISES = ("torch_op_failed", "raised")
#: leaves of a result that hold no tensor
PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.Size)


@checked_arguments
def primitives(fn: Callable[..., Any], *args: Any) -> Callable[..., torch.fx.GraphModule]:
    """A function that calls `fn`, prints what the call does in `torch.ops.prims`, and returns it as a graph.

    The graph takes the tensors among the arguments, each once; numbers are constants in it, other tensors
    (parameters) are attributes. It returns the tensor that `fn` returns, or a tuple of the tensors. It
    computes no gradients. Operators without primitives stay calls: `graph.meta["kept"]` says why.

    Errors: UsageError if `fn` is not callable, if its arguments are given here, and where the call is not one
    graph: it has a graph break, reads values of tensors, or calls no operator. What `fn` raises passes
    through.
    """
    if args:
        raise UsageError("primitives takes the function alone: write capture.primitives(fn)(*args)")
    if not callable(fn):
        raise UsageError(f"primitives takes a function or a module, not {shown(fn)}")
    target = original_of(fn) if isinstance(fn, torch.nn.Module) else original_function(fn)

    def traced(*args: Any, **kwargs: Any) -> torch.fx.GraphModule:
        from codegen.primitives.text import text_of  # lazy: import time

        graph = _graph(target, args, kwargs)
        print(text_of(graph, _name(target)))
        return graph

    return traced


class _Seen:
    """The backend that keeps the graph, what it was called with and what it returned."""

    def __init__(self) -> None:
        self.runs: list[tuple[torch.fx.GraphModule, list[Any], list[Any]]] = []

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        def run(*inputs: Any) -> Any:
            outputs = gm.forward(*inputs)  # the call of the module prints errors of operators
            self.runs.append((gm, list(inputs), list(outputs)))
            return outputs

        return run


def _graph(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.fx.GraphModule:
    from codegen.primitives.graph import primitive_graph  # lazy: import time

    name, seen = _name(target), _Seen()
    arguments = _tensors(target, args, kwargs)
    try:
        result = _captured(target, args, kwargs, seen)
    except Unsupported as error:
        if error.id in RAISES:
            target(*args, **kwargs)  # raises the program's own error
        reason = error.reason
        where = [
            f" ({line.filename}:{line.lineno})" for line in reason.user_stack if line.filename != __file__
        ]
        raise UsageError(
            f"primitives: {name} is not one graph: {reason.reason}{''.join(where[-1:])}: {reason.hint}"
        ) from error
    if len(seen.runs) != 1:
        why = "calls no operator of torch" if not seen.runs else f"ran {len(seen.runs)} graphs"
        raise UsageError(f"primitives: {name} {why}: there is nothing to show as one graph")
    gm, inputs, outputs = seen.runs[0]
    places = _places(name, result, [*inputs, *arguments.values()], outputs)
    try:
        return primitive_graph(gm, inputs, arguments, places)
    except NOT_TRACED as error:
        raise UsageError(
            f"primitives: {name} can't be traced: {type(error).__name__}: {error}. Values of tensors and "
            "sizes that depend on them are not known in a graph of primitives"
        ) from error


def _captured(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], backend: Any) -> Any:
    """The call as one graph for `backend`. Its entries are of no use to later calls."""

    def call() -> Any:
        return target(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_name=_name(target))  # a code object of this call alone
    switch.request(call)
    region = Region("pep523", make_settings(backend, fullgraph=True, dynamic=False, tag=object()))
    try:
        return region.around(call)()
    finally:
        forget_entries(region)


def _name(target: Any) -> str:
    return getattr(target, "__name__", type(target).__name__)


def _tensors(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, torch.Tensor]:
    """The tensors of the call, each once, by names that say where they are."""
    found: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, value in [*zip(_parameters(target, len(args)), args), *kwargs.items()]:
        leaves = pytree.tree_leaves(value)
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, torch.Tensor) and id(leaf) not in seen:
                seen.add(id(leaf))
                found[_unused(name if len(leaves) == 1 else f"{name}_{i}", found)] = leaf
    return found


def _unused(name: str, used: Container[str]) -> str:
    """A name for an argument of the graph's `forward`."""
    while name in used or name == "self" or keyword.iskeyword(name) or not name.isidentifier():
        name = "arg_" + "".join(c if c.isalnum() else "_" for c in name)
    return name


def _parameters(target: Any, count: int) -> list[str]:
    """The names of the first positional parameters; `arg0`, ... where the function does not tell."""
    function = target.forward if isinstance(target, torch.nn.Module) else target
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a function in C
        parameters = {}.values()
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    return named + [f"arg{i}" for i in range(len(named), count)]


def _places(name: str, result: Any, inputs: list[Any], outputs: list[Any]) -> Any:
    """Where the tensors of the result are: positions in the outputs, or the inputs themselves."""
    positions = {id(value): i for i, value in enumerate(outputs)}
    given = {id(value) for value in inputs if isinstance(value, torch.Tensor)}
    found = []
    for leaf in pytree.tree_leaves(result):
        if isinstance(leaf, torch.Tensor) and (id(leaf) in positions or id(leaf) in given):
            found.append(positions.get(id(leaf), leaf))
        elif not isinstance(leaf, PLAIN):
            what = "a tensor that its graph does not make" if isinstance(leaf, torch.Tensor) else shown(leaf)
            raise UsageError(f"primitives: {name} returns {what}")
    return found[0] if isinstance(result, torch.Tensor) else found
