"""Compiles graphs with unbacked symbols in parts: only a run knows these numbers.

In:  an fx graph in which some nodes give unbacked symbols (`capture/sizes/unbacked.py`).
Out: a callable that runs the reads of values one by one. Between them it runs compiled graphs, which take
     sizes as arguments.

    y = x * 2; z = y[mask]; u0 = z.size(0); z.exp() + u0
        ->    y = part_0(x); z = y[mask]; u0 = z.size(0); part_1(z, u0)

A part is compiled at its first call, because its inputs exist then. A part neither writes to its inputs nor
draws random numbers. So it can run again, operator by operator, if its native code refuses the inputs: their
layout may differ from the layout that torch's rules predict.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.fx
from torch.fx.node import map_arg

from capture.graph.named_functions import new_graph
from capture.hooks.switch import OFF, switch
from codegen.kernel.graph_module import GraphModule

SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
Compiler = Callable[[torch.fx.GraphModule, Sequence[Any]], Callable[..., Any]]


def reads_values(graph: torch.fx.Graph) -> bool:
    """Whether some node gives an unbacked symbol."""
    return any(
        not number.node._expr.free_symbols <= number.node.shape_env.backed_var_to_val.keys()
        for node in graph.nodes
        for number in _numbers(node.meta.get("example_value"))
    )


def compile_in_parts(gm: torch.fx.GraphModule, compile_part: Compiler) -> Callable[..., Any] | None:
    """The graph in parts; `compile_part(gm, inputs)` compiles each. None if no part is worth compiling."""
    divided = _Divided(gm, compile_part)
    return divided.forward() if divided.parts else None


def _numbers(value: Any) -> Iterator[Any]:
    """The symbolic numbers in a value: the value itself, its items, the sizes and strides of tensors."""
    if isinstance(value, SYMBOLIC):
        yield value
    elif isinstance(value, torch.Tensor):
        if value._has_symbolic_sizes_strides:
            for number in (*value.shape, *value.stride(), value.storage_offset()):
                yield from _numbers(number)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _numbers(item)


def _symbols(value: Any) -> set[Any]:
    return {symbol for number in _numbers(value) for symbol in number.node._expr.free_symbols}


def _tensors(value: Any) -> list[torch.Tensor] | None:
    """The tensors of a result; None if the result holds anything else."""
    if isinstance(value, torch.Tensor):
        return [value]
    if not isinstance(value, (tuple, list)) or not value:
        return None
    found: list[torch.Tensor] = []
    for item in value:
        tensors = _tensors(item)
        if tensors is None:
            return None
        found += tensors
    return found


class _Divided:
    """The graph that calls the parts."""

    def __init__(self, gm: torch.fx.GraphModule, compile_part: Compiler) -> None:
        self.module = gm
        self.compile_part = compile_part
        self.graph = new_graph()
        self.made: dict[torch.fx.Node, torch.fx.Node] = {}
        self.places: dict[Any, torch.fx.Node] = {}  # symbol -> the node of the old graph with its number
        self.waiting: list[torch.fx.Node] = []
        self.parts: list[LazyPart] = []
        self.own: set[Any] = {check, GET}
        for node in gm.graph.nodes:
            if self._fits(node):
                self.waiting.append(node)
            else:
                self._end_part()
                self._copy(node)

    def forward(self) -> Callable[..., Any]:
        module = GraphModule(self.module, self.graph, class_name=type(self.module).__name__)
        targets = [node.target for node in self.graph.nodes if node.op == "call_function"]
        in_python = [t for t in targets if isinstance(t, types.FunctionType) and t not in self.own]
        return Unhooked(module.forward) if in_python else module.forward

    def _fits(self, node: torch.fx.Node) -> bool:
        """Whether the node belongs in a part.

        It computes tensors from tensors and ints, their sizes follow from its inputs, and it writes to none.
        """
        value = node.meta.get("example_value")
        tensors = _tensors(value)
        if node.op not in ("call_function", "call_method") or tensors is None or _writes(tensors):
            return False
        known: set[Any] = set()
        for given in node.all_input_nodes:
            example = given.meta.get("example_value")
            if given not in self.waiting and not isinstance(example, (torch.Tensor, torch.SymInt)):
                return False
            if isinstance(example, (torch.SymFloat, torch.SymBool)) or _writes(_tensors(example) or []):
                return False
            known |= _symbols(example)
        return _symbols(value) <= known and "changes_state" not in node.meta and not _draws(node)

    def _copy(self, node: torch.fx.Node) -> None:
        made = self.graph.node_copy(node, self.made.__getitem__)
        self.made[node] = made
        if made.target in IN_PYTHON:
            made.target = IN_PYTHON[made.target]
        value = node.meta.get("example_value")
        if isinstance(value, torch.SymInt) and value.node._expr.is_Symbol:
            self.places.setdefault(value.node._expr, node)

    def _end_part(self) -> None:
        nodes, self.waiting = self.waiting, []
        inside = set(nodes)
        results = [node for node in nodes if any(user not in inside for user in node.users)]
        given = dict.fromkeys(n for node in nodes for n in node.all_input_nodes if n not in inside)
        symbols = {symbol for node in given for symbol in _symbols(node.meta["example_value"])}
        whole = all(isinstance(node.meta["example_value"], torch.Tensor) for node in results)
        if len(nodes) < 2 or not whole or not symbols <= self.places.keys():
            for node in nodes:
                self._copy(node)
            return
        given.update(dict.fromkeys(self.places[symbol] for symbol in sorted(symbols, key=str)))
        self._add_part(nodes, list(given), results)

    def _add_part(
        self, nodes: list[torch.fx.Node], given: list[torch.fx.Node], results: list[torch.fx.Node]
    ) -> None:
        inner = new_graph()
        copies: dict[torch.fx.Node, torch.fx.Node] = {}
        for node in given:
            copies[node] = inner.placeholder(node.name)
            copies[node].meta["example_value"] = node.meta["example_value"]
        for node in nodes:
            copies[node] = inner.node_copy(node, copies.__getitem__)
        inner.output(tuple(copies[node] for node in results))
        part = LazyPart(GraphModule(torch.nn.Module(), inner), self.compile_part)
        function = part.function(f"part_{len(self.parts)}")
        called = self.graph.call_function(function, tuple(map_arg(given, self.made.__getitem__)))
        self.parts.append(part)
        self.own.add(function)
        for place, node in enumerate(results):
            self.made[node] = self.graph.call_function(GET, (called, place))


def _writes(tensors: list[torch.Tensor]) -> bool:
    """Whether some operation of the graph writes to one of the tensors."""
    return any(tensor.is_inference() or tensor._version for tensor in tensors)


def _draws(node: torch.fx.Node) -> bool:
    """Whether the node may draw random numbers. It is also True for nodes of which this is not known."""
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    return any(word in name for word in DRAWING) or (
        isinstance(node.target, torch._ops.OpOverload)
        and torch.Tag.nondeterministic_seeded in node.target.tags
    )


DRAWING = (
    "rand", "dropout", "bernoulli", "multinomial", "normal", "uniform", "exponential", "poisson",
    "geometric", "cauchy", "attention", "gumbel", "rrelu", "fractional", "lstm", "gru", "rnn", "binomial",
    "gamma", "dirichlet",
)  # fmt: skip


def check(condition: bool, text: str) -> None:
    """The same as `torch.ops.aten._assert_scalar`, in a tenth of its time."""
    if not condition:
        raise RuntimeError(text)


def item_of(values: tuple[Any, ...], place: int) -> Any:
    return values[place]


GET = item_of
#: functions of the graph -> the same in Python, which is faster
IN_PYTHON: dict[Any, Any] = {
    torch.ops.aten._assert_scalar.default: check,
    torch.ops.aten.sym_size.int: torch.Tensor.size,
    torch.ops.aten.sym_stride.int: torch.Tensor.stride,
    torch.ops.aten.sym_storage_offset.default: torch.Tensor.storage_offset,
}


class Unhooked:
    """A graph that calls Python functions. The hook is off, because these must not be captured."""

    def __init__(self, forward: Callable[..., Any]) -> None:
        self.forward = forward

    def __call__(self, *args: Any) -> Any:
        before = switch(OFF)
        try:
            return self.forward(*args)
        finally:
            switch(before)


class LazyPart:
    """A graph that is compiled at its first call."""

    def __init__(self, module: torch.fx.GraphModule, compile_part: Compiler) -> None:
        self.module = module
        self.compile_part = compile_part
        self.compiled: Callable[..., Any] | None = None

    def function(self, name: str) -> Callable[..., Any]:
        """The function that a node of the graph calls."""

        def part(*args: Any) -> Any:
            compiled = self.compiled or self.compile(args)
            try:
                return compiled(*args)
            except Exception:  # an error of the program must be the error of eager
                return self.module.forward(*args)

        part.__name__ = part.__qualname__ = name
        return part

    def compile(self, args: Sequence[Any]) -> Callable[..., Any]:
        before = switch(OFF)
        try:
            made = self.compile_part(self.module, args)
        finally:
            switch(before)
        self.compiled = getattr(made, "direct_call", made)
        return self.compiled
