"""Scalar operations as LLVM instructions.

In:  names of `codegen.kernel.ops.OPS`, and scalars: SSA values of one element type.
Out: `ScalarFunction.text()`: one LLVM module with one function of plain numbers.

    function.op("mul", x, function.number(2.0))     ->   %t1 = fmul double %x, 2.0

The instructions are those of the kernels, in one lane. Functions of mathematics are calls of libm.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from capture_records import dataclass
from codegen.kernel.errors import EmitError
from codegen.kernel.ops import OPS, result_dtype
from codegen.llvm import math  # noqa: F401 (fills the table of emitters)
from codegen.llvm.arithmetic import EMITTERS
from codegen.llvm.casts import cast
from codegen.llvm.function_text import FunctionText
from codegen.llvm.target import Target
from codegen.llvm.types import register_type
from codegen.llvm.values import Code


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value of the function as LLVM text. `number` is its Python number if it is a constant."""

    text: str
    dtype: str
    number: float | int | bool | None = None


class ScalarFunction:
    """A function of `parameters`, all of element type `dtype`, with one result of it.

    Conditions are of type "b8". Arithmetic takes them as 0 and 1, as Python does.
    """

    def __init__(self, parameters: Sequence[str], dtype: str, target: Target) -> None:
        self.dtype = dtype
        self.target = dataclasses.replace(target, sleef=None)  # Sleef's functions take whole vectors
        self.parameters = {name: Scalar(f"%{name}", dtype) for name in parameters}
        self._function = FunctionText()
        self._code = Code(self._function, self.target, 0, 1)

    @property
    def is_float(self) -> bool:
        return self.dtype in ("f32", "f64")

    def number(self, value: float | int | bool) -> Scalar:
        """A constant. Raises EmitError where the element type can't hold it."""
        if type(value) is bool:
            return Scalar(self._code.constant("b8", value), "b8", value)
        converted = float(value) if self.is_float else int(value)
        if not self.is_float:
            bits = int(self.dtype[1:])
            if converted != value or not -(1 << (bits - 1)) <= converted < 1 << (bits - 1):
                raise EmitError(f"{value!r} is no number of {self.dtype}")
        return Scalar(self._code.constant(self.dtype, converted), self.dtype, converted)

    def op(self, name: str, *operands: Scalar) -> Scalar:
        """The operation `name`. Raises EmitError where the element type does not have it."""
        spec = OPS[name]
        if spec.result == "second":
            given = [self.condition(operands[0]), *map(self.as_number, operands[1:])]
        elif all(operand.dtype == "b8" for operand in operands) and "b8" in spec.domain:
            given = list(operands)
        else:
            given = list(map(self.as_number, operands))
        try:
            dtype = result_dtype(name, tuple(operand.dtype for operand in given), self.dtype)
        except ValueError as error:
            raise EmitError(str(error)) from None
        # the type that an emitter is told is that of the operands it computes with
        text = EMITTERS[name](self._code, given[-1].dtype, *(operand.text for operand in given))
        return Scalar(text, dtype)

    def as_number(self, value: Scalar) -> Scalar:
        """A condition as 0 or 1."""
        if value.dtype != "b8":
            return value
        if value.number is not None:
            return self.number(int(value.number))
        return Scalar(cast(self._code, "b8", self.dtype, value.text), self.dtype)

    def condition(self, value: Scalar) -> Scalar:
        """Whether a number is not 0."""
        return value if value.dtype == "b8" else self.op("ne", value, self.number(0))

    def text(self, name: str, result: Scalar) -> str:
        """The module: its function returns `result`."""
        kind = register_type(self.dtype, 1)
        taken = ", ".join(f"{kind} {value.text}" for value in self.parameters.values())
        declarations = self._function.declarations
        lines = [
            *(declarations[declared] for declared in sorted(declarations)),
            f"define {kind} @{name}({taken}) {self.target.attributes(only_reads=True)} {{",
            "entry:",
            *self._function.entry,
        ]
        returned = self.as_number(result)  # may add an instruction
        lines += [*self._function.frames[0].lines, f"  ret {kind} {returned.text}", "}"]
        return "\n".join(lines) + "\n"
