"""A matrix product as one LLVM function that calls no library.

In:  `forms.MatmulForm`, a target.
Out: `emit_matmul`: declarations and definition for `codegen.llvm.function_text.module_of`; `workspace_bytes`.

    emit_matmul(MatmulForm("f32", 32, 64, 64), target, "product")
    ->  void product(void *output, const void *left, const void *right, const void *bias, void *workspace)
"""

from __future__ import annotations

from collections.abc import Callable

from codegen.llvm.dense.blocking import Plan, plans, workspace
from codegen.llvm.dense.dots import emit_dots
from codegen.llvm.dense.forms import MatmulForm
from codegen.llvm.dense.matrices import Matrices, Values
from codegen.llvm.dense.product import Product
from codegen.llvm.dense.writer import Number, Writer
from codegen.llvm.function_text import FunctionText
from codegen.llvm.target import Target
from codegen.llvm.types import SIZES


def emit_matmul(
    form: MatmulForm, target: Target, symbol: str, linkage: str = ""
) -> tuple[dict[str, str], str]:
    """(declarations by name, definition) of the function `form.signature(symbol)`.

    `linkage`: LLVM's word for it, such as "internal". The workspace has `workspace_bytes` bytes and lies on a
    boundary of 64; nothing else uses it during the call, and nothing in it outlives the call.
    """
    function = FunctionText()
    writer = Writer(function, target)
    values = form.values({name: f"%{name}" for name in form.arguments()})
    choices = plans(form, target)

    def emit(number: int = 0) -> None:
        """The first plan from `number` on that fits."""
        plan = choices[number]
        fits = number == len(choices) - 1 or _fits(writer, plan, values)
        writer.when(fits, lambda: by_plan(writer, form, plan, values), lambda: emit(number + 1))

    when_all(writer, [writer.holds("slt", 0, values[name]) for name in ("batch", "rows", "columns")], emit)
    return definition(function, target, symbol, linkage, form.pointers(), form.arguments())


def workspace_bytes(form: MatmulForm, target: Target, **sizes: int) -> int:
    """Bytes of workspace. `sizes`: the open ones of rows, columns, inner, batch; KeyError: one is missing."""
    values = {name: sizes[name] if number is None else number for name, number in form.sizes().items()}
    if 0 in (values["batch"], values["rows"], values["columns"]):
        return 0
    writer = Writer(FunctionText(), target)
    plan = next(plan for plan in plans(form, target) if _fits(writer, plan, values))
    elements = workspace(writer, form, plan, values).elements
    return int(elements) * SIZES[form.summed_in]


def definition(
    function: FunctionText,
    target: Target,
    symbol: str,
    linkage: str,
    pointers: list[str],
    numbers: list[str],
) -> tuple[dict[str, str], str]:
    """(declarations by name, definition) of a function without a result, from the lines of its body."""
    arguments = [f"ptr %{name}" for name in pointers] + [f"i64 %{name}" for name in numbers]
    kind = f"{linkage} void" if linkage else "void"
    head = f"define {kind} @{symbol}({', '.join(arguments)}) {target.attributes()} {{"
    lines = [head, "entry:", *function.entry, *function.frames[0].lines, "  ret void", "}"]
    return function.declarations, "\n".join(lines)


def when_all(writer: Writer, conditions: list[bool | str], body: Callable[[], None]) -> None:
    if not conditions:
        body()
        return
    writer.when(conditions[0], lambda: when_all(writer, conditions[1:], body))


def _fits(writer: Writer, plan: Plan, values: Values) -> bool | str:
    """Whether the output is as large as the plan's tile."""
    high = writer.holds("sge", values["rows"], plan.tile.rows)
    wide = writer.holds("sge", values["columns"], plan.tile.columns)
    return writer.both(high, wide)


def by_plan(writer: Writer, form: MatmulForm, plan: Plan, values: Values) -> None:
    """Writes the products of the batch by that plan, whose tile is no larger than the output."""
    space = workspace(writer, form, plan, values)

    def one(number: Number) -> None:
        pointers = {
            name: writer.at(f"%{name}", form.dtype, writer.multiply(number, values[f"{name}_batch"]))
            for name in ("output", "left", "right", "bias")
        }
        factors = Matrices(writer, form, values, pointers, (number, 0))
        if plan.dots:
            emit_dots(writer, plan.tile, factors, values)
        else:
            Product(writer, plan, factors, values, form.summed_in, space).emit()

    writer.loop(0, values["batch"], 1, one)
