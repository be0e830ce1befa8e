"""Conditions over sizes, strides and ints, as the guard program evaluates them.

In:  an expression built with the functions here, or a sympy expression from a ShapeEnv (`from_sympy`).
Out: `ShapeExpression`: sources of its integers and a postfix code over 64-bit integers. An overflow counts as a failure.

    le(size(x, 0), constant(8))    ->    sources (x.size(0),), code (("load", 0), ("const", 8), ("le",))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guards.source import ShapeSource, Source

if TYPE_CHECKING:
    import sympy  # type: ignore[import-untyped]

Token = tuple[str] | tuple[str, int]
INT64 = range(-(2**63), 2**63)


class ShapeOverflow(ArithmeticError):
    """A value leaves 64 bits, or something is divided by zero: the condition can't be decided, and counts as false."""


# Semantics of the operators as in Python: floordiv rounds down, mod has the sign of the divisor, comparisons give 0 or 1.
OPERATORS: dict[str, tuple[int, Callable[..., Any]]] = {
    "add": (2, lambda a, b: a + b),
    "sub": (2, lambda a, b: a - b),
    "mul": (2, lambda a, b: a * b),
    "floordiv": (2, lambda a, b: a // b),
    "mod": (2, lambda a, b: a % b),
    "max": (2, max),
    "min": (2, min),
    "eq": (2, lambda a, b: a == b),
    "ne": (2, lambda a, b: a != b),
    "lt": (2, lambda a, b: a < b),
    "le": (2, lambda a, b: a <= b),
    "and": (2, lambda a, b: bool(a) and bool(b)),
    "or": (2, lambda a, b: bool(a) or bool(b)),
    "not": (1, lambda a: not a),
    "neg": (1, lambda a: -a),
}
SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "and": "and", "or": "or",
}  # fmt: skip


def shape_operator_numbers() -> dict[str, int]:
    """Operators by number in a guard program: the two loads, then `OPERATORS` in order."""
    return {name: number for number, name in enumerate(("load", "const", *OPERATORS))}


MAX_DEPTH = 64  # of the evaluation stack; native/guard_program.c has the same


@dataclass(frozen=True)
class ShapeExpression:
    """`code` is postfix: ("load", i) pushes the integer at sources[i], ("const", n) pushes n, (operator,) replaces its operands."""

    sources: tuple[Source, ...]
    code: tuple[Token, ...]

    def evaluate(self, values: tuple[int, ...]) -> int:
        """The value for these integers. Raises ShapeOverflow."""
        stack: list[int] = []
        for token in self.code:
            if token[0] == "load":
                result = values[token[1]]  # type: ignore[misc]
            elif token[0] == "const":
                result = token[1]  # type: ignore[misc]
            else:
                arity, function = OPERATORS[token[0]]
                operands, stack[-arity:] = stack[-arity:], []
                if token[0] in ("floordiv", "mod") and operands[1] == 0:
                    raise ShapeOverflow("division by zero")
                result = int(function(*operands))
            if result not in INT64:
                raise ShapeOverflow(f"{result} leaves 64 bits")
            stack.append(result)
        return stack[0]

    @property
    def text(self) -> str:
        """Infix, with the sources' own texts."""
        stack: list[str] = []
        for token in self.code:
            if token[0] in ("load", "const"):
                stack.append(self.sources[token[1]].text if token[0] == "load" else str(token[1]))  # type: ignore[misc]
                continue
            arity = OPERATORS[token[0]][0]
            operands, stack[-arity:] = stack[-arity:], []
            stack.append(_infix(token[0], operands))
        return stack[0][1:-1] if stack[0].startswith("(") else stack[0]

    def depth(self) -> int:
        """Stack items needed."""
        deepest = now = 0
        for token in self.code:
            now += 1 if token[0] in ("load", "const") else 1 - OPERATORS[token[0]][0]
            deepest = max(deepest, now)
        return deepest


def _infix(operator: str, operands: list[str]) -> str:
    if operator in SYMBOLS:
        return f"({operands[0]} {SYMBOLS[operator]} {operands[1]})"
    prefix = {"not": "not ", "neg": "-"}.get(operator)
    return f"({prefix}{operands[0]})" if prefix else f"{operator}({', '.join(operands)})"


# --- building --------------------------------------------------------------------------------------------------------------


def load(source: Source) -> ShapeExpression:
    """The integer at a source: a ShapeSource, or any place that holds an exact int."""
    return ShapeExpression((source,), (("load", 0),))


def size(tensor: Source, dim: int) -> ShapeExpression:
    return load(ShapeSource(tensor, "size", dim))


def stride(tensor: Source, dim: int) -> ShapeExpression:
    return load(ShapeSource(tensor, "stride", dim))


def constant(value: int) -> ShapeExpression:
    return ShapeExpression((), (("const", int(value)),))


def apply(operator: str, *operands: ShapeExpression) -> ShapeExpression:
    """One of `OPERATORS` on expressions; sources that occur twice are loaded once. More than two operands are folded from the left."""
    arity = OPERATORS[operator][0]
    if len(operands) > arity >= 2:
        return apply(operator, apply(operator, *operands[:-1]), operands[-1])
    if len(operands) != arity:
        raise ValueError(f"{operator} takes {arity} operands, got {len(operands)}")
    sources: dict[Source, int] = {}
    code: list[Token] = []
    for operand in operands:
        for token in operand.code:
            if token[0] == "load":
                source = operand.sources[token[1]]  # type: ignore[misc]
                token = ("load", sources.setdefault(source, len(sources)))
            code.append(token)
    result = ShapeExpression(tuple(sources), (*code, (operator,)))
    if result.depth() > MAX_DEPTH:
        raise ValueError(f"a shape condition nests {result.depth()} deep; the limit is {MAX_DEPTH}")
    return result


_SYMPY_OPERATORS = {
    "Add": "add", "Mul": "mul", "FloorDiv": "floordiv", "CleanDiv": "floordiv", "Mod": "mod", "PythonMod": "mod",
    "Max": "max", "Min": "min", "Equality": "eq", "Unequality": "ne", "StrictLessThan": "lt", "LessThan": "le", "And": "and",
    "Or": "or", "Not": "not",
}  # fmt: skip
_SWAPPED = {"StrictGreaterThan": "lt", "GreaterThan": "le"}


def from_sympy(expression: sympy.Basic, symbols: Mapping[Any, Source]) -> ShapeExpression:
    """A condition of a ShapeEnv; `symbols` tells where each of its free symbols is read. Raises ValueError for what is not integer arithmetic."""
    import sympy

    name = type(expression).__name__
    if expression in symbols:
        return load(symbols[expression])
    if expression is sympy.true or expression is sympy.false:
        return constant(int(bool(expression)))
    if expression.is_Integer:
        return constant(int(expression))
    if expression.is_Pow and expression.args[1].is_Integer and int(expression.args[1]) > 1:
        return apply("mul", *[from_sympy(expression.args[0], symbols)] * int(expression.args[1]))
    operands = [from_sympy(arg, symbols) for arg in expression.args]
    if name in _SWAPPED:
        return apply(_SWAPPED[name], *reversed(operands))
    operator = _SYMPY_OPERATORS.get(name)
    if operator is None:
        raise ValueError(f"no integer form for {expression} ({name}); specialise the sizes in it")
    return apply(operator, *operands)
