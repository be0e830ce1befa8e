"""Sizes as symbols: torch's `ShapeEnv`, without what it drags in.

In:  ints that may change between calls (sizes of inputs, int arguments).
Out: `SizeEnv`: a `SymInt` for each. A program that asks which of two sizes is larger gets the answer for the present values; the question becomes
     one of `env.guards`, a condition (sympy) under which the answer stays the same.

    env = new_size_env(); n = env.new_size(5, "x.size(0)");  n > 3   ->   True, and env.guards == [s0 > 3]

`ShapeEnv` imports `torch._dynamo` in its constructor, for each new symbol, and to find the user's line behind a guard. Here symbols are made
by hand, and who drives the environment says which line is the user's (`env.user_line`). Importing this module costs 0.3 s (sympy), so it is
imported where the first symbol is needed.
"""

from __future__ import annotations

import itertools
import logging
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from sympy import oo
from torch._logging import trace_structured
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import ShapeEnv, SLoc, ValueRangesSLoc
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

VALIDATOR = "torch.fx.experimental.validator"
UNKNOWN = SLoc(None, None)
quiet = logging.getLogger(
    "capture.size_env"
)  # a question without an answer is an exception, and no news for the user
quiet.setLevel(logging.CRITICAL)


class SizeEnv(ShapeEnv):
    """One for each translation. `lower_bounds` and `upper_bounds` are what the symbols were made under: the caller guards them."""

    def __init__(self) -> None:
        with _without_validator():
            super().__init__()
        self.log = quiet
        self._opaque = itertools.count()
        self.bounds: dict[sympy.Symbol, tuple[int | None, int | None]] = {}
        self.user_line: Any = (
            None  # called where a guard is added; what it returns stands in the guard's `sloc`
        )
        self.owner: Any = None  # whoever drives the environment, for those who meet one of its symbols

    def new_size(
        self,
        value: int,
        name: str,
        *,
        duck: bool = True,
        minimum: int | None = None,
        maximum: int | None = None,
    ) -> int | torch.SymInt:
        """A size of a tensor: 0 and 1 stay numbers; sizes of one value share a symbol, unless `duck` is off."""
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
        """An int of the program: any value."""
        return self.wrap(self._new_symbol(value, name, None, None, positive=None), value)

    def new_opaque(self, value: bool | float) -> torch.SymInt | torch.SymFloat | torch.SymBool:
        """A number of which nothing is known but its present value."""
        kind = type(value)
        name = f"{'zf' if kind is float else 'so'}{next(self._opaque)}"
        symbol = sympy.Symbol(
            name, integer=None if kind is float else True, real=True
        )  # 3.0 is an integer to sympy
        self.backed_var_to_val[symbol] = sympy.Float(value) if kind is float else sympy.Integer(value)
        self.var_to_sources[symbol] = []
        self.var_to_range[symbol] = ValueRanges(-oo, oo) if kind is float else ValueRanges(-int_oo, int_oo)
        self.var_to_range_sloc[symbol] = ValueRangesSLoc(UNKNOWN, UNKNOWN)
        self.symbol_guard_counter[symbol] = 0
        if kind is bool:
            return torch.SymBool(SymNode(sympy.Eq(symbol, 1), self, bool, value))
        number = SymNode(symbol, self, kind, value)
        return torch.SymFloat(number) if kind is float else torch.SymInt(number)

    def wrap(self, expression: sympy.Basic, hint: int) -> torch.SymInt:
        return torch.SymInt(SymNode(expression, self, int, hint))

    def symbol_of(self, number: torch.SymInt | torch.SymFloat) -> sympy.Symbol:
        """The symbol that `new_size`, `new_int` or `new_opaque` gave, whatever is known of it by now."""
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

    def _get_stack_summary(
        self, is_debug: bool = False, framework_loc: str | None = None
    ) -> tuple[SLoc, str]:
        return SLoc(framework_loc, self.user_line() if self.user_line is not None else None), ""

    def _log_guard(self, prefix: str, g: Any, forcing_spec: bool) -> None:
        """Guards are logged by whoever takes them."""


def new_size_env() -> SizeEnv:
    """A new environment."""
    # The first structured trace event decides whether there is a trace at all. This one has no context, whose collection imports torch._dynamo.
    trace_structured("capture_sizes", suppress_context=True)
    return SizeEnv()


@contextmanager
def _without_validator() -> Iterator[None]:
    """`ShapeEnv` asks a module that imports `torch._dynamo` whether validation is on: it is not."""
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
