"""Compiles graphs with floats that change: 0-d tensors that the graph reads with `item()`, and floats that it
computes from ints.

In:  an fx graph with such placeholders (a learning rate that changed, a float argument under dynamic=True) or
     such numbers (the decay of a rate by the number of the step), and its inputs.
Out: `compile_with_floats`: the compiled graph. Arithmetic on these floats becomes tensor operations, and so
     do operators of a tensor and a float: one compilation serves all values. If an operator needs the number
     itself, the graph is compiled for each value: for the first `PROMPT` values at once, for another one when
     it comes for the `AGAIN`th time, for at most `LIMIT` of them. (Kernels compute simple floats of ints
     themselves, `codegen/lower/size_floats.py`. These stay as they are.)

    s = scale.item(); x * (s + 1)
        ->   method_with_floats("__mul__", (1,), x, float_operation("add", scale, 1))
    x * 0.9 ** n
        ->   method_with_floats("__mul__", (1,), x, float_operation("pow", 0.9, torch.full((), n)))
    s = sign.item(); copysign(x, s)
        ->   a graph for sign = 0.1, one for sign = 0.2, ...
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
import torch.fx
from torch.fx.node import map_arg
from torch.utils import _pytree as pytree

from capture.graph.named_functions import new_graph
from capture.graph.number_operations import (
    FUNCTION_NAMES,
    OPERATION_NAMES,
    SQUARE_ROOT,
    float_operation,
    method_with_floats,
    tensor_of_numbers,
)
from capture.graph.number_places import as_method, keep_types, places_of
from capture.hooks.switch import OFF, switch
from codegen.fake.eager_kernels import bounds_of_numbers
from codegen.kernel.graph_module import GraphModule
from codegen.launch.compiled import EagerGraph
from codegen.stored.floats import ForFloats

FLOATS = (torch.float32, torch.float64)
PROMPT = 4  # values that the graph is compiled for at their first call
AGAIN = 8  # calls after which it is compiled for another value; until then it runs operator by operator
LIMIT = 16  # how many values a graph is compiled for
COUNTED = 64  # other values whose calls are counted at a time
Compiler = Callable[[torch.fx.GraphModule, Sequence[Any]], Callable[..., Any]]


def compile_with_floats(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], compile_graph: Compiler
) -> Callable[..., Any]:
    """`compile_graph(gm, example_inputs)`, without `item()` in the graph that it gets."""
    read = _reads(gm.graph, _floats_of_sizes(gm.graph))
    if not read:
        return compile_graph(gm, example_inputs)
    numbers = _needed_as_numbers(gm.graph, read)
    module = GraphModule(gm, _rewritten(gm.graph, read, numbers), class_name=type(gm).__name__)
    if not numbers:
        return _or_as_captured(compile_graph(module, example_inputs), gm)
    places = [node for node in module.graph.nodes if node.op == "placeholder"]
    positions = [i for i, node in enumerate(places) if any(map(_reads_float, node.users))]
    graph = FloatGraph(ForFloats(lambda: gm, lambda: module, positions), compile_graph)
    graph.graph_for(example_inputs)
    return graph


def _or_as_captured(compiled: Callable[..., Any], gm: torch.fx.GraphModule) -> Callable[..., Any]:
    """The compiled graph. If that would run operator by operator, the captured graph with its floats does."""
    return EagerGraph(gm, compiled.reason) if isinstance(compiled, EagerGraph) else compiled


class FloatGraph:
    """A graph for each combination of the floats that its operators need as numbers."""

    fails_unchanged = True  # all of the first ones

    def __init__(self, stored: ForFloats, compile_graph: Compiler) -> None:
        self.stored = stored
        self.compile_graph = compile_graph
        self.positions = stored.positions
        self.compiled: dict[tuple[str, ...], Callable[..., Any]] = {}
        self.calls: dict[tuple[str, ...], int] = {}  # of values that it is not compiled for
        self.bounds: tuple[float, float] | None = None  # of the values that it is compiled for

    @property
    def stored_key(self) -> str | None:
        """The key under which the store has the graph."""
        return self.stored.stored_key

    @functools.cached_property
    def original(self) -> torch.fx.GraphModule:
        return self.stored.original()

    @functools.cached_property
    def module(self) -> torch.fx.GraphModule:
        module = self.stored.module()
        places = [node for node in module.graph.nodes if node.op == "placeholder"]
        for position in self.positions:
            places[position].meta.setdefault("example_value", torch.zeros((), dtype=torch.float64))
        return module

    def __call__(self, *args: Any) -> Any:
        return self.graph_for(args)(*args)

    def graph_for(self, args: Sequence[Any]) -> Callable[..., Any]:
        values = [args[i].item() for i in self.positions]
        key = tuple(value.hex() for value in values)  # 0.0 and -0.0 differ, and a nan is equal to itself
        if key not in self.compiled:
            if not (self._are_within_bounds(values, args) and self._is_worth_compiling(key)):
                forward: Callable[..., Any] = self.original.forward
                return forward
            before = switch(OFF)
            try:
                compiled = self.compile_graph(self._with_constants(values), args)
                self.compiled[key] = _or_as_captured(compiled, self.original)
            finally:
                switch(before)
        return self.compiled[key]

    def _is_worth_compiling(self, key: tuple[str, ...]) -> bool:
        """Most floats that change come only once: a loss, a temperature that falls."""
        if len(self.compiled) < PROMPT:
            return True
        if len(self.calls) >= COUNTED:
            self.calls.clear()
        self.calls[key] = self.calls.get(key, 0) + 1
        return self.calls[key] >= AGAIN and len(self.compiled) < LIMIT

    def _are_within_bounds(self, values: Sequence[float], args: Sequence[Any]) -> bool:
        """Operators may refuse a number that their tensors can't hold: Python runs them."""
        if self.bounds is None:  # guards keep the dtypes
            given = {value.dtype for value in args if isinstance(value, torch.Tensor)}
            arguments = [(node.args, node.kwargs) for node in self.module.graph.nodes]
            asked = {leaf for leaf in pytree.tree_leaves(arguments) if isinstance(leaf, torch.dtype)}
            self.bounds = bounds_of_numbers(given | asked)
        least, most = self.bounds
        return all(least <= value <= most and math.isfinite(value) for value in values)

    def _with_constants(self, values: Sequence[float]) -> torch.fx.GraphModule:
        graph = new_graph()
        held: dict[torch.fx.Node, torch.fx.Node] = {}
        output = graph.graph_copy(self.module.graph, held)
        graph.output(output)
        placeholders = [node for node in graph.nodes if node.op == "placeholder"]
        for position, value in zip(self.positions, values):
            for read in [user for user in placeholders[position].users if _reads_float(user)]:
                for user in list(read.users):
                    user.args = _replaced(user.args, read, value)
                    user.kwargs = _replaced(user.kwargs, read, value)
                graph.erase_node(read)
        return GraphModule(self.module, graph, class_name=type(self.module).__name__)


def _replaced(arguments: Any, node: torch.fx.Node, value: float) -> Any:
    return map_arg(arguments, lambda n: value if n is node else n)


# --- what becomes a tensor operation ----------------------------------------------------------------------


def _reads_float(node: torch.fx.Node) -> bool:
    """Whether the node is `placeholder.item()` of a tensor that holds a Python float."""
    if node.op != "call_method" or node.target != "item" or len(node.all_input_nodes) != 1:
        return False
    tensor = node.all_input_nodes[0].meta.get("example_value")
    if not isinstance(tensor, torch.Tensor) or node.all_input_nodes[0].op != "placeholder":
        return False
    return tensor.dtype == torch.float64 and tensor.ndim == 0 and tensor.device.type == "cpu"


def _reads(
    graph: torch.fx.Graph, of_sizes: Collection[torch.fx.Node]
) -> dict[torch.fx.Node, set[torch.fx.Node]]:
    """The reads of floats, the floats `of_sizes`, and those computed from them -> the reads that each depends
    on.
    """
    found: dict[torch.fx.Node, set[torch.fx.Node]] = {}
    for node in graph.nodes:
        if _reads_float(node):
            found[node] = {node}
        elif node.target in NAMES and all(map(_is_number, node.args)):
            below = [found[n] for n in node.all_input_nodes if n in found]
            if below or node in of_sizes:
                found[node] = set().union(*below)
    return found


NAMES = OPERATION_NAMES | FUNCTION_NAMES
#: the functions of floats that kernels compute from sizes
OF_KERNELS = (operator.add, operator.sub, operator.mul, operator.truediv, torch.sym_float, SQUARE_ROOT)


def _floats_of_sizes(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """The floats computed from ints, where there is one that kernels can't compute from sizes.

    None where an operator needs the number itself.
    """
    found = {
        node
        for node in graph.nodes
        if node.op == "call_function"
        and node.target in NAMES
        and isinstance(node.meta.get("example_value"), torch.SymFloat)
        and all(map(_is_number, node.args))
    }
    if all(node.target in OF_KERNELS for node in found):
        return set()
    users = {user for node in found for user in node.users} - found
    needed = any(_as_tensor_operation(user, found & {*user.all_input_nodes}) is None for user in users)
    return set() if needed else found


def _is_number(argument: Any) -> bool:
    if isinstance(argument, torch.fx.Node):
        return isinstance(argument.meta.get("example_value"), torch.SymInt | torch.SymFloat | int | float)
    return type(argument) in (int, float)


def _needed_as_numbers(
    graph: torch.fx.Graph, read: dict[torch.fx.Node, set[torch.fx.Node]]
) -> set[torch.fx.Node]:
    """The reads of floats whose number an operator needs: the operator takes no tensor in its place."""
    needed: set[torch.fx.Node] = set()
    for node in graph.nodes:
        floats = [] if node in read else [n for n in node.all_input_nodes if n in read]
        if floats and _as_tensor_operation(node, read) is None:
            needed.update(*(read[number] for number in floats))
    return needed


def _as_tensor_operation(
    node: torch.fx.Node, floats: Collection[torch.fx.Node]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """A call (function, args, kwargs) that takes these floats as tensors; None if there is none."""
    if node.op not in ("call_method", "call_function"):
        return None
    if node.target is float_operation:
        return float_operation, node.args, dict(node.kwargs)
    if node.target is torch.tensor:
        dtype = node.meta["example_value"].dtype  # with a dtype of integers, Python refuses some floats
        plain = len(node.args) == 1 and not node.kwargs.keys() - {"dtype"}
        return (tensor_of_numbers, (node.args[0], dtype), {}) if plain and dtype in FLOATS else None
    name: Any
    before: Any = ()
    args: list[Any]
    if node.target is method_with_floats:
        name, before, *args = node.args
    else:
        name, args = as_method(node.target, node.args, _is_tensor)
    given: dict[Any, Any] = {**dict(enumerate(args)), **node.kwargs}
    places = tuple(p for p, value in given.items() if isinstance(value, torch.fx.Node) and value in floats)
    within = sum(n in floats for n in node.all_input_nodes) > len({given[place] for place in places})
    if within or not set(places) <= set(places_of(name, given)):
        return None
    tensors = [n.meta["example_value"] for n in given.values() if _is_tensor(n) and n not in floats]
    dtype = node.kwargs.get("dtype")
    if not keep_types(name, tensors, dtype if isinstance(dtype, torch.dtype) else None):
        return None
    return method_with_floats, (name, (*before, *places), *args), dict(node.kwargs)


def _is_tensor(argument: Any) -> bool:
    return isinstance(argument, torch.fx.Node) and isinstance(
        argument.meta.get("example_value"), torch.Tensor
    )


def _rewritten(
    graph: torch.fx.Graph, read: dict[torch.fx.Node, set[torch.fx.Node]], numbers: set[torch.fx.Node]
) -> torch.fx.Graph:
    """A copy of the graph in which all floats but those of `numbers` are tensors."""
    result = new_graph()
    made: dict[torch.fx.Node, torch.fx.Node] = {}
    tensors = {node for node, below in read.items() if not below or not below <= numbers}
    for node in graph.nodes:
        beside = [n for n in node.all_input_nodes if n in tensors]
        if node in tensors and _reads_float(node):
            made[node] = made[node.all_input_nodes[0]]
        elif node in tensors:
            operands = [_as_float(n, made, result) for n in node.args]
            made[node] = result.call_function(float_operation, (NAMES[node.target], *operands))
        elif not beside:
            made[node] = result.node_copy(node, made.__getitem__)
        else:
            call = _as_tensor_operation(node, beside)
            assert call is not None
            made[node] = result.call_function(call[0], *map_arg(call[1:], made.__getitem__))
            made[node].meta = dict(node.meta)
    return result


def _as_float(operand: Any, made: dict[torch.fx.Node, torch.fx.Node], graph: torch.fx.Graph) -> Any:
    """The operand of a float operation: a size becomes a tensor, too."""
    if not isinstance(operand, torch.fx.Node):
        return operand
    if isinstance(operand.meta.get("example_value"), torch.SymInt):
        return graph.call_function(torch.full, ((), made[operand]), {"dtype": torch.float64})
    return made[operand]
