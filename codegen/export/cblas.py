"""Matrix products by the functions of cblas.

In:  a form with known numbers.
Out: `emit_cblas`: a function with the arguments of `codegen.llvm.dense.matmul.emit_matmul`, which calls
     cblas_sgemm or cblas_dgemm for each matrix of the batch. `calls_cblas`: whether they take the form.

    [32, 64] @ [64, 10] + bias   ->   output = bias;  cblas_sgemm(..., left, 64, right, 10, 1.0, output, 10)
"""

from __future__ import annotations

from codegen.llvm.dense.forms import MatmulForm
from codegen.llvm.dense.matmul import definition
from codegen.llvm.dense.writer import Number, Writer
from codegen.llvm.function_text import FunctionText
from codegen.llvm.target import Target

#: by element type: the function, and the type of its factors
FUNCTIONS = {"f32": ("cblas_sgemm", "float"), "f64": ("cblas_dgemm", "double")}
ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112
MOST = 2**31 - 1
#: by matrix: the names of its sizes
MATRICES = {"output": ("rows", "columns"), "left": ("rows", "inner"), "right": ("inner", "columns")}
Order = tuple[int, int]  # PLAIN or TRANSPOSED, elements to the next row or column


def calls_cblas(form: MatmulForm) -> bool:
    return _orders(form) is not None


def _orders(form: MatmulForm) -> dict[str, Order] | None:
    """How output, left and right lie. None where cblas does not take them."""
    numbers = {name: number for name, number in form.numbers().items() if number is not None}
    if form.dtype not in FUNCTIONS or len(numbers) < len(form.numbers()):
        return None
    if not all(0 < numbers[name] <= MOST for name in form.sizes()):
        return None
    found: dict[str, Order] = {}
    for matrix, (rows, columns) in MATRICES.items():
        steps = numbers[f"{matrix}_row"], numbers[f"{matrix}_column"]
        order = _order((numbers[rows], numbers[columns]), steps)
        if order is None or (matrix == "output" and order[0] == TRANSPOSED):
            return None
        found[matrix] = order
    return found


def _order(sizes: tuple[int, int], steps: tuple[int, int]) -> Order | None:
    """A dim of one element may have any stride."""
    (height, width), (down, right) = sizes, steps
    if (right == 1 or width == 1) and (down >= width or height == 1) and down <= MOST:
        return PLAIN, max(down, width)
    if (down == 1 or height == 1) and (right >= height or width == 1) and right <= MOST:
        return TRANSPOSED, max(right, height)
    return None


def emit_cblas(form: MatmulForm, target: Target, symbol: str) -> tuple[dict[str, str], str]:
    """(declarations by name, definition) of the function. `calls_cblas` holds for the form."""
    orders, function = _orders(form), FunctionText()
    assert orders is not None and form.batch is not None, "the form is one for cblas"
    writer = Writer(function, target)
    writer.loop(0, form.batch, 1, lambda number: _product(writer, form, orders, number))
    return definition(function, target, symbol, "internal", form.pointers(), [])


def _product(writer: Writer, form: MatmulForm, orders: dict[str, Order], number: Number) -> None:
    """One product of the batch."""
    numbers = form.numbers()
    at = {
        matrix: writer.at(f"%{matrix}", form.dtype, writer.multiply(number, numbers[f"{matrix}_batch"] or 0))
        for matrix in (*MATRICES, "bias")
    }
    if form.bias is not None:
        _copy_bias(writer, form, at["bias"], at["output"])
    name, kind = FUNCTIONS[form.dtype]
    (left, left_step), (right, right_step) = orders["left"], orders["right"]
    integers = (ROW_MAJOR, left, right, form.rows, form.columns, form.inner)
    kept = "0.0" if form.bias is None else "1.0"
    arguments = [
        *(f"i32 {one}" for one in integers),
        *(f"{kind} 1.0", f"ptr {at['left']}", f"i32 {left_step}", f"ptr {at['right']}", f"i32 {right_step}"),
        *(f"{kind} {kept}", f"ptr {at['output']}", f"i32 {orders['output'][1]}"),
    ]
    kinds = ", ".join(argument.split()[0] for argument in arguments)
    writer.function.declare(name, f"void @{name}({kinds})")
    writer.function.line(f"call void @{name}({', '.join(arguments)})")


def _copy_bias(writer: Writer, form: MatmulForm, bias: str, output: str) -> None:
    numbers = form.numbers()

    def element(row: Number, column: Number) -> None:
        source, target = (
            writer.add(
                writer.multiply(row, numbers[f"{matrix}_row"] or 0),
                writer.multiply(column, numbers[f"{matrix}_column"] or 0),
            )
            for matrix in ("bias", "output")
        )
        value = writer.load(writer.at(bias, form.dtype, source), form.dtype, 1)
        writer.store(writer.at(output, form.dtype, target), form.dtype, 1, value)

    writer.loop(
        0,
        form.rows or 0,
        1,
        lambda row: writer.loop(0, form.columns or 0, 1, lambda column: element(row, column)),
    )
