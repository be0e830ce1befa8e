"""Values and the instructions on them.

In:  a FunctionText, a loop level and a number of lanes.
Out: instructions of that width at that level; `Value` is the meaning of a number of loop IR.

    code.binary("fmul", "f32", a, b)     ->     %t3 = fmul <16 x float> %t1, %t2

A value is uniform (one lane: the same in every iteration of the vector loop) or varying (a lane for each
iteration). A uniform value becomes a vector only where it meets a varying one.
"""

from __future__ import annotations

from capture_records import dataclass
from codegen.llvm.function_text import FunctionText
from codegen.llvm.target import Target
from codegen.llvm.types import constant, register_type, vector


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the kernel as LLVM text.

    level:   the loop level from which it is known
    number:  the Python number if it is a constant; then `text` is its literal
    """

    text: str
    dtype: str
    lanes: int
    level: int
    number: float | int | bool | None = None


def constant_value(dtype: str, number: float | int | bool) -> Value:
    return Value(constant(dtype, number, 1), dtype, 1, 0, number)


class Code:
    """Writes instructions of `lanes` lanes at loop level `level`; operands and results are texts."""

    def __init__(self, function: FunctionText, target: Target, level: int, lanes: int) -> None:
        self.function = function
        self.target = target
        self.level = level
        self.lanes = lanes

    def with_lanes(self, lanes: int) -> Code:
        return Code(self.function, self.target, self.level, lanes)

    # --- operands ------------------------------------------------------------------------------------------

    def type(self, dtype: str) -> str:
        return register_type(dtype, self.lanes)

    def constant(self, dtype: str, number: float | int | bool) -> str:
        return constant(dtype, number, self.lanes)

    def operand(self, value: Value) -> str:
        """`value` in this many lanes."""
        if value.lanes == self.lanes:
            return value.text
        if value.lanes != 1:
            raise AssertionError(f"a value of {value.lanes} lanes where {self.lanes} are wanted")
        if value.number is not None:
            return constant(value.dtype, value.number, self.lanes)
        return splat(self.function, register_type(value.dtype, 1), value.text, value.level, self.lanes)

    # --- instructions --------------------------------------------------------------------------------------

    def define(self, instruction: str) -> str:
        return self.function.define(self.level, instruction)

    def binary(self, operation: str, dtype: str, left: str, right: str) -> str:
        return self.define(f"{operation} {self.type(dtype)} {left}, {right}")

    def unary(self, operation: str, dtype: str, operand: str) -> str:
        return self.define(f"{operation} {self.type(dtype)} {operand}")

    def compare(self, operation: str, dtype: str, left: str, right: str) -> str:
        """`operation` includes its kind: "fcmp olt", "icmp slt"."""
        return self.binary(operation, dtype, left, right)

    def select(self, condition: str, dtype: str, yes: str, no: str) -> str:
        kind = self.type(dtype)
        return self.define(f"select {self.type('b8')} {condition}, {kind} {yes}, {kind} {no}")

    def convert(self, operation: str, source: str, target: str, operand: str) -> str:
        """`operation` is an LLVM cast between the register types of the two dtypes."""
        return self.define(f"{operation} {self.type(source)} {operand} to {self.type(target)}")

    def bits(self, source: str, target: str, operand: str) -> str:
        return self.convert("bitcast", source, target, operand)

    def intrinsic(self, name: str, dtype: str, *operands: str, flags: str = "") -> str:
        """`llvm.<name>`, overloaded on one type: all operands and the result have that type.

        `flags`: fast-math flags, each with a space after it.
        """
        kind = self.type(dtype)
        full = f"@llvm.{name}.{mangled(kind)}"
        self.function.declare(full, f"{kind} {full}({', '.join([kind] * len(operands))})")
        given = ", ".join(f"{kind} {operand}" for operand in operands)
        return self.define(f"call {flags}{kind} {full}({given})")

    # --- floats --------------------------------------------------------------------------------------------

    def fma(self, dtype: str, left: str, right: str, addend: str) -> str:
        """Rounds always once (a library call if the processor has no such instruction)."""
        return self.intrinsic("fma", dtype, left, right, addend)

    def multiply_add(self, dtype: str, left: str, right: str, addend: str) -> str:
        """Rounds once if that is one instruction, else twice: for polynomials."""
        if self.target.fma:
            return self.fma(dtype, left, right, addend)
        return self.binary("fadd", dtype, self.binary("fmul", dtype, left, right), addend)

    def polynomial(self, dtype: str, coefficients: tuple[float, ...], x: str) -> str:
        """Horner's scheme; the coefficient of the highest power comes first."""
        result = self.constant(dtype, coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.multiply_add(dtype, result, x, self.constant(dtype, coefficient))
        return result

    def is_nan(self, dtype: str, operand: str) -> str:
        return self.compare("fcmp uno", dtype, operand, operand)


def mangled(kind: str) -> str:
    """How LLVM spells a type in the name of an intrinsic: <16 x float> is v16f32."""
    names = {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}
    if not kind.startswith("<"):
        return names.get(kind, kind)
    lanes, element = kind[1:-1].split(" x ")
    return f"v{lanes}{names.get(element, element)}"


def splat(function: FunctionText, element: str, text: str, level: int, lanes: int) -> str:
    """The scalar `text` in every lane."""
    if lanes == 1:
        return text
    kind = vector(element, lanes)
    first = function.define(level, f"insertelement {kind} poison, {element} {text}, i64 0")
    return function.define(
        level, f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer"
    )
