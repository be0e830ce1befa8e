"""What a matrix product is, for the code that writes it.

In:  element type, sizes, strides; each number known (an int) or open (None: an argument of the function).
Out: `MatmulForm`, and the signature of its function.

    MatmulForm("f32", rows=32, columns=64, inner=64)     the product of two row-major matrices
    MatmulForm("f32", 32, 64, 64, right=Strides(0, 1, 64))   the right one is transposed: x @ w.t()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from capture_records import dataclass
from codegen.llvm.dense.writer import Number
from codegen.llvm.values import Code

#: the element type in which the products of each element type are summed
SUMMED_IN = {
    "f32": "f32",
    "f64": "f64",
    "bf16": "f32",
    "f16": "f32",
    "i64": "i64",
    "i32": "i32",
    "i16": "i32",
    "i8": "i32",
    "u8": "i32",
}


@dataclass(frozen=True, slots=True)
class Strides:
    """Elements from one matrix of the batch, row, column to the next. None: known at run time only."""

    batch: int | None
    row: int | None
    column: int | None


#: What is done to a sum before it is stored: (code, sum, batch, row, column) -> the text of the new value.
#: The sum has `code.lanes` lanes in the type of the sums, and the bias is in it. The first lane has that row
#: and column, the others lie to the right of it. Pointers of `operands` are `%operand0` and so on.
Epilogue = Callable[[Code, str, Number, Number, Number], str]


@dataclass(frozen=True, slots=True)
class MatmulForm:
    """output[b] = epilogue(left[b] @ right[b] + bias[b]): (rows, inner) @ (inner, columns).

    `dtype`: element type of all of them, one of SUMMED_IN. Floats of 16 bits are summed in float32, integers
    modulo their width. Strides default to those of dense row-major matrices. A matrix with batch stride 0 is
    the same for the whole batch. `bias`: None if there is none; a stride 0 repeats it. `bias_is_optional`:
    its pointer may be 0 at run time. `operands`: pointers that the epilogue reads.

    The output overlaps nothing that is read, and no two of its elements share a place. Raises ValueError for
    a dtype or a size that does not exist.
    """

    dtype: str
    rows: int | None
    columns: int | None
    inner: int | None
    batch: int | None = 1
    output: Strides | None = None
    left: Strides | None = None
    right: Strides | None = None
    bias: Strides | None = None
    operands: int = 0
    epilogue: Epilogue | None = None
    bias_is_optional: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in SUMMED_IN:
            raise ValueError(f"no matrix product of {self.dtype}: expected one of {', '.join(SUMMED_IN)}")
        for name in ("rows", "columns", "inner", "batch"):
            if (size := getattr(self, name)) is not None and size < 0:
                raise ValueError(f"{name} is {size}, which is below 0")

    @property
    def summed_in(self) -> str:
        return SUMMED_IN[self.dtype]

    def sizes(self) -> dict[str, int | None]:
        return {"batch": self.batch, "rows": self.rows, "columns": self.columns, "inner": self.inner}

    def numbers(self) -> dict[str, int | None]:
        """Sizes and strides by name; None where the function takes an argument of that name."""
        rows, columns, inner = self.rows, self.columns, self.inner
        found = self.sizes()
        matrices = {
            "output": self.output or dense(rows, columns, self.batch),
            "left": self.left or dense(rows, inner, self.batch),
            "right": self.right or dense(inner, columns, self.batch),
            "bias": self.bias or Strides(0, 0, 0),
        }
        for matrix, strides in matrices.items():
            for name in ("batch", "row", "column"):
                found[f"{matrix}_{name}"] = getattr(strides, name)
        return found

    def pointers(self) -> list[str]:
        """The pointer arguments, in order. `bias` is there even if nothing reads it."""
        return [
            "output",
            "left",
            "right",
            "bias",
            "workspace",
            *(f"operand{number}" for number in range(self.operands)),
        ]

    def arguments(self) -> list[str]:
        """The i64 arguments behind the pointers, in order: the open numbers."""
        return [name for name, number in self.numbers().items() if number is None]

    def signature(self, name: str) -> str:
        """The function in C: `void NAME(void *output, const void *left, ..., int64_t rows)`."""
        pointers = [
            f"{'' if pointer in ('output', 'workspace') else 'const '}void *{pointer}"
            for pointer in self.pointers()
        ]
        return f"void {name}({', '.join(pointers + [f'int64_t {number}' for number in self.arguments()])})"

    def values(self, given: Mapping[str, Number]) -> dict[str, Number]:
        """All numbers, the open ones from `given`. Raises KeyError where one is missing."""
        return {name: given[name] if number is None else number for name, number in self.numbers().items()}


def dense(rows: int | None, columns: int | None, batch: int | None) -> Strides:
    """The strides of row-major matrices. Those that depend on an open size are open."""
    step = None if rows is None or columns is None else rows * columns
    return Strides(0 if batch == 1 else step, 0 if rows == 1 else columns, 1)
