"""Unbacked symbols: numbers and sizes that exist only when the graph runs: `x.item()`, the rows of `x[mask]`.

In:  operations with unbacked symbols in their results (`codegen.fake.unbacked` makes the symbols), and the
     program's assertions about such numbers.
Out: the place where the graph reads each symbol, and nodes that check every conclusion about the symbols.

    y = x[mask]; return y * 2   ->   y = x[mask]; u0 = sym_size(y, 0); _assert_scalar(u0 >= 0);
                                     _assert_scalar(u0 <= 8); y * 2

A failed check raises inside the graph, before any side effect, and Python runs the frame from its start. This
works only if the graph writes to no input. Otherwise the frame is translated again, with graph breaks.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.fx

from capture.report.break_reasons import GraphBreak
from capture.report.config import config
from capture.report.retry import UnbackedAsBreaks
from capture.sizes.assertions import is_assertion
from capture.sizes.likely import Assumed, LikelySizes, Retried
from capture_records import dataclass

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
        """`fullgraph` allows all unbacked symbols."""
        return cls(
            fullgraph or config.capture_scalar_outputs, fullgraph or config.capture_dynamic_output_shape_ops
        )


#: the path from a node's value to a number in it, with the steps ("item", index), ("size", dim),
#: ("stride", dim), ("offset",), and ("flag", 1, 0) for a bool
Path = tuple[tuple[Any, ...], ...]


class Unbacked:
    """The unbacked symbols of one graph."""

    def __init__(self, output: OutputGraph, allowed: Allowed) -> None:
        self.output = output
        self.allowed = allowed
        self.likely = LikelySizes()
        self.assumed: Assumed | None = None  # set when the graph is finished
        self.bodies = 0  # number of bodies (graphs inside of a node) that are being translated
        self.may_raise = False  # an operation on the numbers may raise, as the root of a negative number
        self.asserted: list[torch.SymBool] = []  # conditions that the program asserts
        self._places: dict[Any, tuple[torch.fx.Node, Path]] = {}  # by symbol, in the order of the graph

    @property
    def env(self) -> SizeEnv | None:
        return self.output.symbols.env

    def start(self, scalar: bool) -> bool:
        """Start to use unbacked symbols. Returns whether the operation that needs one should be repeated."""
        allowed = self.allowed.scalars if scalar else self.allowed.sizes
        if not allowed or self.env is not None or self._is_inside():
            return False
        self.output.symbols.environment()
        return True

    def _is_inside(self) -> bool:
        return self.bodies > 0 or torch._C._functorch.peek_interpreter_stack() is not None

    # --- reading symbols ---

    def bind(self, value: Any, node: torch.fx.Node) -> None:
        """Note that `node` makes the new symbols in its value."""
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
        """Whether no condition depends on a symbol that is not in the result of its operation.

        An example is the offset of a view to which the operation wrote. The conditions of the operation's own
        rule don't count, because the operation itself checks them.
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
        """Note that `node` computes a number with its own symbol."""
        for symbol, path in _places_in(value, ()):
            self._places[symbol] = node, path

    def is_bound(self, symbol: Any) -> bool:
        return symbol in self._places

    def read(self, symbol: Any) -> torch.fx.Node:
        """A node with the number of a symbol, directly after the node that makes it."""
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

    # --- conditions ---

    def assert_true(self, variable: SymbolicVariable) -> None:
        """The program asserts a condition. The following code relies on it, and the graph checks it."""
        condition, node = variable.value, variable.as_node()
        text = f"Runtime assertion failed for expression {condition.node.expr} on node '{node}'"
        self.asserted.append(condition)
        check = self.output.graph.call_function(torch.ops.aten._assert_scalar.default, (node, text))
        check.meta["example_value"] = None
        self.expect(variable)

    def expect(self, variable: Any) -> None:
        """Rely on a condition: it holds, or the graph raises."""
        if not variable.value.node.expect_true(__file__, 0):
            raise GraphBreak("raised", error="an error: a condition never holds")

    def take_assertion(self, tx: Translator, value: SymbolicVariable) -> bool:
        """Take `assert value` into the graph, if possible. Returns whether it was possible.

        If the value is false in a run of the graph, Python raises the program's own error.
        """
        from capture.variables.numbers.tensor_reads import is_not_zero  # lazy: import time

        condition = is_not_zero(value) if is_assertion(tx) else None
        if not isinstance(condition, type(value)):
            return False
        self.expect(condition)
        return True

    def is_uncertain(self) -> bool:
        """Whether a check in a run of the graph may fail, so Python must run the frame."""
        if self.env is None:
            return False
        checks = self.env.deferred_runtime_asserts or self.asserted
        return bool(checks or self.may_raise or self.likely.unproved(self.env))

    def check(self) -> None:
        """Raises UnbackedAsBreaks."""
        if self._places and self.output.inputs.are_written() and self.is_uncertain():
            raise UnbackedAsBreaks

    # --- the finished graph ---

    def finish(self) -> list[torch.fx.Node]:
        """Put the checks into the graph. Returns the nodes of the additional outputs, for `around`."""
        if self.env is None or not self._places:
            return []
        self.assumed = self.likely.checked(self.output)
        asserted = {condition.node.expr for condition in self.asserted}
        RuntimeChecks(self.output, self.env, asserted).insert(list(self._places))
        return self.assumed.nodes if self.assumed is not None else []

    def around(self, graph: Callable[..., Any], draws_in_vain: bool = False) -> Callable[..., Any]:
        """The function that the frame calls: the graph, with its checks around it if there are any.

        `draws_in_vain`: where it raises, Python may have to draw its numbers again.
        """
        draws = draws_in_vain or (self.output.fake_mode.has_drawn and self.is_uncertain())
        if self.assumed is None and not draws:
            return graph
        return Retried(graph, self.assumed, draws)


def _places_in(value: Any, path: Path) -> list[tuple[Any, Path]]:
    """The symbols that are themselves numbers of a value (no larger expressions), with their paths."""
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


#: kind of a step -> (function to call in the graph, function that reads an example value)
READERS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "item": (operator.getitem, operator.getitem),
    "size": (torch.ops.aten.sym_size.int, torch.Tensor.size),
    "stride": (torch.ops.aten.sym_stride.int, torch.Tensor.stride),
    "offset": (torch.ops.aten.sym_storage_offset.default, torch.Tensor.storage_offset),
    "flag": (torch.sym_ite, torch.sym_ite),
}


# --- checks in the graph ----------------------------------------------------------------------------------


class RuntimeChecks:
    """Nodes that check the ranges of symbols, and the conditions that torch's rules need."""

    def __init__(self, output: OutputGraph, env: SizeEnv, asserted: set[Any]) -> None:
        self.output = output
        self.env = env
        self.done = asserted
        self.nodes: dict[Any, torch.fx.Node] = {}  # by expression
        self.place: torch.fx.Node | None = None  # new nodes are inserted after it

    def insert(self, symbols: list[Any]) -> None:
        """Insert the checks, in the order in which the graph makes the symbols."""
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
        from torch.utils._sympy.numbers import int_oo  # lazy: imports sympy

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
        # `inserting_after` would reverse the order of several nodes
        with self.output.graph.inserting_before(self.place.next):
            node = form(self.output.graph, operands)
        node.meta["example_value"] = None
        self.place = self.nodes[expression] = node
        return node


MAXIMUM = 2**63 - 2


def _is_bound(expression: Any) -> bool:
    """Whether the condition is a bound of one symbol. The range of the symbol has the tightest bound."""
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


#: name of a sympy class -> function that makes its nodes
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
