"""One function for the matrix products of all programs: nothing of a product is known when it is written.

In:  a target.
Out: `emit_open_product`: two functions, the product and the bytes of workspace that it needs.

    void product(output, left, right, bias, workspace,
                 rows, columns, inner, output_row, left_row, left_column, right_row, right_column, bias_row)
    int64_t product_workspace(the same numbers)

The build of the extension compiles it (`object_files`), for each level of processors with wide vectors. There
is one tile, so an output has at least `LEAST` rows and columns; whether a factor is packed is decided at run
time. A bias pointer of 0 is no bias.
"""

from __future__ import annotations

import dataclasses

from codegen.llvm.dense.blocking import Plan, plans, workspace
from codegen.llvm.dense.forms import MatmulForm, Strides
from codegen.llvm.dense.matmul import by_plan, definition
from codegen.llvm.dense.writer import Writer
from codegen.llvm.function_text import FunctionText, module_of
from codegen.llvm.target import Target
from codegen.llvm.types import SIZES

#: the levels with vectors that are wide enough to be faster than BLAS on some processors
LEVELS = ("x86-64-v3", "x86-64-v4")
LEAST = (8, 32)
FORM = MatmulForm(
    "f32",
    None,
    None,
    None,
    output=Strides(0, None, 1),
    left=Strides(0, None, None),
    right=Strides(0, None, None),
    bias=Strides(0, None, 1),
    bias_is_optional=True,
)


def plan_of(target: Target) -> Plan:
    """The plan whose tile is the best one for the least output; both factors may be packed."""
    least = dataclasses.replace(FORM, rows=LEAST[0], columns=LEAST[1])
    (plan,) = plans(least, target)
    return dataclasses.replace(plan, packs_left=None, packs_right=None)


def emit_open_product(target: Target, symbol: str) -> list[tuple[dict[str, str], str]]:
    """(declarations by name, definition) of `symbol` and of `symbol`_workspace."""
    return [_product(target, symbol), _workspace(target, f"{symbol}_workspace")]


def _product(target: Target, symbol: str) -> tuple[dict[str, str], str]:
    function = FunctionText()
    values = FORM.values({name: f"%{name}" for name in FORM.arguments()})
    by_plan(Writer(function, target), FORM, plan_of(target), values)
    return definition(function, target, symbol, "", FORM.pointers(), FORM.arguments())


def _workspace(target: Target, symbol: str) -> tuple[dict[str, str], str]:
    function = FunctionText()
    writer = Writer(function, target)
    values = FORM.values({name: f"%{name}" for name in FORM.arguments()})
    elements = workspace(writer, FORM, plan_of(target), values).elements
    size = writer.multiply(elements, SIZES[FORM.summed_in])
    arguments = ", ".join(f"i64 %{name}" for name in FORM.arguments())
    head = f"define i64 @{symbol}({arguments}) {target.attributes()} {{"
    lines = [head, "entry:", *function.entry, *function.frames[0].lines, f"  ret i64 {size}", "}"]
    return function.declarations, "\n".join(lines)


def symbol_of(level: str) -> str:
    """The name of the product in the extension: "x86-64-v3" -> "product_x86_64_v3"."""
    return f"product_{level.replace('-', '_')}"


def object_files() -> dict[str, bytes]:
    """The object files for the extension, by level."""
    from codegen.llvm.compiler import compiler_of  # lazy: it loads LLVM, and other emitters need none of it

    files = {}
    for level in LEVELS:
        target = Target.level(level)
        text = module_of(emit_open_product(target, symbol_of(level)))
        files[level] = compiler_of(target).object_file(text, is_scheduled=True)
    return files
