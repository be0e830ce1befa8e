"""Conditions over sizes, strides and ints, as the guard program evaluates them.

In:  an expression built with the functions here, or a sympy expression from a ShapeEnv (`from_sympy`).
Out: `ShapeExpression`: the sources of its numbers, and a postfix code over 64-bit ints and floats. An
     overflow counts as a failure. `ComputedSource`: its value as a place, such as an input of the graph.

    le(size(x, 0), constant(8))    ->    sources (x.size(0),), code (("load", 0), ("const", 8), ("le",))
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from capture_records import dataclass
from guards.lookup import Unresolved, safe_repr
from guards.namespace import FrameNamespace
from guards.sources import FloatSource, ShapeSource, Source
from guards.values import ObjectRef

if TYPE_CHECKING:
    import sympy  # type: ignore[import-untyped]

Token = tuple[str] | tuple[str, float]
INT64 = range(-(2**63), 2**63)


class ShapeOverflow(ArithmeticError):
    """A value leaves 64 bits, or something is divided by zero. The condition counts as false then."""


@dataclass(frozen=True)
class Operator:
    """`types`: a letter for each operand, then one for the result. i is an int of 64 bits, f is a float."""

    types: str
    function: Callable[..., Any]

    @property
    def arity(self) -> int:
        return len(self.types) - 1


def _exact_float(value: int) -> float:
    if abs(value) > 2**53:
        raise ShapeOverflow(f"{value} is no float")
    return float(value)


def _shifted(value: int, places: int) -> int:
    if not 0 <= places < 63:
        raise ShapeOverflow(f"{value} << {places}")
    return value << places


def _whole_power(base: int, exponent: int) -> int:
    small = 0 <= exponent <= 63 or base in (-1, 0, 1)
    result = base**exponent if small and exponent >= 0 else None
    if result is None or result not in INT64:
        raise ShapeOverflow(f"{base} ** {exponent}")
    return result


def _root(value: int) -> int:
    if value >= 2**53:
        raise ShapeOverflow(f"isqrt({value})")
    return math.isqrt(value)


def _power(base: float, exponent: float) -> float:
    if base <= 0:
        raise ShapeOverflow(f"{base} ** {exponent}")
    return base**exponent


# The operators mean what they mean in Python: floordiv rounds down, mod has the sign of the divisor,
# comparisons give 0 or 1. The condition is false where Python raises, and where a float is not finite.
OPERATORS: dict[str, Operator] = {
    "add": Operator("iii", operator.add),
    "sub": Operator("iii", operator.sub),
    "mul": Operator("iii", operator.mul),
    "floordiv": Operator("iii", operator.floordiv),
    "mod": Operator("iii", operator.mod),
    "max": Operator("iii", max),
    "min": Operator("iii", min),
    "eq": Operator("iii", operator.eq),
    "ne": Operator("iii", operator.ne),
    "lt": Operator("iii", operator.lt),
    "le": Operator("iii", operator.le),
    "and": Operator("iii", lambda a, b: bool(a) and bool(b)),
    "or": Operator("iii", lambda a, b: bool(a) or bool(b)),
    "not": Operator("ii", operator.not_),
    "neg": Operator("ii", operator.neg),
    "bit_and": Operator("iii", operator.and_),
    "bit_or": Operator("iii", operator.or_),
    "bit_xor": Operator("iii", operator.xor),
    "lshift": Operator("iii", _shifted),
    "rshift": Operator("iii", operator.rshift),
    "pow": Operator("iii", _whole_power),
    "bit_length": Operator("ii", int.bit_length),
    "isqrt": Operator("ii", _root),
    "float": Operator("if", _exact_float),
    "fadd": Operator("fff", operator.add),
    "fsub": Operator("fff", operator.sub),
    "fmul": Operator("fff", operator.mul),
    "fdiv": Operator("fff", operator.truediv),
    "fpow": Operator("fff", _power),
    "feq": Operator("ffi", operator.eq),
    "fne": Operator("ffi", operator.ne),
    "flt": Operator("ffi", operator.lt),
    "fle": Operator("ffi", operator.le),
    "fneg": Operator("ff", operator.neg),
    "fabs": Operator("ff", abs),
    "trunc": Operator("fi", math.trunc),
    "floor": Operator("fi", math.floor),
    "ceil": Operator("fi", math.ceil),
    "round": Operator("fi", round),
    "fmax": Operator("fff", max),
    "fmin": Operator("fff", min),
    "sqrt": Operator("ff", math.sqrt),
    "exp": Operator("ff", math.exp),
    "log": Operator("ff", math.log),
    "log2": Operator("ff", math.log2),
    "log10": Operator("ff", math.log10),
    "sin": Operator("ff", math.sin),
    "cos": Operator("ff", math.cos),
    "tanh": Operator("ff", math.tanh),
}
SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "and": "and", "or": "or",
    "bit_and": "&", "bit_or": "|", "bit_xor": "^", "lshift": "<<", "rshift": ">>", "pow": "**",
    "fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/", "fpow": "**",
    "feq": "==", "fne": "!=", "flt": "<", "fle": "<=",
}  # fmt: skip
FLOAT_FORMS = {
    name: f"f{name}" for name in ("add", "sub", "mul", "eq", "ne", "lt", "le", "neg", "max", "min")
}  # the form of an operator for floats


def float_bits(value: float) -> int:
    """The 64 bits of a float, as a guard program keeps it on its stack."""
    return int.from_bytes(struct.pack("<d", value), "little", signed=True)


MAX_DEPTH = 64  # of the evaluation stack, as SHAPE_DEPTH in native/guards/guard_instructions.h


@dataclass(frozen=True)
class ShapeExpression:
    """`code` is postfix: ("load", i) pushes the number at sources[i], ("const", n) pushes a number,
    (operator,) replaces its operands by the result.
    """

    sources: tuple[Source, ...]
    code: tuple[Token, ...]

    @property
    def is_float(self) -> bool:
        """Whether the result is a float."""
        last = self.code[-1]
        if last[0] in OPERATORS:
            return OPERATORS[last[0]].types[-1] == "f"
        if last[0] == "load":
            return isinstance(self.sources[last[1]], FloatSource)  # type: ignore[misc,index]
        return type(last[1]) is float  # type: ignore[misc]

    def evaluate(self, values: tuple[float, ...]) -> float:
        """The value for these numbers: a float where `is_float`, else an int. Raises ShapeOverflow."""
        stack: list[Any] = []
        for token in self.code:
            if token[0] == "load":
                stack.append(values[token[1]])  # type: ignore[misc,index]
            elif token[0] == "const":
                stack.append(token[1])  # type: ignore[misc]
            else:
                arity = OPERATORS[token[0]].arity
                operands, stack[-arity:] = stack[-arity:], []
                stack.append(_operate(OPERATORS[token[0]], operands))
        return stack[0]

    @property
    def text(self) -> str:
        """The expression as a user writes it."""
        stack: list[str] = []
        for token in self.code:
            if token[0] == "load":
                stack.append(self.sources[token[1]].text)  # type: ignore[misc,index]
                continue
            if token[0] == "const":
                stack.append(str(token[1]))  # type: ignore[misc]
                continue
            arity = OPERATORS[token[0]].arity
            operands, stack[-arity:] = stack[-arity:], []
            stack.append(_infix(token[0], operands))
        return stack[0][1:-1] if stack[0].startswith("(") else stack[0]

    def depth(self) -> int:
        """The number of stack items that the code needs."""
        deepest = now = 0
        for token in self.code:
            now += 1 if token[0] in ("load", "const") else 1 - OPERATORS[token[0]].arity
            deepest = max(deepest, now)
        return deepest


def _operate(operator_: Operator, operands: list[Any]) -> Any:
    try:
        result = operator_.function(*operands)
    except (ArithmeticError, ValueError) as error:
        raise ShapeOverflow(str(error)) from None
    return _checked(int(result) if operator_.types[-1] == "i" else result)


def _checked(value: float) -> float:
    if value not in INT64 if type(value) is int else not math.isfinite(value):
        raise ShapeOverflow(f"{value} is no int of 64 bits, or no finite float")
    return value


def _infix(name: str, operands: list[str]) -> str:
    if name in SYMBOLS:
        return f"({operands[0]} {SYMBOLS[name]} {operands[1]})"
    prefix = {"not": "not ", "neg": "-", "fneg": "-"}.get(name)
    return f"({prefix}{operands[0]})" if prefix else f"{name}({', '.join(operands)})"


@dataclass(frozen=True, eq=False)
class ComputedSource(Source):
    """The int that an expression gives. The place does not exist where the expression overflows."""

    sources: tuple[Source, ...]
    code: tuple[Token, ...]
    is_int: ClassVar[bool] = True

    @property
    def expression(self) -> ShapeExpression:
        return ShapeExpression(self.sources, self.code)

    @property
    def text(self) -> str:
        return self.expression.text

    @cached_property
    def references(self) -> tuple[ObjectRef, ...]:
        return tuple(reference for source in self.sources for reference in source.references)

    def resolve(self, frame: FrameNamespace) -> Any:
        values = tuple(source.resolve(frame) for source in self.sources)
        if not all(map(is_number_of, self.sources, values)):
            raise Unresolved(f"no ints of 64 bits: {safe_repr(values)}")
        try:
            return self.expression.evaluate(values)
        except ShapeOverflow as error:
            raise Unresolved(str(error)) from None


def is_number_of(source: Source, value: Any) -> bool:
    """Whether the value at this source can be in an expression."""
    return isinstance(source, FloatSource) or (type(value) is int and value in INT64)


# --- building ---------------------------------------------------------------------------------------------


def load(source: Source) -> ShapeExpression:
    """The number at a source: a ShapeSource, a FloatSource, or a place that holds an exact int."""
    return ShapeExpression((source,), (("load", 0),))


def size(tensor: Source, dim: int) -> ShapeExpression:
    return load(ShapeSource(tensor, "size", dim))


def stride(tensor: Source, dim: int) -> ShapeExpression:
    return load(ShapeSource(tensor, "stride", dim))


def constant(value: float) -> ShapeExpression:
    """Raises ValueError for an int of more than 64 bits."""
    if not isinstance(value, float) and value not in INT64:
        raise ValueError(f"{int(value):#x} has more than 64 bits")
    return ShapeExpression((), (("const", float(value) if isinstance(value, float) else int(value)),))


def apply(name: str, *operands: ShapeExpression) -> ShapeExpression:
    """One of `OPERATORS` on expressions. A source that occurs twice is loaded once. More than two operands
    are folded from the left.

    Where an operand is a float, the form for floats is applied, and ints become floats.
    """
    arity = OPERATORS[name].arity
    if len(operands) > arity >= 2:
        return apply(name, apply(name, *operands[:-1]), operands[-1])
    if len(operands) != arity:
        raise ValueError(f"{name} takes {arity} operands, got {len(operands)}")
    if name in FLOAT_FORMS and any(operand.is_float for operand in operands):
        name = FLOAT_FORMS[name]
    return _joined(name, [_of_type(o, kind) for o, kind in zip(operands, OPERATORS[name].types)])


def _of_type(operand: ShapeExpression, kind: str) -> ShapeExpression:
    if operand.is_float == (kind == "f"):
        return operand
    if operand.is_float:
        raise ValueError(f"{operand.text} is no int")
    return _joined("float", [operand])


def _joined(name: str, operands: list[ShapeExpression]) -> ShapeExpression:
    sources: dict[Source, int] = {}
    code: list[Token] = []
    for operand in operands:
        for token in operand.code:
            if token[0] == "load":
                source = operand.sources[token[1]]  # type: ignore[misc,index]
                token = ("load", sources.setdefault(source, len(sources)))
            code.append(token)
    result = ShapeExpression(tuple(sources), (*code, (name,)))
    if result.depth() > MAX_DEPTH:
        raise ValueError(f"a shape condition nests {result.depth()} deep: the limit is {MAX_DEPTH}")
    return result


_SYMPY_OPERATORS = {
    "Add": "add", "Mul": "mul", "FloorDiv": "floordiv", "CleanDiv": "floordiv",
    "Mod": "mod", "PythonMod": "mod",
    "Max": "max", "Min": "min", "And": "and", "Or": "or", "Not": "not",
    "Equality": "eq", "Unequality": "ne", "StrictLessThan": "lt", "LessThan": "le",
}  # fmt: skip
_SWAPPED = {"StrictGreaterThan": "lt", "GreaterThan": "le"}


def from_sympy(expression: sympy.Basic, symbols: Mapping[Any, ShapeExpression]) -> ShapeExpression:
    """A condition of a ShapeEnv. `symbols` tells what its free symbols stand for. Raises ValueError where
    guard programs have no such arithmetic.
    """
    import sympy  # lazy: imports sympy

    name = type(expression).__name__
    if expression in symbols:
        return symbols[expression]
    if expression is sympy.true or expression is sympy.false:
        return constant(int(bool(expression)))
    if expression.is_Integer:
        return constant(int(expression))
    if expression.is_Float:
        return constant(float(expression))
    if expression.is_Pow and expression.args[1].is_Integer and int(expression.args[1]) > 1:
        return apply("mul", *[from_sympy(expression.args[0], symbols)] * int(expression.args[1]))
    operands = [from_sympy(arg, symbols) for arg in expression.args]
    if name in _SWAPPED:
        return apply(_SWAPPED[name], *reversed(operands))
    known = _SYMPY_OPERATORS.get(name)
    if known is None:
        raise ValueError(f"no form for {expression} ({name}): specialise the sizes in it")
    return apply(known, *operands)
