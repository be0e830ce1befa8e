"""Numbers and sizes that exist only when the graph runs: `x.item()`, the rows of `x[mask]`.

In:  operations whose results have unbacked symbols in them (`codegen.fake.unbacked` makes these), what the
     program asserts of such a number.
Out: where each symbol is read; at the end of the translation the graph's own checks of what was concluded.

    y = x[mask]; return y * 2   ->   y = x[mask]; u0 = sym_size(y, 0); _assert_scalar(u0 >= 0);
                                     _assert_scalar(u0 <= 8); y * 2

A check that fails raises inside of the graph: nothing has happened yet, and Python runs the frame from its
start. That wants a graph that writes to no input: else the frame is translated again, with breaks.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.fx

from capture.report.break_reasons import GraphBreak
from capture.report.config import config
from capture.report.retry import UnbackedAsBreaks
from capture.sizes.assertions import is_assertion
from capture.sizes.likely import Assumed, LikelySizes, Retried
from capture.variables.numbers.tensor_reads import is_not_zero

if TYPE_CHECKING:
    from capture.interpret.output_graph import OutputGraph
    from capture.interpret.translator import Translator
    from capture.variables.numbers.symbolic import SymbolicVariable
    from codegen.fake.size_env import SizeEnv


@dataclass(frozen=True)
class Allowed:
    """Which unbacked symbols a translation may have."""

    scalars: bool = False
    sizes: bool = False

    @classmethod
    def by_settings(cls, fullgraph: bool) -> Allowed:
        """Who wants one graph wants these too."""
        return cls(
            fullgraph or config.capture_scalar_outputs, fullgraph or config.capture_dynamic_output_shape_ops
        )


#: from a node's value to a number in it: ("item", index), ("size", dim), ("stride", dim), ("offset",),
# ("flag", 1, 0) of a bool
Path = tuple[tuple[Any, ...], ...]


class Unbacked:
    """Those of one graph."""

    def __init__(self, output: OutputGraph, allowed: Allowed) -> None:
        self.output = output
        self.allowed = allowed
        self.likely = LikelySizes()
        self.assumed: Assumed | None = None  # once the graph is finished
        self.bodies = 0  # being translated: graphs inside of a node of this one
        self.may_raise = False  # Python's own checks of the numbers: the root of a negative one
        self.asserted: list[torch.SymBool] = []  # conditions that the program asserts
        self._places: dict[Any, tuple[torch.fx.Node, Path]] = {}  # by symbol, in the order of the graph

    @property
    def env(self) -> SizeEnv | None:
        return self.output.symbols.env

    def start(self, scalar: bool) -> bool:
        """Whether an operation that found no symbols allowed is worth another try: from now on there are
        some.
        """
        allowed = self.allowed.scalars if scalar else self.allowed.sizes
        if not allowed or self.env is not None or self._is_inside():
            return False
        self.output.symbols.environment()
        return True

    def _is_inside(self) -> bool:
        return self.bodies > 0 or torch._C._functorch.peek_interpreter_stack() is not None

    # --- where symbols are read ---

    def bind(self, value: Any, node: torch.fx.Node) -> None:
        """`node` has the value, in which symbols are that no node before had."""
        fresh = self.env.take_fresh() if self.env is not None else []
        if not fresh:
            return
        found = dict(_places_in(value, ()))
        for symbol in fresh:
            if symbol not in found and not self._is_inside() and self._is_idle(symbol):
                continue
            if symbol not in found or self._is_inside():
                raise GraphBreak("data_dependent_shape", what=str(node.target))
            self._places[symbol] = node, found[symbol]
        self.output.symbols.add_leaf(value, node)

    def _is_idle(self, symbol: Any) -> bool:
        """Whether nothing follows from a symbol that is none of the result (where the view begins that an
        operation wrote to). What the operation's rule wants of it, the operation checks itself.
        """
        assert self.env is not None
        checks = self.env.deferred_runtime_asserts
        own = [check.expr.free_symbols == {symbol} for check in checks.get(symbol, ())]
        others = [c.expr for found in checks.values() for c in found] + list(self.likely.conditions)
        if not all(own) or sum(symbol in condition.free_symbols for condition in others) > len(own):
            return False
        checks.pop(symbol, None)
        return True

    def add_computed(self, value: Any, node: torch.fx.Node) -> None:
        """`node` computes a number that has a symbol of its own."""
        for symbol, path in _places_in(value, ()):
            self._places[symbol] = node, path

    def is_bound(self, symbol: Any) -> bool:
        return symbol in self._places

    def read(self, symbol: Any) -> torch.fx.Node:
        """A node that is the number of a symbol, right behind the one that made it."""
        node, path = self._places[symbol]
        for kind, *operands in path:
            function, value_of = READERS[kind]
            value = value_of(node.meta["example_value"], *operands)
            with self.output.graph.inserting_after(node):
                node = self.output.graph.call_function(function, (node, *operands))
            node.meta["example_value"] = value
        return node

    def is_among(self, sizes: Any) -> bool:
        return self.env is not None and self.env.has_unbacked(tuple(sizes))

    # --- what is known of them ---

    def assert_true(self, variable: SymbolicVariable) -> None:
        """The program asserts a condition: it holds from here on, and the graph checks it."""
        condition, node = variable.value, variable.as_node()
        text = f"Runtime assertion failed for expression {condition.node.expr} on node '{node}'"
        self.asserted.append(condition)
        check = self.output.graph.call_function(torch.ops.aten._assert_scalar.default, (node, text))
        check.meta["example_value"] = None
        self.expect(variable)

    def expect(self, variable: Any) -> None:
        """A condition holds, or the graph raises."""
        if not variable.value.node.expect_true(__file__, 0):
            raise GraphBreak("raised", error="an error: a condition never holds")

    def take_assertion(self, tx: Translator, value: SymbolicVariable) -> bool:
        """Whether `assert value` is in the graph now. Where it does not hold, Python raises the program's own
        error.
        """
        condition = is_not_zero(value) if is_assertion(tx) else None
        if not isinstance(condition, type(value)):
            return False
        self.expect(condition)
        return True

    def is_uncertain(self) -> bool:
        """Whether a run of the graph may find that it has to be Python's."""
        if self.env is None:
            return False
        checks = self.env.deferred_runtime_asserts or self.asserted
        return bool(checks or self.may_raise or self.likely.unproved(self.env))

    def check(self) -> None:
        """Raises UnbackedAsBreaks."""
        if self._places and self.output.inputs.are_written() and self.is_uncertain():
            raise UnbackedAsBreaks

    # --- at the end ---

    def finish(self) -> list[torch.fx.Node]:
        """Put the checks into the graph. What it has to give beside its results, for `around`."""
        if self.env is None or not self._places:
            return []
        self.assumed = self.likely.checked(self.output)
        asserted = {condition.node.expr for condition in self.asserted}
        RuntimeChecks(self.output, self.env, asserted).insert(list(self._places))
        return self.assumed.nodes if self.assumed is not None else []

    def around(self, graph: Callable[..., Any]) -> Callable[..., Any]:
        """The graph as the frame calls it."""
        draws = self.output.fake_mode.has_drawn and self.is_uncertain()
        if self.assumed is None and not draws:
            return graph
        return Retried(graph, self.assumed, draws)


def _places_in(value: Any, path: Path) -> list[tuple[Any, Path]]:
    """The symbols in a value that stand there alone, and where."""
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        expression = value.node._expr
        return [(expression, path)] if expression.is_Symbol else []
    if isinstance(value, torch.SymBool):
        symbols = value.node._expr.free_symbols
        return [(symbol, (*path, ("flag", 1, 0))) for symbol in symbols]
    if isinstance(value, torch.Tensor):
        sizes = [(size, (*path, ("size", dim))) for dim, size in enumerate(value.shape)]
        strides = [(stride, (*path, ("stride", dim))) for dim, stride in enumerate(value.stride())]
        parts = [*sizes, *strides, (value.storage_offset(), (*path, ("offset",)))]
    elif isinstance(value, (tuple, list)):
        parts = [(item, (*path, ("item", index))) for index, item in enumerate(value)]
    else:
        return []
    found: dict[Any, Path] = {}
    for part, place in parts:
        for symbol, where in _places_in(part, place):
            found.setdefault(symbol, where)
    return list(found.items())


#: by the kind of a step: the function that is called in the graph, what it gives for an example value
READERS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "item": (operator.getitem, operator.getitem),
    "size": (torch.ops.aten.sym_size.int, torch.Tensor.size),
    "stride": (torch.ops.aten.sym_stride.int, torch.Tensor.stride),
    "offset": (torch.ops.aten.sym_storage_offset.default, torch.Tensor.storage_offset),
    "flag": (torch.sym_ite, torch.sym_ite),
}


# --- checks in the graph ----------------------------------------------------------------------------------


class RuntimeChecks:
    """Nodes for the ranges of symbols, and for conditions that torch's rules found to be needed."""

    def __init__(self, output: OutputGraph, env: SizeEnv, asserted: set[Any]) -> None:
        self.output = output
        self.env = env
        self.done = asserted
        self.nodes: dict[Any, torch.fx.Node] = {}  # by expression
        self.place: torch.fx.Node | None = None  # nodes are inserted behind it

    def insert(self, symbols: list[Any]) -> None:
        """In the order in which the symbols are made."""
        deferred = {symbol: list(found) for symbol, found in self.env.deferred_runtime_asserts.items()}
        order = list(dict.fromkeys([*symbols, *(s for s in deferred if s is not None)]))
        for position, symbol in enumerate(order):
            bounds = self._bounds(symbol)
            known = set(order[: position + 1])
            ready = []
            for owner, found in deferred.items():
                ready += [c for c in found if self._is_ready(c.expr, known)]
                deferred[owner] = [c for c in found if not self._is_ready(c.expr, known)]
            wanted = [*bounds, *(c.expr for c in ready if not _is_bound(c.expr))]
            wanted = [condition for condition in wanted if condition not in self.done]
            if wanted:
                self.place = self._later(self.output.symbols.node_of_symbol(symbol))
                for condition in wanted:
                    self._insert(condition)

    def _is_ready(self, expression: Any, known: set[Any]) -> bool:
        return all(s in known for s in expression.free_symbols if self.env.is_unbacked(s))

    def _later(self, node: torch.fx.Node) -> torch.fx.Node:
        """The later of a node and the place of the last check."""
        return node if self.place is None or self.place < node else self.place

    def _bounds(self, symbol: Any) -> list[Any]:
        from torch.utils._sympy.numbers import int_oo

        found = self.env.var_to_range[symbol]
        if not found.is_int:
            return []
        lower = [symbol >= int(found.lower)] if found.lower != -int_oo else []
        largest = found.upper == int_oo or int(found.upper) == MAXIMUM
        return lower + ([] if largest else [symbol <= int(found.upper)])

    def _insert(self, condition: Any) -> None:
        if condition in self.done:
            return
        self.done.add(condition)
        node = self._node(condition)
        assert self.place is not None
        with self.output.graph.inserting_after(self.place):
            text = f"Runtime assertion failed for expression {condition} on node '{node}'"
            check = self.output.graph.call_function(torch.ops.aten._assert_scalar.default, (node, text))
        check.meta["example_value"] = None
        self.place = check

    def _node(self, expression: Any) -> Any:
        """The node that computes an expression."""
        if expression.is_Symbol:
            return self.output.symbols.node_of_symbol(expression)
        if expression.is_Integer or expression.is_Float:
            return int(expression) if expression.is_Integer else float(expression)
        if expression in self.nodes:
            return self.nodes[expression]
        name = type(expression).__name__
        form = FORMS.get(name)
        if form is None:
            raise GraphBreak("unbacked_decision", what=str(expression))
        operands = [self._node(argument) for argument in expression.args]
        assert self.place is not None
        with self.output.graph.inserting_before(
            self.place.next
        ):  # `inserting_after` turns the order of several nodes round
            node = form(self.output.graph, operands)
        node.meta["example_value"] = None
        self.place = self.nodes[expression] = node
        return node


MAXIMUM = 2**63 - 2


def _is_bound(expression: Any) -> bool:
    """A limit of one symbol, of which its range has the tightest."""
    if type(expression).__name__ not in ("LessThan", "GreaterThan"):
        return False
    left, right = expression.args
    return bool((left.is_Symbol and right.is_number) or (right.is_Symbol and left.is_number))


def _call(function: Any) -> Callable[[torch.fx.Graph, list[Any]], torch.fx.Node]:
    return lambda graph, operands: graph.call_function(function, tuple(operands))


def _chain(function: Any) -> Callable[[torch.fx.Graph, list[Any]], torch.fx.Node]:
    def form(graph: torch.fx.Graph, operands: list[Any]) -> torch.fx.Node:
        result = operands[0]
        for operand in operands[1:]:
            node = graph.call_function(function, (result, operand))
            node.meta["example_value"] = None
            result = node
        return result

    return form


def _unequal(graph: torch.fx.Graph, left: Any, right: Any) -> torch.fx.Node:
    equal = graph.call_function(operator.eq, (left, right))
    return graph.call_function(torch.sym_not, (equal,))


#: by the name of a sympy class: its nodes
FORMS: dict[str, Any] = {
    "Add": lambda graph, operands: graph.call_function(torch.sym_sum, (operands,)),
    "Mul": _chain(operator.mul),
    "Pow": _call(operator.pow),
    "PowByNatural": _call(operator.pow),
    "FloorDiv": _call(operator.floordiv),
    "CleanDiv": _call(operator.floordiv),
    "Mod": _call(operator.mod),
    "PythonMod": _call(operator.mod),
    "Max": _chain(torch.sym_max),
    "Min": _chain(torch.sym_min),
    "StrictLessThan": _call(operator.lt),
    "LessThan": _call(operator.le),
    "StrictGreaterThan": _call(operator.gt),
    "GreaterThan": _call(operator.ge),
    "Equality": _call(operator.eq),
    "Unequality": lambda graph, operands: _unequal(graph, *operands),
    "And": _chain(operator.and_),
    "Or": _chain(operator.or_),
    "Not": _call(torch.sym_not),
}
