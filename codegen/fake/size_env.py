"""Sizes as symbols: torch's `ShapeEnv` without its expensive imports.

In:  ints that may change between calls (sizes of inputs, int arguments).
Out: `SizeEnv`: a `SymInt` for each. A program that asks which of two sizes is larger gets the answer for the
     present values. The question becomes one of `env.guards`: a condition (sympy) under which the answer
     stays the same.

    env = new_size_env(); n = env.new_size(5, "x.size(0)");  n > 3   ->   True, and env.guards == [s0 > 3]

Unbacked symbols (`u0`, of `x.item()` or the rows of `x[mask]`) have no present value. A question about one is
answered where the known facts decide it; else `env.undecided` makes the exception. Where torch would take a
likely answer (no size is 1, strides are dense), this is one of `env.assumptions`: the code that runs the
graph has to check that it holds.

`ShapeEnv` imports `torch._dynamo` in its constructor, for each new symbol, and when it looks for the user's
line of a guard. Here symbols are made by hand, and the owner of the environment names the user's line
(`env.user_line`). The import of this module costs 0.3 s (sympy), so it is done at the first symbol.
"""

from __future__ import annotations

import itertools
import logging
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from sympy import oo
from torch._guards import ShapeGuard
from torch._logging import trace_structured
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import (
    GuardOnDataDependentSymNode,
    ShapeEnv,
    SLoc,
    ValueRangesSLoc,
)
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from codegen.fake.size_facts import Facts
from codegen.fake.size_node import KnownNumbers

VALIDATOR = "torch.fx.experimental.validator"
UNKNOWN = SLoc(None, None)
TRUTHS = (sympy.true, sympy.false)
NEGATED: dict[type, Any] = {sympy.Lt: sympy.Ge, sympy.Le: sympy.Gt, sympy.Gt: sympy.Le, sympy.Ge: sympy.Lt}
# A question without an answer raises an exception: the user needs no log line of it.
quiet = logging.getLogger("capture.size_env")
quiet.setLevel(logging.CRITICAL)


class NotKnown(Exception):
    """Raised where only facts are asked for: the answer is another one for other sizes."""


class SizeEnv(ShapeEnv):
    """The sizes of one translation.

    The symbols hold within `lower_bounds` and `upper_bounds`; the caller guards these.
    """

    def __init__(self, unbacked_scalars: bool, unbacked_sizes: bool) -> None:
        with _without_validator():
            super().__init__(
                allow_scalar_outputs=unbacked_scalars, allow_dynamic_output_shape_ops=unbacked_sizes
            )
        self.log = quiet
        self.numbers = KnownNumbers()
        self.facts = Facts(self._bounds_of)
        #: expressions that guards fix to 1: `s0 - s0 // 2 == 1` gives no value of s0
        self.ones: set[sympy.Basic] = set()
        self._bounds_of_terms: dict[sympy.Basic, ValueRanges[Any]] = {}
        self._opaque = itertools.count()
        self.opaque_symbols: set[sympy.Symbol] = set()
        self.bounds: dict[sympy.Symbol, tuple[int | None, int | None]] = {}
        self.user_line: Any = None  # called for each new guard: its result becomes the guard's `sloc`
        #: called with an expression before a guard fixes the float; it may raise an exception
        self.before_fixing: Callable[[Any], None] | None = None
        self.owner: Any = None  # the object that uses the environment, to be found from its symbols
        self.assumptions: dict[Any, bool] = {}  # condition on unbacked symbols -> the answer that was taken
        self.hypothesis: dict[Any, Any] = {}  # unbacked symbol -> the value that `under` supposes
        self.asks_for_facts = False  # whether a question without a known answer raises NotKnown
        self.undecided: Any = None  # makes the exception for a question that has no answer

    def new_size(
        self,
        value: int,
        name: str,
        *,
        duck: bool = True,
        minimum: int | None = None,
        maximum: int | None = None,
    ) -> int | torch.SymInt:
        """A size of a tensor. 0 and 1 stay numbers; equal sizes share a symbol, unless `duck` is off."""
        if value in (0, 1):
            return value
        known = self.val_to_var.get(value) if duck else None
        if known is not None:
            return self.wrap(known, value)
        symbol = self._new_symbol(value, name, max(2, minimum or 0), maximum, positive=True)
        if duck:
            self.val_to_var[value] = symbol
        return self.wrap(symbol, value)

    def new_int(self, value: int, name: str) -> torch.SymInt:
        """An int of the program; it may have any value."""
        return self.wrap(self._new_symbol(value, name, None, None, positive=None), value)

    def new_opaque(self, value: bool | float) -> torch.SymInt | torch.SymFloat | torch.SymBool:
        """A number of which only the present value is known."""
        kind = type(value)
        name = f"{'zf' if kind is float else 'so'}{next(self._opaque)}"
        # sympy takes 3.0 for an integer, so `integer` is left open for floats
        symbol = sympy.Symbol(name, integer=None if kind is float else True, real=True)
        self.opaque_symbols.add(symbol)
        self.backed_var_to_val[symbol] = sympy.Float(value) if kind is float else sympy.Integer(value)
        self.var_to_sources[symbol] = []
        self.var_to_range[symbol] = ValueRanges(-oo, oo) if kind is float else ValueRanges(-int_oo, int_oo)
        self.var_to_range_sloc[symbol] = ValueRangesSLoc(UNKNOWN, UNKNOWN)
        self.symbol_guard_counter[symbol] = 0
        if kind is bool:
            return torch.SymBool(self._node(sympy.Eq(symbol, 1), bool, value))
        number = self._node(symbol, kind, value)
        return torch.SymFloat(number) if kind is float else torch.SymInt(number)

    def wrap(self, expression: sympy.Basic, hint: int | None) -> torch.SymInt:
        return torch.SymInt(self._node(expression, int, hint))

    def _node(self, expression: sympy.Basic, kind: type, hint: Any) -> SymNode:
        return self.numbers.node(SymNode(expression, self, kind, hint))

    def symbol_of(self, number: torch.SymInt | torch.SymFloat) -> sympy.Symbol:
        """The symbol that `new_size`, `new_int` or `new_opaque` made, even if it is replaced by now."""
        return number.node._expr

    def _new_symbol(
        self, value: int, name: str, minimum: int | None, maximum: int | None, *, positive: bool | None
    ) -> sympy.Symbol:
        symbol = sympy.Symbol(f"s{len(self.bounds)}", integer=True, positive=positive)
        low = -int_oo if minimum is None else sympy.Integer(minimum)
        high = int_oo if maximum is None else sympy.Integer(maximum)
        self.bounds[symbol] = minimum, maximum
        self.backed_var_to_val[symbol] = sympy.Integer(value)
        self.source_to_var[name] = symbol
        self.var_to_sources[symbol] = []
        self.var_to_range[symbol] = ValueRanges(low, high)
        self.var_to_range_sloc[symbol] = ValueRangesSLoc(UNKNOWN, UNKNOWN)
        self.symbol_guard_counter[symbol] = 0
        return symbol

    # --- unbacked symbols

    @property
    def makes_unbacked(self) -> bool:
        """Whether an operation on plain sizes may give symbols."""
        return bool(self.allow_scalar_outputs or self.allow_dynamic_output_shape_ops)

    def is_unbacked(self, expression: sympy.Basic) -> bool:
        return not expression.free_symbols <= self.backed_var_to_val.keys()

    def has_unbacked(self, value: Any) -> bool:
        """Whether the arguments contain an unbacked number, or a tensor with an unbacked size."""
        if not (self.unbacked_symint_counter or self.unbacked_symfloat_counter):
            return False
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self.is_unbacked(value.node.expr)
        if isinstance(value, torch.Tensor):
            layout = (*value.shape, *value.stride(), value.storage_offset())
            return value._has_symbolic_sizes_strides and any(map(self.has_unbacked, layout))
        if isinstance(value, dict):
            return any(map(self.has_unbacked, value.values()))
        return isinstance(value, (tuple, list)) and any(map(self.has_unbacked, value))

    def new_unbacked(self, kind: type) -> torch.SymInt | torch.SymFloat | torch.SymBool:
        """A number of which nothing is known."""
        if kind is int:
            return self.create_unbacked_symint()
        return self.create_unbacked_symfloat() if kind is float else self.create_unbacked_symbool()

    def take_fresh(self) -> list[sympy.Symbol]:
        """The unbacked symbols that were made since the last call."""
        fresh = list(self.pending_fresh_unbacked_symbols)
        self.pending_fresh_unbacked_symbols.clear()
        return fresh

    def _make_data_dependent_error(
        self, expr: Any, unhinted_expr: Any, **details: Any
    ) -> GuardOnDataDependentSymNode:
        if self.undecided is None:
            return super()._make_data_dependent_error(expr, unhinted_expr, **details)
        error: GuardOnDataDependentSymNode = self.undecided(unhinted_expr)
        return error

    def evaluate_sym_node(
        self, sym_node: SymNode, size_oblivious: bool = False, fallback_value: bool | None = None
    ) -> Any:
        """The answer to a question about plain sizes is kept: its guard is there."""
        key = sym_node, size_oblivious, fallback_value
        answers = self.numbers.answers
        if key in answers and not self._suppress_guards_tls():
            return answers[key]
        fact = self.facts.holds(sym_node.expr)  # more is known than when the question was made
        if fact is not None:
            self.learn_from(sym_node.expr, fact)
            return fact
        if self.asks_for_facts and not sym_node.expr.is_number and sym_node.expr not in TRUTHS:
            raise NotKnown
        if type(sym_node.expr) in NEGATED and self._is_of_present_ints(sym_node):
            return self._order_of(sym_node.expr, bool(sym_node.hint), key)
        if self.before_fixing is not None and sym_node.pytype is float and not self._suppress_guards_tls():
            self.before_fixing(sym_node.expr)
        guard_count, question = len(self.guards), sym_node.expr
        answer = super().evaluate_sym_node(sym_node, size_oblivious, fallback_value)
        if not self._suppress_guards_tls() and not self.is_unbacked(sym_node.expr):
            answers[key] = answer
            if sym_node.pytype is bool:
                if len(self.guards) > guard_count:
                    self.facts.learn(sym_node.expr, bool(answer))
                self.learn_from(question, bool(answer))
        return answer

    def _is_of_present_ints(self, question: SymNode) -> bool:
        """Whether it compares ints with present values, and the answer becomes a guard."""
        return (
            not self._suppress_guards_tls()
            and question.has_hint()
            and all(side.is_integer for side in question.expr.args)
            and not self.is_unbacked(question.expr)
        )

    def _order_of(self, question: Any, answer: bool, key: Any) -> bool:
        """The answer, with a guard. What follows from it is a fact and bounds of a symbol: torch looks for
        more, and takes ten times as long.
        """
        guard = question if answer else NEGATED[type(question)](*question.args, evaluate=False)
        self.guards.append(ShapeGuard(guard, self._get_sloc(), size_oblivious=False))
        self.numbers.answers[key] = answer
        learned = self.facts.learn(question, answer)
        if learned is not None and learned[0] in self.var_to_range:
            symbol, low, high = learned
            bounds = ValueRanges(-int_oo if low is None else low, int_oo if high is None else high)
            if bounds != self.var_to_range[symbol]:
                self._update_var_to_range(symbol, bounds)
        return answer

    def learn_from(self, relation: Any, holds: bool) -> None:
        if isinstance(relation, sympy.Eq if holds else sympy.Ne):
            self.learn_equal(*relation.args)

    def learn_equal(self, left: Any, right: Any) -> None:
        """Both are the same number. A tensor is expanded along a dim of size 1: there, the size itself has to
        say so.
        """
        if sympy.S.One not in (left, right):
            return
        size = self.replace(right if left == sympy.S.One else left)
        if not size.is_number and size not in self.ones:
            self.ones.add(size)
            self._replacements_version_counter += 1

    def knows(self, question: Callable[[], bool]) -> bool:
        """Whether the answer is yes for all sizes; no guard is needed for it."""
        self.asks_for_facts = True
        try:
            return question()
        except NotKnown:
            return False
        finally:
            self.asks_for_facts = False

    def _bounds_of(self, term: sympy.Basic) -> tuple[int | None, int | None]:
        """The least and the largest value of a symbol or a quotient. What is learned later narrows them."""
        found = self.var_to_range.get(term) or self._bounds_of_terms.get(term)
        if found is None:
            found = self._bounds_of_terms[term] = self.bound_sympy(term)
        low, high = (int(n) if isinstance(n, sympy.Integer) else None for n in (found.lower, found.upper))
        return low, high

    def evaluate_expr(
        self,
        orig_expr: Any,
        hint: Any = None,
        fx_node: Any = None,
        size_oblivious: bool = False,
        fallback_value: bool | None = None,
        *,
        forcing_spec: bool = False,
    ) -> Any:
        """Known facts come before likely answers; each likely answer is recorded as an assumption."""
        likely = size_oblivious or fallback_value is not None
        if not likely or not self.is_unbacked(orig_expr):
            return super().evaluate_expr(
                orig_expr, hint, fx_node, False, fallback_value, forcing_spec=forcing_spec
            )
        known = self._maybe_evaluate_static(orig_expr)
        if known is not None:
            return known
        if self.hypothesis:
            return self._supposed(orig_expr)
        answer = self._evaluate_expr(
            orig_expr, hint, fx_node, size_oblivious, fallback_value, forcing_spec=forcing_spec
        )
        self.assumptions[orig_expr] = bool(answer)
        return answer

    def holds_from(self, condition: Any, symbol: sympy.Symbol, minimum: int) -> bool | None:
        """Whether a condition on one symbol holds from `minimum` on; None where that is unknown."""
        bounds = ValueRanges(minimum, max(minimum, self.var_to_range[symbol].upper))
        known = self._maybe_evaluate_static(condition, var_to_range=((symbol, bounds),))
        return None if known is None else bool(known)

    @contextmanager
    def under(self, hypothesis: dict[Any, Any]) -> Iterator[None]:
        """In this block, unbacked symbols have these values wherever torch would take a likely answer.

        The environment learns nothing in the block.
        """
        self.hypothesis = hypothesis
        try:
            yield
        finally:
            self.hypothesis = {}

    def _supposed(self, expression: Any) -> Any:
        answer = expression.xreplace(self.hypothesis)
        if answer not in (sympy.true, sympy.false):
            raise self._make_data_dependent_error(expression, expression)
        return answer

    def guard_or_defer_runtime_assert(  # type: ignore[override]
        self, orig_expr: Any, msg: str, fx_node: Any = None
    ) -> bool:
        if self.hypothesis and self.is_unbacked(orig_expr):
            return bool(self._supposed(orig_expr))
        return bool(super().guard_or_defer_runtime_assert(orig_expr, msg, fx_node))

    def _set_replacement(self, a: sympy.Symbol, tgt: sympy.Expr, msg: str) -> None:
        """A size that equals a number computed by Python stays a separate symbol.

        The graph has no place for the symbol of the number.
        """
        if a in self.opaque_symbols or self.opaque_symbols.isdisjoint(tgt.free_symbols):
            super()._set_replacement(a, tgt, msg)

    def _get_stack_summary(
        self, is_debug: bool = False, framework_loc: str | None = None
    ) -> tuple[SLoc, str]:
        return SLoc(framework_loc, self.user_line() if self.user_line is not None else None), ""

    def _log_guard(self, prefix: str, g: Any, forcing_spec: bool) -> None:
        """Does nothing: the code that takes the guards logs them."""


def _forget_environments() -> None:
    """Empty the caches of `ShapeEnv`: their keys have the environment, and some of them have no limit."""
    for method in vars(ShapeEnv).values():
        if hasattr(method, "cache_clear"):
            method.cache_clear()


def new_size_env(unbacked_scalars: bool = False, unbacked_sizes: bool = False) -> SizeEnv:
    """A new environment.

    `unbacked_scalars`: numbers that are read from tensors become symbols. `unbacked_sizes`: sizes that depend
    on values become symbols.
    """
    # The first structured trace event decides whether a trace is written at all. This event has no context:
    # collecting the context would import torch._dynamo.
    trace_structured("capture_sizes", suppress_context=True)
    _forget_environments()
    return SizeEnv(unbacked_scalars, unbacked_sizes)


@contextmanager
def _without_validator() -> Iterator[None]:
    """`ShapeEnv` asks a module that imports `torch._dynamo` whether validation is on. It is not."""
    if VALIDATOR in sys.modules:
        yield
        return
    stand_in = types.ModuleType(VALIDATOR)
    stand_in.translation_validation_enabled = lambda: False  # type: ignore[attr-defined]
    sys.modules[VALIDATOR] = stand_in
    try:
        yield
    finally:
        if sys.modules.get(VALIDATOR) is stand_in:
            del sys.modules[VALIDATOR]
