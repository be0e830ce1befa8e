"""Index expressions as instructions.

In:  an `Expr` of loop IR, and where each axis stands.
Out: i64 values, uniform or varying. An access gives a pointer, each part computed in the outermost loop in
     which it is known, and the step from lane to lane.

    x[r * 1024 + c] in lanes over c
    ->  before the inner loop: %row = gep x, r * 1024; inside: gep %row, c; lane step 1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from capture_records import dataclass
from codegen.kernel.ir import AxisVar, Binary, Const, Expr, Indirect, Sym, is_invariant, is_nonnegative
from codegen.llvm.casts import cast
from codegen.llvm.function_text import FunctionText
from codegen.llvm.types import vector
from codegen.llvm.values import Code, Value


@dataclass(frozen=True, slots=True)
class AxisPlace:
    """Where an open loop stands: the index of lane 0 is `text` plus `offset`, known from `level` on.

    lanes > 1: the index of lane k is k larger.
    """

    text: str
    level: int
    lanes: int = 1
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Term:
    """factor * atom. The factor contains no axis.

    The atom is an axis, an indirect value, or an expression that is not linear in them.
    """

    factor: Expr
    atom: Expr | None


@dataclass(frozen=True, slots=True)
class Address:
    """An access: the pointer of lane 0, and where lane k lies relative to it.

    Lane k is `step` elements further for each lane (0: all at one place, 1: contiguous), or at `lane_offsets`
    (an i64 vector; step is None). `stride`: the distance between neighbouring lanes if it is a number;
    `distance`: the same as a value, if it is equal for all lanes.
    """

    pointer: str
    level: int
    step: int | None
    lane_offsets: str | None = None
    stride: int | None = None
    distance: Value | None = None


class Surroundings(Protocol):
    """What index arithmetic needs from the emitter."""

    axes: dict[str, AxisPlace]
    sizes: dict[str, str]
    lanes: int

    def value(self, number: int) -> Value: ...


def terms_of(expr: Expr, factor: Expr = Const(1)) -> list[Term]:
    """`expr` as a sum; a term with atom None is its factor alone."""
    if is_invariant(expr):
        return [Term(_product(factor, expr), None)]
    if isinstance(expr, Binary) and expr.op == "add":
        return terms_of(expr.left, factor) + terms_of(expr.right, factor)
    if isinstance(expr, Binary) and expr.op == "mul":
        if is_invariant(expr.right):
            return terms_of(expr.left, _product(factor, expr.right))
        if is_invariant(expr.left):
            return terms_of(expr.right, _product(factor, expr.left))
    return [Term(factor, expr)]


def _product(left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value * right.value)
    if left == Const(1):
        return right
    return left if right == Const(1) else Binary("mul", left, right)


class IndexArithmetic:
    def __init__(self, function: FunctionText, code: CodeFactory, surroundings: Surroundings) -> None:
        self.function = function
        self.code = code
        self.around = surroundings

    # --- values of expressions -----------------------------------------------------------------------------

    def value(self, expr: Expr, dtype: str = "i64") -> Value:
        """The value of `expr`; it varies if the vector axis or a varying indirect value is in it.

        `dtype`: a signed integer type that holds each part of the expression.
        """
        if isinstance(expr, Const):
            return Value(str(expr.value), dtype, 1, 0, expr.value)
        if isinstance(expr, Sym):
            return self._as(dtype, Value(self.around.sizes[expr.name], "i64", 1, 0))
        if isinstance(expr, AxisVar):
            return self._axis(self.around.axes[expr.name], dtype)
        if isinstance(expr, Indirect):
            return self._as(dtype, self.around.value(expr.value))
        return self._binary(expr, dtype)

    def _as(self, dtype: str, value: Value) -> Value:
        if value.dtype == dtype:
            return value
        if value.number is not None:
            return Value(value.text, dtype, 1, 0, value.number)
        text = cast(self.code(value.level, value.lanes), value.dtype, dtype, value.text)
        return Value(text, dtype, value.lanes, value.level)

    def _axis(self, place: AxisPlace, dtype: str) -> Value:
        first = self._as(dtype, self._first(place))
        if place.lanes == 1:
            return first
        code = self.code(place.level, place.lanes)
        lanes = ", ".join(f"{dtype} {lane}" for lane in range(place.lanes))
        text = code.binary("add", dtype, code.operand(first), f"<{lanes}>")
        return Value(text, dtype, place.lanes, place.level)

    def _first(self, place: AxisPlace) -> Value:
        """The index of lane 0."""
        if place.text == "0":
            return Value(str(place.offset), "i64", 1, 0, place.offset)
        if place.offset == 0:
            return Value(place.text, "i64", 1, place.level)
        text = self.function.define(place.level, f"add nuw nsw i64 {place.text}, {place.offset}")
        return Value(text, "i64", 1, place.level)

    def _binary(self, expr: Binary, dtype: str) -> Value:
        left, right = self.value(expr.left, dtype), self.value(expr.right, dtype)
        if left.number is not None and right.number is not None:
            folded = _FOLD[expr.op](int(left.number), int(right.number))
            return Value(str(folded), dtype, 1, 0, folded)
        lanes, level = max(left.lanes, right.lanes), max(left.level, right.level)
        code = self.code(level, lanes)
        operation = _EXPRESSIONS[expr.op]
        if expr.op in _UNSIGNED_DIVISION:
            if right.number is None:
                right = self._at_least_one(right)
            if is_nonnegative(expr):
                operation = _UNSIGNED_DIVISION[expr.op]
        text = operation(code, dtype, code.operand(left), code.operand(right))
        return Value(text, dtype, lanes, level)

    def _at_least_one(self, divisor: Value) -> Value:
        """The divisor, but 1 instead of 0.

        A size of 0 divides only in loops that do not run, but the division may stand before the loop: it must
        not trap there.
        """
        code, dtype = self.code(divisor.level, divisor.lanes), divisor.dtype
        one = code.constant(dtype, 1)
        return Value(code.intrinsic("umax", dtype, divisor.text, one), dtype, divisor.lanes, divisor.level)

    # --- addresses -----------------------------------------------------------------------------------------

    def address(self, base: str, element: str, index: Expr) -> Address:
        """The address of `base[index]` for elements of LLVM type `element`."""
        uniform: list[Value] = []
        varying: list[Value] = []
        step: Expr = Const(0)
        for term in terms_of(index):
            place = self.around.axes[term.atom.name] if isinstance(term.atom, AxisVar) else None
            if place is not None and place.lanes > 1:
                uniform += self._lane_zero(term.factor, place)
                step = _sum(step, term.factor)
                continue
            value = self._scaled(
                term.factor, Value("1", "i64", 1, 0, 1) if term.atom is None else self.value(term.atom)
            )
            (uniform if value.lanes == 1 else varying).append(value)
        pointer, level = self._pointer(base, element, uniform)
        if not varying and isinstance(step, Const) and step.value in (0, 1):
            return Address(pointer, level, step.value)
        return self._scattered(pointer, level, step, varying)

    def _lane_zero(self, factor: Expr, place: AxisPlace) -> list[Value]:
        """factor * (index of lane 0) as parts of a pointer.

        The constant offset is a separate part, because it becomes a displacement.
        """
        start = Value(place.text, "i64", 1, place.level, 0 if place.text == "0" else None)
        offset = Value(str(place.offset), "i64", 1, 0, place.offset)
        return [self._scaled(factor, start), self._scaled(factor, offset)]

    def _scattered(self, pointer: str, level: int, step: Expr, varying: list[Value]) -> Address:
        lanes = self.around.lanes
        total: Value | None = None
        if step != Const(0):
            stride = self.value(step)
            code = self.code(stride.level, lanes)
            lane_numbers = "<" + ", ".join(f"i64 {lane}" for lane in range(lanes)) + ">"
            total = Value(
                code.binary("mul", "i64", code.operand(stride), lane_numbers), "i64", lanes, stride.level
            )
        for value in varying:
            total = value if total is None else self._added(total, value)
        assert total is not None
        apart = step.value if isinstance(step, Const) and not varying else None
        distance = None if varying else self.value(step)
        return Address(pointer, max(level, total.level), None, total.text, apart, distance)

    def _added(self, left: Value, right: Value) -> Value:
        level = max(left.level, right.level)
        lanes = max(left.lanes, right.lanes)
        code = self.code(level, lanes)
        return Value(code.binary("add", "i64", code.operand(left), code.operand(right)), "i64", lanes, level)

    def _scaled(self, factor: Expr, value: Value) -> Value:
        if factor == Const(1):
            return value
        scale = self.value(factor)
        if scale.number is not None and value.number is not None:
            product = int(scale.number) * int(value.number)
            return Value(str(product), "i64", 1, 0, product)
        if scale.number == 0:
            return Value("0", "i64", 1, 0, 0)
        level = max(scale.level, value.level)
        code = self.code(level, value.lanes)
        return Value(
            code.binary("mul nsw", "i64", code.operand(value), code.operand(scale)), "i64", value.lanes, level
        )

    def _pointer(self, base: str, element: str, parts: list[Value]) -> tuple[str, int]:
        """base + parts. The part that is known in the outermost loop comes first.

        The constant comes last, because it becomes the displacement of the instruction.
        """
        pointer, level = base, 0
        constant = sum(int(part.number) for part in parts if part.number is not None)
        for part in sorted((part for part in parts if part.number is None), key=lambda part: part.level):
            level = max(level, part.level)
            pointer = self.function.define(level, f"getelementptr {element}, ptr {pointer}, i64 {part.text}")
        if constant:
            pointer = self.function.define(level, f"getelementptr {element}, ptr {pointer}, i64 {constant}")
        return pointer, level

    def lane_pointers(self, address: Address, element: str, lanes: int) -> str:
        """A vector of pointers, one for each lane of a scattered access."""
        kind = vector("i64", lanes)
        return self.function.define(
            address.level, f"getelementptr {element}, ptr {address.pointer}, {kind} {address.lane_offsets}"
        )


IndexEmitter = Callable[[Code, str, str, str], str]


class CodeFactory(Protocol):
    def __call__(self, level: int, lanes: int) -> Code: ...


def _sum(left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value + right.value)
    return right if left == Const(0) else Binary("add", left, right)


_FOLD: dict[str, Callable[[int, int], int]] = {
    "add": lambda left, right: left + right,
    "mul": lambda left, right: left * right,
    "floordiv": lambda left, right: left // right,
    "mod": lambda left, right: left % right,
    "min": min,
    "max": max,
}


def _floordiv(code: Code, dtype: str, left: str, right: str) -> str:
    """Rounds down, also for negative numbers; a size is never zero where it divides."""
    quotient = code.binary("sdiv", dtype, left, right)
    remainder = _remainder(code, dtype, left, right, quotient)
    down = code.convert("zext", "b8", dtype, _has_other_sign(code, dtype, remainder, right))
    return code.binary("sub", dtype, quotient, down)


def _mod(code: Code, dtype: str, left: str, right: str) -> str:
    remainder = _remainder(code, dtype, left, right, code.binary("sdiv", dtype, left, right))
    wrapped = code.binary("add", dtype, remainder, right)
    return code.select(_has_other_sign(code, dtype, remainder, right), dtype, wrapped, remainder)


def _remainder(code: Code, dtype: str, left: str, right: str, quotient: str) -> str:
    return code.binary("sub", dtype, left, code.binary("mul", dtype, quotient, right))


def _has_other_sign(code: Code, dtype: str, remainder: str, divisor: str) -> str:
    zero = code.constant(dtype, 0)
    differs = code.compare("icmp slt", dtype, code.binary("xor", dtype, remainder, divisor), zero)
    return code.binary("and", "b8", differs, code.compare("icmp ne", dtype, remainder, zero))


_UNSIGNED_DIVISION: dict[str, IndexEmitter] = {
    "floordiv": lambda code, dtype, left, right: code.binary("udiv", dtype, left, right),
    "mod": lambda code, dtype, left, right: code.binary("urem", dtype, left, right),
}
_EXPRESSIONS: dict[str, IndexEmitter] = {
    "add": lambda code, dtype, left, right: code.binary("add", dtype, left, right),
    "mul": lambda code, dtype, left, right: code.binary("mul", dtype, left, right),
    "floordiv": _floordiv,
    "mod": _mod,
    "min": lambda code, dtype, left, right: code.intrinsic("smin", dtype, left, right),
    "max": lambda code, dtype, left, right: code.intrinsic("smax", dtype, left, right),
}
