"""Arithmetic on numbers that are not known at translation time.

In:  a function of Python and variables of numbers, at least one of them symbolic.
Out: `compute` gives the variable of the result, or None if there is no rule. The caller then takes the
     present values, with guards.

Integer arithmetic is algebra: the result is an expression of the same symbols, and torch's `ShapeEnv` knows
what follows from it. Any other result is opaque: Python computes the present value, and a new symbol stands
for it. A decision on that symbol becomes a guard that computes the value again.

    n // 2 + 1           ->   s0//2 + 1
    int(n ** 0.5)        ->   a new symbol
    int(n ** 0.5) > 2    ->   guard: 2 < trunc(x.size(0) ** 0.5)

So a float here is never a real number, as it is in sympy. It is rounded as Python rounds it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from capture.graph.number_operations import SQUARE_ROOT, bit_length
from capture.report.break_reasons import GraphBreak
from capture.report.retry import Retry
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.makers import makes
from capture.variables.numbers.symbolic import (
    PYTHON_TYPES,
    SYMBOLIC,
    NumpySymbol,
    SymbolicVariable,
    decide,
    is_symbolic,
    is_unbacked,
)

EXACT = 2**53  # a float holds each int up to here exactly
INT64 = range(-(2**63), 2**63)

# Functions of Python, and the functions that replace them in a graph and in bytecode. Both do the same on
# plain numbers; the second ones are also defined on symbols.
STAND_INS: dict[Any, Any] = {
    float: torch.sym_float,
    int: torch.sym_int,
    operator.index: torch.sym_int,
    math.sqrt: SQUARE_ROOT,
}
#: torch's own functions for sizes
SYMBOL_FUNCTIONS: frozenset[Any] = frozenset(
    (torch.sym_float, torch.sym_int, torch.sym_max, torch.sym_min, torch.sym_not, SQUARE_ROOT)
)
EXTREMES = {max: torch.sym_max, min: torch.sym_min}
DIVISIONS = frozenset((operator.truediv, operator.floordiv, operator.mod))
COMPARING: frozenset[Any] = frozenset(
    (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)
)
ALGEBRA: frozenset[Any] = frozenset(
    (
        operator.add,
        operator.sub,
        operator.mul,
        operator.pow,
        operator.neg,
        operator.pos,
        operator.floordiv,
        operator.mod,
        abs,
        torch.sym_int,
        torch.sym_max,
        torch.sym_min,
        *COMPARING,
    )
)
ROUNDING: dict[Any, Callable[[Any, Any], Any]] = {
    math.floor: lambda a, b: a // b,
    math.ceil: lambda a, b: -((-a) // b),
    math.trunc: lambda a, b: a // b if decide(bool, (a >= 0)) == decide(bool, (b > 0)) else -((-a) // b),
}
ROUNDING[torch.sym_int] = ROUNDING[math.trunc]
BITS: dict[Any, Callable[[Any, int], Any]] = {
    operator.lshift: lambda value, places: value * 2**places,
    operator.rshift: lambda value, places: value // 2**places,
}
OF_INTS: frozenset[Any] = frozenset(
    (operator.and_, operator.or_, operator.xor, *BITS, math.isqrt, bit_length)
)
OF_FLOATS: frozenset[Any] = frozenset(
    [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.neg, operator.pos]
    + [abs, round, math.floor, math.ceil, math.trunc, torch.sym_int, torch.sym_float, SQUARE_ROOT]
    + [math.exp, math.log, math.log2, math.log10, math.sin, math.cos, math.tan, math.tanh, math.atan]
    + [math.pow, math.fabs, torch.sym_max, torch.sym_min, *COMPARING]
)


POWERS = (operator.pow, math.pow)
#: What does the same to numbers of NumPy as to floats, within `DOMAINS`, and gives one of NumPy's
OF_NUMPY: frozenset[Any] = frozenset(
    [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.neg, operator.pos]
    + [*COMPARING]
)


def is_number(variable: Variable) -> bool:
    if isinstance(variable, SymbolicVariable):
        return True
    return isinstance(variable, ConstantVariable) and type(variable.value) in (int, float, bool, np.float64)


def is_of_numpy(args: Sequence[Variable]) -> bool:
    return any(issubclass(variable.python_type(), np.generic) for variable in args)


@makes(torch.SymInt)
def compute(function: Any, args: list[Variable]) -> Variable | None:
    """`function(*args)` of numbers, at least one of them symbolic.

    None if there is no rule. The caller then takes the present values.
    """
    if not any(map(is_symbolic, args)) or not all(map(is_number, args)):
        return None
    target = STAND_INS.get(function, function)
    values = [int(v) if type(v) is bool else v for v in (a.value for a in args)]  # type: ignore[attr-defined]
    if target is torch.sym_not and isinstance(values[0], torch.SymBool):
        return _make(target, args, torch.sym_not(values[0]))
    if any(isinstance(value, torch.SymBool) for value in values):
        return None
    if is_of_numpy(args) and target not in (*OF_NUMPY, torch.sym_float):
        return None
    integers = all(isinstance(value, (int, torch.SymInt)) for value in values)
    if len(args) == 1 and integers and target in (torch.sym_int, operator.pos, round):
        return args[0]
    divides = integers and _divides_in_the_graph(target, args)
    if not divides and not _is_known_to_be_defined(target, args):
        return None
    if target in POWERS and not is_symbolic(args[0]) and values[0] == 0 and not integers:
        return ConstantVariable(0.0)  # a guard says that the exponent is positive
    value = _algebraic(target, args, values) if integers else _rounded_quotient(target, args[0])
    if value is not None:
        made = _make(target, args, value)
        if divides and isinstance(made, SymbolicVariable):
            made.symbols.computes(made)
        return made
    return _opaque(target, args) if target in OF_FLOATS or (integers and target in OF_INTS) else None


def _make(target: Any, args: list[Variable], value: Any) -> Variable:
    """The variable of a result. It is a constant if nothing in the result is symbolic."""
    if not isinstance(value, SYMBOLIC):
        return ConstantVariable(value)
    if not value.node.expr.free_symbols:
        return ConstantVariable(PYTHON_TYPES[type(value)](value))
    return SymbolicVariable(_symbols(args), value, target, tuple(args))


def _symbols(args: list[Variable]) -> Any:
    return next(a.symbols for a in args if isinstance(a, SymbolicVariable))


# --- operations that may raise in Python ------------------------------------------------------------------


def _is_defined(target: Any, args: list[Variable]) -> bool:
    """Whether Python computes this without an exception.

    Guards cover what that depends on: the divisor is not zero, the number has a root.
    """
    condition = DOMAINS.get(target)
    return condition is None or condition(*args)


def _is_known_to_be_defined(target: Any, args: list[Variable]) -> bool:
    """Whether `_is_defined` holds. It also answers yes for a number that the graph computes.

    Nobody knows such a number here. The graph will raise the exception that Python raises.
    """
    algebraic = (target in ALGEBRA or target in BITS) and all(a.python_type() is int for a in args)
    simple = algebraic or target in POWERS
    if simple or not any(map(is_unbacked, args)):
        return _is_defined(target, args)
    _symbols(args).output.unbacked.may_raise |= target in DOMAINS
    return True


def _divides_in_the_graph(target: Any, args: list[Variable]) -> bool:
    """Whether the graph has to compute a quotient of ints and raise as Python does.

    That is so if only a run knows the divisor, because it may be zero.
    """
    if target not in DIVISIONS or not is_unbacked(args[1]):
        return False
    try:
        return not _is_defined(target, args)
    except GraphBreak:
        return True


def _holds(comparison: Any, variable: Variable, bound: float) -> bool:
    if not is_symbolic(variable):
        return bool(comparison(variable.as_constant(), bound))
    result = compute(comparison, [variable, ConstantVariable(bound)])
    return result is not None and result.truth(None)  # type: ignore[arg-type]


def _power_is_defined(base: Variable, exponent: Variable) -> bool:
    if _is_int(base) and _is_int(exponent) and _holds(operator.ge, exponent, 0):
        bounded = not is_symbolic(exponent) or (not is_symbolic(base) and base.as_constant() != 0)
        return bounded or _holds(operator.gt, base, 0)  # torch fails to bound other powers, and logs that
    if is_symbolic(exponent) and not is_symbolic(base):
        return _power_of_constant_is_finite(base.as_constant(), exponent)
    if not _is_int(base) and _decays(base, exponent):
        return True
    # else Python raises OverflowError, and native code gives infinity
    return (
        _is_small(exponent, whole_base=_is_int(base))
        and _holds(operator.gt, base, 1e-19)
        and _holds(operator.lt, base, 1e19)
    )


def _decays(base: Variable, exponent: Variable) -> bool:
    """Whether it is a number from 0 to 1 to a power that is not negative: `beta ** step`."""
    between = _holds(operator.gt, base, 0.0) and _holds(operator.le, base, 1.0)
    return between and _holds(operator.ge, exponent, 0)


def _is_small(exponent: Variable, whole_base: bool) -> bool:
    if not is_symbolic(exponent):
        return bool(abs(exponent.as_constant()) <= 16)
    if whole_base and _is_int(exponent):
        return False  # the sign decides whether Python gives an int
    return _holds(operator.ge, exponent, -16) and _holds(operator.le, exponent, 16)


def _power_of_constant_is_finite(base: float, exponent: Variable) -> bool:
    """Whether a constant to a power that changes is a finite number.

    `0.9**step` (the decay of an average), `1e6 ** (step / steps)` (a learning rate that grows). A negative
    number to a power that is not whole is complex.
    """
    if not _is_int(exponent) and not 0 < base <= (EXACT if type(base) is int else math.inf):
        return False
    if base == 0:  # a moment that keeps nothing
        return math.copysign(1, base) > 0 and _holds(operator.gt, exponent, 0)
    if not math.isfinite(base):
        return False
    bits = math.log2(abs(base))  # of the result, for each time the base is in it
    if bits > 0:
        return _holds(operator.le, exponent, int(LARGEST_POWER / bits))
    return bits == 0 or _holds(operator.ge, exponent, int(LARGEST_POWER / bits))


#: the power of two below which no float overflows, with room for what the logarithm is rounded by
LARGEST_POWER = 1000


def _is_int(variable: Variable) -> bool:
    return variable.python_type() is int


def _fits_int(value: Variable, *digits: Variable) -> bool:
    if _is_int(value):
        return not digits  # `round(n, -1)` has no form
    return _holds(operator.lt, value, 2.0**62) and _holds(operator.gt, value, -(2.0**62))


DOMAINS: dict[Any, Callable[..., bool]] = {
    **dict.fromkeys(DIVISIONS, lambda _, divisor: _holds(operator.ne, divisor, 0)),
    **dict.fromkeys(
        BITS, lambda _, places: _holds(operator.ge, places, 0) and _holds(operator.lt, places, 62)
    ),
    **dict.fromkeys((SQUARE_ROOT, math.isqrt), lambda value: _holds(operator.ge, value, 0)),
    **dict.fromkeys((math.log, math.log2, math.log10), lambda value, *_: _holds(operator.gt, value, 0)),
    **dict.fromkeys((math.trunc, math.floor, math.ceil, torch.sym_int, round), _fits_int),
    operator.pow: _power_is_defined,
    math.pow: _power_is_defined,
    math.exp: lambda value: _holds(operator.lt, value, 700),
}


# --- algebra ----------------------------------------------------------------------------------------------


def _algebraic(target: Any, args: list[Variable], values: list[Any]) -> Any:
    """The result of integer arithmetic as an expression of the symbols.

    None if the result is no int, or if it has no expression.
    """
    try:
        if target in BITS:
            return BITS[target](values[0], values[1]) if isinstance(values[1], int) else None
        if target is operator.pow and not _holds(operator.ge, args[1], 0):
            return None
        if target is operator.pow and isinstance(values[0], int) and values[0] < 0:
            return (1 - values[1] % 2 * 2) * (-values[0]) ** values[1]  # whose bounds torch knows
        if target is operator.invert:
            return -values[0] - 1
        return target(*values) if target in ALGEBRA else None
    except Retry:
        raise
    except Exception:
        return None  # torch can't do it for any reason: the caller takes the present values


def _rounded_quotient(target: Any, variable: Variable) -> Any:
    """`floor(a / b)`, and the same for ceil and trunc.

    For ints below 2**53 the float quotient lies on the same side of every integer as the exact quotient.
    """
    if (
        target not in ROUNDING
        or not isinstance(variable, SymbolicVariable)
        or variable.function is not operator.truediv
    ):
        return None
    if variable.is_unbacked or not all(
        _is_int(o) and _holds(operator.lt, o, EXACT) and _holds(operator.gt, o, -EXACT)
        for o in variable.operands
    ):
        return None
    above, below = (operand.value for operand in variable.operands)  # type: ignore[attr-defined]
    return ROUNDING[target](above, below)


# --- the rest ---------------------------------------------------------------------------------------------


def _opaque(target: Any, args: list[Variable]) -> Variable | None:
    """A new symbol, whose present value Python computes."""
    symbols = _symbols(args)
    key = (target, *map(_key, args))
    known: Variable | None = symbols.opaque.get(key)
    if known is not None:
        return known
    if any(map(is_unbacked, args)):
        return None if is_of_numpy(args) else _computed_in_the_graph(target, args, key)
    try:
        present = target(*map(present_value, args))
    except (ArithmeticError, ValueError):
        return None  # the caller takes the present values, and raises
    if type(present) not in (int, float, bool) or (type(present) is int and present not in INT64):
        return None
    if type(present) is float and not math.isfinite(present):
        return None
    kind = NumpySymbol if is_of_numpy(args) and target in OF_NUMPY else SymbolicVariable
    made = kind(symbols, symbols.environment().new_opaque(present), target, tuple(args))
    symbols.add_opaque(key, made)
    return made


def _computed_in_the_graph(target: Any, args: list[Variable], key: Any) -> Variable | None:
    """A new symbol for a number that only a run of the graph knows.

    The graph raises what Python raises. So its node stays, even if nothing reads it.
    """
    try:
        kind = type(target(*map(_sample, args)))
    except (ArithmeticError, ValueError, TypeError):
        return None
    if kind not in (int, float, bool):
        return None
    symbols = _symbols(args)
    env = symbols.environment()
    made = SymbolicVariable(symbols, env.new_unbacked(kind), target, tuple(args))
    env.take_fresh()
    symbols.add_computed(key, made)
    return made


def _sample(variable: Variable) -> Any:
    """Some number of the variable's type."""
    return variable.python_type()(2) if is_symbolic(variable) else variable.as_constant()


def _key(variable: Variable) -> Any:
    value = variable.value  # type: ignore[attr-defined]
    return value.node.expr if isinstance(value, SYMBOLIC) else (type(value), value)


def present_value(variable: Variable) -> Any:
    """The present value of the number, without a guard."""
    value = variable.value  # type: ignore[attr-defined]
    if isinstance(value, SYMBOLIC):
        return PYTHON_TYPES[type(value)](value.node.hint)
    return float(value) if isinstance(value, np.float64) else value


def extreme(function: Any, args: list[Variable]) -> Variable | None:
    """`max` or `min` of numbers, at least one of them symbolic.

    For numbers of one type the result is an expression. For ints and floats, guards fix which number it is.
    """
    if len(args) < 2 or not any(map(is_symbolic, args)) or not all(map(is_number, args)):
        return None
    one_type = len({variable.python_type() for variable in args}) == 1
    choose = _expression_of_extreme if one_type else _chosen_extreme
    result: Variable | None = args[0]
    for other in args[1:]:
        if result is not None:
            result = choose(function, result, other)
    return result


def _expression_of_extreme(function: Any, left: Variable, right: Variable) -> Variable | None:
    if is_symbolic(left) or is_symbolic(right):
        return compute(EXTREMES[function], [left, right])
    return ConstantVariable(function(left.as_constant(), right.as_constant()))


def _chosen_extreme(function: Any, left: Variable, right: Variable) -> Variable | None:
    comparison = operator.gt if function is max else operator.lt
    if not (is_symbolic(left) or is_symbolic(right)):
        return ConstantVariable(function(left.as_constant(), right.as_constant()))
    wins = compute(comparison, [right, left])
    if wins is None:
        return None
    return right if wins.truth(None) else left  # type: ignore[arg-type]
