"""Numbers that are not known at translation time: sizes, changing ints, and what is computed from them.

A `SymbolicVariable` holds a `SymInt`, `SymFloat` or `SymBool` and remembers how it came about, a function of other variables: that is its node in
the graph where an operation takes it, and its bytecode where Python needs it. Asking for its value (`as_constant`, or a comparison that a branch
depends on) is answered for the present values, and guarded.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import torch

from capture.symbols import SizesAsNumbers
from capture.variables.base import NotConstant, Variable
from capture.variables.constant import ConstantVariable

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.reconstruct import PythonCode
    from capture.symbols import Symbols
    from capture.translator import Translator
    from guards.source import Source

SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
PYTHON_TYPES: dict[type, type] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}


class SymbolicVariable(Variable):
    """A symbol itself has a source; anything else is `function(*operands)`."""

    def __init__(
        self,
        symbols: Symbols,
        value: Any,
        function: Callable[..., Any] | None = None,
        operands: tuple[Variable, ...] = (),
        *,
        source: Source | None = None,
    ) -> None:
        super().__init__(source)
        self.symbols = symbols
        self.value = value
        self.function = function
        self.operands = operands
        self.node: torch.fx.Node | None = None

    def python_type(self) -> type:
        return PYTHON_TYPES[type(self.value)]

    def describe(self) -> str:
        return self.source.text if self.source is not None else str(self.value)

    def is_constant(self) -> bool:
        return True

    def as_constant(self) -> Any:
        """The present value; from now on it is fixed by a guard. Floats are computed by Python: symbolic ones are real numbers, not rounded."""
        if isinstance(self.value, torch.SymFloat):
            assert self.function is not None
            return self.function(*(operand.as_constant() for operand in self.operands))
        return decide(self.python_type(), self.value)

    def real_value(self) -> Any:
        raise NotConstant(self)

    def as_proxy(self) -> Any:
        """A node for an int. A float might decide over sizes (`torch.arange(n / 3)`), where a symbolic one is not exact: it is fixed."""
        return self.as_node() if isinstance(self.value, torch.SymInt) else self.as_constant()

    def as_node(self) -> torch.fx.Node:
        if self.function is None:
            return self.symbols.nodes[self.symbols.environment().symbol_of(self.value)]
        if self.node is None:
            graph = self.symbols.output.graph
            operands = tuple(
                o.as_node() if isinstance(o, SymbolicVariable) else o.as_proxy() for o in self.operands
            )
            self.node = graph.call_function(self.function, operands)
            self.node.meta["example_value"] = self.value
        return self.node

    def truth(self, tx: Translator) -> bool:
        return (
            bool(self.as_constant())
            if isinstance(self.value, torch.SymFloat)
            else bool(decide(bool, self.value))
        )

    def get_attr(self, tx: Translator, name: str) -> Variable:
        if name in ("real", "numerator") and isinstance(self.value, torch.SymInt):
            return self
        if name == "__class__":
            from capture.wrap import wrap_class

            return wrap_class(tx.output, self.python_type())
        return ConstantVariable(self.as_constant()).get_attr(tx, name)

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        function = getattr(operator, name, None) if name.startswith("__") else None
        if function is not None and not kwargs:
            result = compute(function, [self, *args])
            if result is not None:
                return result
        return ConstantVariable(self.as_constant()).call_method(tx, name, args, kwargs)

    def unpack(self, tx: Translator) -> list[Variable]:
        return ConstantVariable(self.as_constant()).unpack(tx)

    def children(self) -> list[Variable]:
        return list(self.operands)

    def reconstruct(self, code: PythonCode) -> None:
        assert self.function is not None
        code.call_object(self.function, list(self.operands))


def is_symbolic(variable: Variable) -> bool:
    return isinstance(variable, SymbolicVariable)


def is_number(variable: Variable) -> bool:
    if isinstance(variable, SymbolicVariable):
        return True
    return isinstance(variable, ConstantVariable) and type(variable.value) in (int, float, bool)


# --- computing ---------------------------------------------------------------------------------------------------------------

DIVISIONS = frozenset((operator.truediv, operator.floordiv, operator.mod))
OF_INTS = frozenset((operator.floordiv, operator.mod))  # on floats, their symbolic forms are not exact
FLOAT_ARITHMETIC: frozenset[Any] = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos, abs)
)
ROUNDING: frozenset[Any] = frozenset((int, math.floor, math.ceil, math.trunc, torch.sym_int))
ARITHMETIC: frozenset[Any] = frozenset(
    (operator.add, operator.sub, operator.mul, operator.pow, operator.neg, operator.pos, abs, *DIVISIONS)
)
COMPARING: frozenset[Any] = frozenset(
    (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)
)
# Functions of Python, and what stands for them in a graph and in bytecode: the same on plain numbers, and defined on symbols.
STAND_INS: dict[Any, Any] = {
    float: torch.sym_float,
    int: torch.sym_int,
    operator.index: torch.sym_int,
    math.sqrt: torch._sym_sqrt,  # type: ignore[attr-defined]
    math.floor: math.floor,
    math.ceil: math.ceil,
    math.trunc: math.trunc,
    torch._sym_sqrt: torch._sym_sqrt,  # type: ignore[attr-defined]
    torch.sym_float: torch.sym_float,
    torch.sym_int: torch.sym_int,
    torch.sym_max: torch.sym_max,
    torch.sym_min: torch.sym_min,
    torch.sym_not: torch.sym_not,
}
SYMBOL_FUNCTIONS: frozenset[Any] = frozenset(
    (torch.sym_float, torch.sym_int, torch.sym_max, torch.sym_min, torch.sym_not, torch._sym_sqrt)  # type: ignore[attr-defined]
)  # torch's own, written for sizes
ROOTS: frozenset[Any] = frozenset((math.sqrt, torch._sym_sqrt))  # type: ignore[attr-defined]
EXTREMES = {max: torch.sym_max, min: torch.sym_min}


def compute(function: Any, args: list[Variable]) -> Variable | None:
    """`function(*args)` of numbers, one of them symbolic; None where there is no rule (take the present values then)."""
    if not any(map(is_symbolic, args)) or not all(map(is_number, args)):
        return None
    target = STAND_INS.get(function, function if function in ARITHMETIC or function in COMPARING else None)
    values = [int(v) if type(v) is bool else v for v in (a.value for a in args)]  # type: ignore[attr-defined]
    if target is None or not _is_exact(function, args, values):
        return None
    if len(args) == 1 and type(values[0]) is torch.SymInt and target in (torch.sym_int, operator.pos):
        return args[0]
    try:
        value = target(*values)
    except Exception:
        return None  # whatever torch has against it: Python computes on the present values, and raises what there is to raise
    return make(args, value, target)


def _is_exact(function: Any, args: list[Variable], values: list[Any]) -> bool:
    """Whether the symbolic form gives what Python gives: on what that depends (is the divisor zero, is there a root) is guarded."""
    last = values[-1]
    if any(isinstance(v, torch.SymBool) for v in values) and function is not torch.sym_not:
        return False
    if any(isinstance(v, torch.SymFloat) for v in values):
        if function in ROUNDING:
            return _is_small_quotient(args[0])
        return function in FLOAT_ARITHMETIC and (
            function is not operator.truediv or (isinstance(last, (int, float)) and bool(last))
        )
    if function in OF_INTS and any(isinstance(v, float) for v in values):
        return False
    if function in DIVISIONS:
        return bool(decide(bool, last))
    if function is operator.pow:
        natural = (
            isinstance(last, (int, torch.SymInt))
            and isinstance(values[0], (int, torch.SymInt))
            and bool(decide(bool, last >= 0))
        )
        return natural or (isinstance(last, (int, float)) and bool(decide(bool, values[0] > 0)))
    return function not in ROOTS or bool(decide(bool, values[0] >= 0))


def _is_small_quotient(variable: Variable) -> bool:
    """`a / b` of ints below 2**53 rounds to a float on the same side of every integer as the quotient itself."""
    if not isinstance(variable, SymbolicVariable) or variable.function is not operator.truediv:
        return False
    parts = [operand.value for operand in variable.operands]  # type: ignore[attr-defined]
    return all(
        isinstance(p, (int, torch.SymInt)) and decide(bool, p < 2**53) and decide(bool, p > -(2**53))
        for p in parts
    )


def decide(kind: type, value: Any) -> Any:
    """The present value of a number, or whether it is true; guarded where it is symbolic."""
    try:
        return kind(
            value != 0 if kind is bool and isinstance(value, (torch.SymInt, torch.SymFloat)) else value
        )
    except Exception as error:
        raise SizesAsNumbers(f"{value}: {error}") from error


def make(args: list[Variable], value: Any, function: Any) -> Variable:
    """The variable of a result; a number where nothing in it is symbolic any more."""
    if not isinstance(value, SYMBOLIC):
        return ConstantVariable(value)
    if not value.node.expr.free_symbols and not isinstance(value, torch.SymFloat):
        return ConstantVariable(PYTHON_TYPES[type(value)](value))
    symbols = next(a.symbols for a in args if isinstance(a, SymbolicVariable))
    return SymbolicVariable(symbols, value, function, tuple(args))


def extreme(function: Any, args: list[Variable]) -> Variable | None:
    """`max` or `min` of ints, one of them symbolic."""
    if (
        len(args) < 2
        or not any(map(is_symbolic, args))
        or not all(is_number(a) and a.python_type() is int for a in args)
    ):
        return None
    result: Variable | None = args[0]
    for other in args[1:]:
        assert result is not None
        result = compute(EXTREMES[function], [result, other])
        if result is None and not is_symbolic(other):
            return None
    return result


# Operations that take a float as a number to compute with, not as one that decides over the layout of the result.
FLOAT_PLACES: frozenset[Any] = frozenset(
    [
        operator.add,
        operator.sub,
        operator.mul,
        operator.truediv,
        operator.iadd,
        operator.isub,
        operator.imul,
        operator.itruediv,
    ]
    + [
        torch.add,
        torch.sub,
        torch.mul,
        torch.div,
        torch.nn.functional.scaled_dot_product_attention,
        torch.masked_fill,
    ]
    + ["add", "add_", "sub", "sub_", "mul", "mul_", "div", "div_", "masked_fill", "masked_fill_", "fill_"]
)


def proxy_for(target: Any, variable: Variable) -> Any:
    """The variable as an argument of a call of `target`."""
    if (
        isinstance(variable, SymbolicVariable)
        and isinstance(variable.value, torch.SymFloat)
        and target in FLOAT_PLACES
    ):
        return variable.as_node()
    return variable.as_proxy()


# --- sizes of fake tensors -----------------------------------------------------------------------------------------------------


def from_symbolic(value: Any) -> Variable:
    """The variable of a size that torch computed: rebuilt from its expression."""
    if not value.node.expr.free_symbols:
        return ConstantVariable(PYTHON_TYPES[type(value)](value))
    symbols: Symbols = value.node.shape_env.owner
    variable = _from_expression(symbols, value.node.expr)
    return ConstantVariable(PYTHON_TYPES[type(value)](value)) if variable is None else variable


SYMPY_FUNCTIONS: dict[str, Any] = {
    "Add": operator.add,
    "Mul": operator.mul,
    "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "Max": torch.sym_max,
    "Min": torch.sym_min,
    "Pow": operator.pow,
    "PowByNatural": operator.pow,
}


def _from_expression(symbols: Symbols, expression: Any) -> Variable | None:
    """Integer arithmetic as functions of symbols and numbers; None for anything else."""
    if expression.is_Symbol:
        return symbols.leaf(expression)
    if expression.is_Integer:
        return ConstantVariable(int(expression))
    function = SYMPY_FUNCTIONS.get(type(expression).__name__)
    if function is operator.pow and not expression.args[1].is_Integer:
        return None
    operands = [_from_expression(symbols, arg) for arg in expression.args]
    if function is None or not operands:
        return None
    result = operands[0]
    for operand in operands[1:]:
        if result is None or operand is None:
            return None
        result = compute(function, [result, operand])
    return result
