"""The arithmetic of a kernel, counted from its loops.

In:  loop IR. A size that is known only at run time counts as `NOMINAL`.
Out: the cycles of all operations, each as often as its loops run.

    for i in 1000: load x[i]; mul; exp; store out[i]   ->   1000 * (1 + 12)
"""

from __future__ import annotations

from collections.abc import Callable

from codegen.kernel import ir
from codegen.kernel.ops import OPS

NOMINAL = 64


def cycles_of(kernel: ir.Kernel) -> int:
    return _cycles(kernel.body)


def _cycles(body: list[ir.Stmt]) -> int:
    total = 0
    for statement in body:
        if isinstance(statement, ir.Loop):
            total += _cycles(statement.body) * nominal(statement.extent)
        elif isinstance(statement, ir.Op):
            total += OPS[statement.name].cost
        elif isinstance(statement, (ir.Update, ir.ScanStep)):
            total += 1
    return total


def nominal(expr: ir.Expr) -> int:
    """The value of a size if each unknown size is `NOMINAL`.

    An index of a loop is 0: the first of several blocks is the longest, and the only one of a short axis.
    """
    if isinstance(expr, ir.Const):
        return expr.value
    if isinstance(expr, ir.AxisVar):
        return 0
    if isinstance(expr, ir.Binary):
        return _OPERATORS[expr.op](nominal(expr.left), nominal(expr.right))
    return NOMINAL


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "add": lambda left, right: left + right,
    "mul": lambda left, right: left * right,
    "floordiv": lambda left, right: left // max(right, 1),
    "mod": lambda left, right: left % max(right, 1),
    "min": min,
    "max": max,
}
