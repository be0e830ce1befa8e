"""The symbols of one translation: sizes, ints and floats, with their sources, placeholders and guards.

In:  a tensor or number that becomes an input, and the `SizePolicy`.
Out: sizes and strides as `SymInt`s for the fake tensor; placeholders of the graph for the symbols; at the
     end, guards that hold exactly for the calls for which the capture is right.

    x[s0, 4]                  ->   placeholders s0 (= x.size(0)) and l_x_
    if x.shape[0] > 8: ...    ->   guard 8 < x.size(0)

Sizes 0 and 1 are numbers. Equal sizes share a symbol, with a guard on their equality, unless they are known
to change. A condition that the guard program can't compute fixes its symbols.
"""

from __future__ import annotations

import math
import operator
import sys
import traceback
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensor

from capture.policy.marks import DimRange
from capture.report.break_reasons import GraphBreak, SkipFrame
from capture.report.errors import ConstraintViolation
from capture.report.retry import SizesAsNumbers
from capture.sizes.policy import UNBOUNDED, SizePolicy
from capture.variables.numbers.conditions import expression_of
from capture.variables.numbers.in_front import is_computed_in_front
from capture.variables.numbers.symbolic import SYMBOLIC, NumpySymbol, SymbolicVariable
from guards import conditions
from guards.guard import Guard
from guards.kinds.constants import ConstantGuard, IntRangeGuard
from guards.kinds.identity import ExactTypeGuard
from guards.kinds.sizes import ShapeGuard
from guards.properties.tensor import free_strides, openable_strides
from guards.sources import ShapeSource, Source

if TYPE_CHECKING:
    from capture.interpret.output_graph import OutputGraph
    from capture.variables.core.base import Variable
    from codegen.fake.size_env import SizeEnv

Layout = tuple[list[Any], list[Any]]
WORD = 2**62  # bounds of ints that native code computes


def _is_being_imported(name: str) -> bool:
    """Whether the module is imported on some thread right now: its names are not all there."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


class Symbols:
    """`env` is None as long as nothing is symbolic, because it needs a slow import."""

    def __init__(self, output: OutputGraph, policy: SizePolicy) -> None:
        self.output = output
        self.policy = policy
        self.env: SizeEnv | None = None
        #: symbol -> the sources of its value; the guards read the first one
        self.sources: dict[Any, list[Source]] = {}
        self.leaves: dict[Any, Variable] = {}
        self.nodes: dict[Any, torch.fx.Node] = {}
        #: function and operands -> a number that is no algebraic expression of symbols
        self.opaque: dict[Any, Variable] = {}
        self.promised: dict[Any, Source] = {}  # symbol -> source of a size that is marked as dynamic
        self.floats: dict[Any, Source] = {}  # symbol -> source of a float
        self._numbers: dict[Source, Variable] = {}  # source -> int or float that is a symbol
        self._computed: dict[Any, torch.fx.Node] = {}

    def environment(self) -> SizeEnv:
        if self.env is None:
            if _is_being_imported("torch.fx.experimental.symbolic_shapes"):
                raise SkipFrame("torch's symbolic shapes are being imported")
            from capture.sizes import undecided  # lazy: imports sympy
            from codegen.fake.size_env import new_size_env  # lazy: imports sympy
            from codegen.fake.symbolic import use_sizes  # lazy: imports sympy

            allowed = self.output.unbacked.allowed
            self.env = new_size_env(allowed.scalars, allowed.sizes)
            self.env.owner = self
            self.env.undecided = undecided.UndecidedNumber
            self.env.user_line = self.output.user_line
            self.env.before_fixing = self._before_fixing
            use_sizes(self.output.fake_mode, self.env)
        return self.env

    def leave_environment(self) -> None:
        """The translation is over. Fake tensors have the environment through their sizes, which the garbage
        collector does not see: it must not lead to the graph, whose nodes have the fake tensors.
        """
        if self.env is not None:
            self.env.owner = self.env.user_line = self.env.before_fixing = None

    # --- tensors ---

    def layout_of(
        self, value: torch.Tensor, source: Source
    ) -> tuple[Layout | None, list[int], tuple[int, ...]]:
        """(sizes and strides with symbols, dims whose size is a symbol, dims whose stride is one by itself).

        The result is (None, [], ()) for a tensor whose sizes and strides stay numbers. A stride is a symbol
        in a part of a larger tensor whose size changes, such as the last column: `tokens[:, -1:]`.
        """
        of_module = self.output.objects.is_of_module
        wanted = self.policy.dynamic_dims(value, source, of_module)
        dims = sorted(
            dim
            for dim, bounds in wanted.items()
            if value.shape[dim] not in (0, 1) and _within(bounds, value.shape[dim])
        )
        changed = self.policy.changed_strides(value, source, of_module)
        open_strides = openable_strides(value, changed, wanted)
        if not dims and not open_strides:
            return None, [], ()
        sizes: list[Any] = list(value.shape)
        for dim in dims:
            sizes[dim] = self._new_size(ShapeSource(source, "size", dim), sizes[dim], wanted[dim])
        strides: list[Any] = list(value.stride())
        for dim in open_strides:
            strides[dim] = self._new_size(ShapeSource(source, "stride", dim), strides[dim], UNBOUNDED)
        inner = free_strides(value, dims, open_strides)
        for dim in _inside_out(inner):
            below = inner[dim]
            if below is not None:
                strides[dim] = sizes[below] * strides[below]
        return (sizes, strides), dims, open_strides

    def _new_size(self, source: Source, value: int, bounds: DimRange | None) -> Any:
        env = self.environment()
        low, high = (None, None) if bounds is None else (bounds.minimum, bounds.maximum)
        size = env.new_size(value, source.text, duck=bounds is None, minimum=low, maximum=high)
        assert isinstance(size, torch.SymInt)
        self._record(env.symbol_of(size), source, value, size)
        if bounds is not None and bounds.strict:
            self.promised[env.symbol_of(size)] = source
        return size

    def _record(self, symbol: Any, source: Source, value: int, size: torch.SymInt) -> None:
        known = self.sources.setdefault(symbol, [])
        if source not in known:
            known.append(source)
        if symbol not in self.nodes:
            self.nodes[symbol] = self.output.inputs.add_symbol(source, str(symbol), value, size)

    # --- ints and floats ---

    def number_variable(self, value: Any, source: Source) -> Variable | None:
        """The variable of a number or text that stays open. None for a constant, and for other values."""
        makers: dict[type, Callable[[Any, Source], Variable | None]] = {
            int: self._int_variable,
            float: self._float_variable,
            np.float64: self._float_variable,
            str: self._text_variable,
        }
        make = makers.get(type(value))
        if make is None or source in self._numbers:
            return self._numbers.get(source)
        made = make(value, source)
        if made is not None:
            self._numbers[source] = made
        return made

    def _int_variable(self, value: int, source: Source) -> Variable | None:
        if not self.policy.is_dynamic_int(value, source, self.output.objects.is_of_module):
            return None
        env = self.environment()
        number = env.new_int(value, source.text)
        symbol = env.symbol_of(number)
        self._record(symbol, source, value, number)
        return self.leaf(symbol)

    def _float_variable(self, value: float, source: Source) -> Variable | None:
        """The variable of a float that is a symbol. Infinities and NaN are constants, without conditions."""
        if not self.policy.is_dynamic_float(
            value, source, self.output.objects.is_of_module
        ) or not math.isfinite(value):
            return None
        env = self.environment()
        number = env.new_opaque(float(value))
        assert isinstance(number, torch.SymFloat)
        symbol = env.symbol_of(number)
        self.floats[symbol] = source
        kind = SymbolicVariable if type(value) is float else NumpySymbol
        self.leaves[symbol] = kind(self, number, source=source)
        self.output.guards.add(ExactTypeGuard.of(source, value))
        return self.leaves[symbol]

    def _before_fixing(self, expression: Any) -> None:
        """An instruction needs the value of a float. Break the graph in front of it if the float has had so
        many values that no guard should fix another one.
        """
        at = self.output.translator
        if self.output.is_at_end or at is None:
            return
        for symbol in self._leaves_below(expression.free_symbols):
            source = self.floats.get(symbol)
            if source is not None and self.policy.breaks_at_float(source, at.code, at.current.index):
                raise GraphBreak("changing_number", value=source.text)

    def _text_variable(self, value: str, source: Source) -> Variable | None:
        if not self.policy.is_changing_text(value, source, self.output.objects.is_of_module):
            return None
        self.output.guards.add(ExactTypeGuard.of(source, value))
        from capture.variables.text.size_text import ChangingText  # lazy: import time

        return ChangingText(self.output, value, source)

    # --- values ---

    def leaf(self, symbol: Any) -> Variable:
        """The variable of a symbol itself."""
        if symbol not in self.leaves:
            env = self.environment()
            if env.is_unbacked(symbol):
                self.leaves[symbol] = SymbolicVariable(self, env.wrap(symbol, None))
                return self.leaves[symbol]
            number = env.wrap(symbol, int(env.backed_var_to_val[symbol]))
            self.leaves[symbol] = SymbolicVariable(self, number, source=self.sources[symbol][0])
        return self.leaves[symbol]

    def add_leaf(self, value: Any, node: torch.fx.Node) -> None:
        """Note that `node` returns a symbolic number."""
        if isinstance(value, SYMBOLIC):
            expression = value.node._expr
            self.nodes[expression] = node
            self.leaves[expression] = SymbolicVariable(self, value)

    def known_number(self, value: Any) -> Variable | None:
        """The variable of a number that was already read from its tensor."""
        if not isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return None
        return self.leaves.get(value.node._expr)

    def are_optional(self) -> bool:
        """Whether the frame can be translated without symbols, or with fewer."""
        return self.env is not None and self.policy.dynamic is not False

    def node_of_symbol(self, symbol: Any) -> torch.fx.Node:
        """The node with the value of a symbol: a size, an int, or a number that the graph computes."""
        if symbol not in self.nodes and self.output.unbacked.is_bound(symbol):
            self.nodes[symbol] = self.output.unbacked.read(symbol)
        if symbol not in self.nodes:
            leaf: Any = self.leaf(symbol)
            return leaf.as_node()
        return self.nodes[symbol]

    def add_opaque(self, key: Any, variable: SymbolicVariable) -> None:
        """Note a number with its own symbol. The `key` (function, operands) and the symbol find it again."""
        self.opaque[key] = variable
        (symbol,) = variable.value.node.expr.free_symbols
        self.leaves[symbol] = variable

    def computes(self, variable: SymbolicVariable) -> torch.fx.Node:
        """The node of a number, which raises the same exceptions as Python."""
        node: torch.fx.Node = variable.as_node()
        node.meta["may_raise"] = True
        self.output.unbacked.may_raise = True
        return node

    def add_computed(self, key: Any, variable: SymbolicVariable) -> None:
        """Note a number that the graph computes from unbacked numbers."""
        self.opaque[key] = variable
        self.leaves[variable.value.node._expr] = variable
        self.output.unbacked.add_computed(variable.value, self.computes(variable))

    def node_of(self, variable: SymbolicVariable) -> Any:
        """The node that computes a number. Equal expressions have one node.

        A float that guards have fixed is returned itself.
        """
        expression = variable.value.node.expr
        if variable.function is None:
            symbol = self.environment().symbol_of(variable.value)
            if symbol.is_Symbol and self.output.unbacked.is_bound(symbol):
                return self.node_of_symbol(symbol)
            if symbol in self.nodes:
                return self.nodes[symbol]
            if symbol is not expression:
                return variable.value.node.hint
        if expression in self.nodes:
            return self.nodes[expression]
        known = self._computed.get(expression)
        if known is not None and not known._erased:
            return known
        if expression in self.floats:
            self._computed[expression] = self.output.inputs.add_float(self.floats[expression], variable.value)
        elif is_computed_in_front(variable):
            self._computed[expression] = self._node_in_front(variable)
        else:
            assert variable.function is not None
            self._guard_range(variable.value)
            operands = tuple(
                o.as_node() if hasattr(o, "as_node") else o.as_proxy() for o in variable.operands
            )
            node = self.output.graph.call_function(variable.function, operands)
            node.meta["example_value"] = variable.value
            self._computed[expression] = node
        return self._computed[expression]

    def _node_in_front(self, variable: SymbolicVariable) -> torch.fx.Node:
        """The node of an int that the guard program computes. To the graph it is any int, and not negative:
        one that is negative now comes with the other sign.
        """
        value = int(variable.value.node.hint)
        if abs(value) not in conditions.INT64:
            raise SizesAsNumbers(f"{variable.value} has more than 64 bits")
        computed = expression_of(variable)
        if value >= 0:
            return self._number_in_front(computed, value)[0]
        node, number = self._number_in_front(conditions.apply("neg", computed), -value)
        negated = self.output.graph.call_function(operator.neg, (node,))
        negated.meta["example_value"] = -number
        return negated

    def _number_in_front(
        self, computed: conditions.ShapeExpression, value: int
    ) -> tuple[torch.fx.Node, torch.SymInt]:
        """The placeholder, and its symbol."""
        source = conditions.ComputedSource(computed.sources, computed.code)
        number = self.environment().new_int(value, source.text)
        symbol = self.environment().symbol_of(number)
        self._record(symbol, source, value, number)
        return self.nodes[symbol], number

    def _guard_range(self, number: Any) -> None:
        """Native code computes with ints of 64 bits, Python with any. Sizes are far from that limit."""
        if not isinstance(number, torch.SymInt):
            return
        places = [self.sources.get(symbol, [None])[0] for symbol in number.node.expr.free_symbols]
        if None in places or all(isinstance(place, ShapeSource) for place in places):
            return
        if not (number < WORD and number > -WORD):
            raise SizesAsNumbers(f"{number} may leave 64 bits")

    def tensor_of(self, node: torch.fx.Node) -> torch.fx.Node:
        """A node that puts the float of `node` into a tensor."""
        known = next((user for user in node.users if user.target is torch.scalar_tensor), None)
        if known is not None:
            return known
        made = self.output.graph.call_function(torch.scalar_tensor, (node,), {"dtype": torch.float64})
        with self.output.fake_mode:
            made.meta["example_value"] = torch.empty((), dtype=torch.float64)
        return made

    def size_node(self, items: list[Variable]) -> torch.fx.Node:
        """A node that makes a torch.Size."""
        numbers = [item.as_proxy() for item in items]
        node = self.output.graph.call_function(torch.Size, (numbers,))
        node.meta["example_value"] = torch.Size([item.value for item in items])  # type: ignore[attr-defined]
        return node

    def nodes_in(self, values: Iterable[Any]) -> set[torch.fx.Node]:
        """The placeholders of the symbols in the sizes and strides of these fake tensors."""
        if self.env is None:
            return set()
        symbols: set[Any] = set()
        for value in values:
            if isinstance(value, torch.Tensor):
                for number in (*value.shape, *value.stride()):
                    symbols |= number.node.expr.free_symbols if isinstance(number, torch.SymInt) else set()
        return {self.nodes[symbol] for symbol in symbols}

    def places_in(self, values: Iterable[Any]) -> frozenset[str] | None:
        """The texts of the sources of the symbols in these fake values. None where one has no source, or
        where a value may hide symbols.
        """
        found: set[Any] = set()
        pending = [*values]
        while pending:
            value = pending.pop()
            if isinstance(value, (list, tuple)):
                pending += value
            elif type(value) is FakeTensor:
                if value._has_symbolic_sizes_strides:
                    pending += (*value.shape, *value.stride(), value.storage_offset())
            elif isinstance(value, SYMBOLIC):
                found |= {value.node._expr, value.node.expr}
            elif isinstance(value, torch.Tensor):
                return None
        symbols: set[Any] = set().union(*(expression.free_symbols for expression in found))
        if not all(symbol in self.sources or symbol in self.leaves for symbol in symbols):
            return None
        leaves = self._leaves_below(symbols)
        if (symbols and not leaves) or any(map(self.output.unbacked.is_bound, symbols)):
            return None
        sources = [self.sources.get(symbol) or [self.floats[symbol]] for symbol in leaves]
        return frozenset(source.text for known in sources for source in known)

    def check_promises(self) -> None:
        """Raise ConstraintViolation if the program fixed a size that the user marked with `mark_dynamic`."""
        for symbol, source in self.promised.items():
            assert self.env is not None
            found = self.env.simplify(symbol)
            if not found.is_number:
                continue
            because = next((g for g in self.env.guards if symbol in g.expr.free_symbols), None)
            lines: Any = because and because.sloc.maybe_user_loc  # traceback.StackSummary
            where = f" ({lines[-1].filename}:{lines[-1].lineno}, {lines[-1].line})" if lines else ""
            raise ConstraintViolation(
                f"{source.text} is marked as dynamic, but the program fixes it to {found}{where}. "
                "Make the program work for all sizes, or mark it with maybe_mark_dynamic"
            )

    # --- guards ---

    def guards(self) -> list[Guard]:
        """The guards under which the symbols have the same meaning in another call."""
        if self.env is None:
            return []
        result: list[Guard] = []
        for symbol, sources in self.sources.items():
            result += self._guards_of(symbol, sources)
        for condition in self.env.guards:
            result += self._condition(condition)
        return result

    def _guards_of(self, symbol: Any, sources: list[Source]) -> list[Guard]:
        assert self.env is not None
        first = conditions.load(sources[0])
        result: list[Guard] = [
            ShapeGuard.of(conditions.apply("eq", first, conditions.load(other))) for other in sources[1:]
        ]
        minimum, maximum = self.env.bounds[symbol]
        if minimum is not None and minimum in conditions.INT64:
            result.append(ShapeGuard.of(conditions.apply("le", conditions.constant(minimum), first)))
        if maximum is not None and maximum in conditions.INT64:  # every size is within int64
            result.append(ShapeGuard.of(conditions.apply("le", first, conditions.constant(maximum))))
        result += [IntRangeGuard.of(source, None, None) for source in sources if not source.is_int]
        return result

    def _condition(self, condition: Any) -> list[Guard]:
        """The guards of one condition of the environment, with the user's lines that need it."""
        lines: traceback.StackSummary | None = condition.sloc.maybe_user_loc
        return [guard.with_stack(lines) for guard in self._guards_for(condition.expr)]

    def _guards_for(self, expression: Any) -> list[Guard]:
        """The guards of a condition. A condition that the guard program can't compute fixes its symbols.

        `==` on floats fixes them too, because there are two zeros.
        """
        symbols = expression.free_symbols
        if type(expression).__name__ == "Equality" and all(map(self._is_float_or_zero, symbols)):
            return list(map(self._fixed, self._leaves_below(symbols)))
        try:
            condition = conditions.from_sympy(expression, {s: self._expression(s) for s in symbols})
        except ValueError:
            return list(map(self._fixed, self._leaves_below(symbols)))
        return [ShapeGuard.of(condition)] if condition.sources else []

    def _is_float_or_zero(self, symbol: Any) -> bool:
        assert self.env is not None
        value = self.env.backed_var_to_val[symbol]
        return symbol in self.floats or bool(value.is_Float and float(value) == 0.0)

    def _expression(self, symbol: Any) -> conditions.ShapeExpression:
        """The expression that reads or computes the value of a symbol in a guard. Raises ValueError."""
        return (
            conditions.load(self.sources[symbol][0])
            if symbol in self.sources
            else expression_of(self.leaves[symbol])
        )

    def _fixed(self, symbol: Any) -> Guard:
        """The guard that a symbol has its present value."""
        assert self.env is not None
        if symbol in self.floats:
            leaf: Any = self.leaves[symbol]
            return ConstantGuard.of(self.floats[symbol], leaf.python_type()(leaf.value.node.hint))
        value = int(self.env.backed_var_to_val[symbol])
        return ShapeGuard.of(
            conditions.apply("eq", conditions.load(self.sources[symbol][0]), conditions.constant(value))
        )

    def _leaves_below(self, symbols: Iterable[Any]) -> list[Any]:
        """The sizes, ints and floats on which symbols depend."""
        found: set[Any] = set()
        pending = list(symbols)
        while pending:
            symbol = pending.pop()
            if symbol in self.sources or symbol in self.floats:
                found.add(symbol)
            else:
                for operand in self.leaves[symbol].children():
                    value: Any = getattr(operand, "value", None)
                    pending += value.node.expr.free_symbols if hasattr(value, "node") else ()
        return sorted(found, key=str)


def _within(bounds: DimRange | None, size: int) -> bool:
    """Whether a size is within the bounds of the user's mark. A size outside of them stays a number."""
    if bounds is None:
        return True
    low, high = bounds.minimum, bounds.maximum
    return (low is None or low <= size) and (high is None or size <= high)


def _inside_out(inner: dict[int, int | None]) -> list[int]:
    """The dims with a free stride, each after the dim from which its stride is computed."""
    order: list[int] = []

    def visit(dim: int | None) -> None:
        if dim is not None and dim in inner and dim not in order:
            visit(inner[dim])
            order.append(dim)

    for dim in inner:
        visit(dim)
    return order
