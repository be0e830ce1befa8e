"""What depends on sizes alone becomes an argument of the kernel: it is computed once, before the launch.

In:  a step whose kernel takes sizes at run time.
Out: the same step. Its kernel has one size in place of each expression over sizes.

    k0(s0): for i in (s0 - 1) // 2 + 1: p[i * s0 + 4 * s0]   sizes: s0
    ->   k0(z0, s0, z1): for i in z0: p[i * s0 + z1]         sizes: (s0 - 1) // 2 + 1, s0, 4 * s0

The code of such a kernel is shorter, and kernels for layers of other sizes often are the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from codegen.kernel import ir
from codegen.kernel.program import KernelStep

BOUNDS = ("min", "max")  # the emitter looks for their numbers: they stay


def with_size_arguments(step: KernelStep) -> KernelStep:
    """The step, or one with another kernel."""
    kernel = step.kernel
    if not kernel.sizes:
        return step
    arguments = _Arguments()
    body = arguments.block(kernel.body)
    rows = [step.row(number)[1] for number in range(step.rows)]
    return replace(
        step,
        kernel=replace(kernel, body=body, sizes=tuple(size.name for size in arguments.found.values())),
        sizes=tuple(_of_row(expr, sizes) for sizes in rows for expr in arguments.found),
    )


class _Arguments:
    """`found`: an expression over the kernel's sizes -> the size in its place."""

    def __init__(self) -> None:
        self.found: dict[ir.Expr, ir.Sym] = {}
        self.count = 0  # of new names

    def block(self, body: list[ir.Stmt]) -> list[ir.Stmt]:
        return [self._statement(statement) for statement in body]

    def _statement(self, statement: ir.Stmt) -> ir.Stmt:
        if isinstance(statement, ir.Loop):
            extent, body = self._expr(statement.extent), self.block(statement.body)
            return replace(statement, extent=extent, body=body)
        if isinstance(statement, (ir.Load, ir.Store, ir.IndexOp)):
            return replace(statement, index=self._expr(statement.index))
        return statement

    def _expr(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Sym):
            return self._argument(expr)
        if not isinstance(expr, ir.Binary):
            return expr
        if expr.op not in BOUNDS and ir.is_invariant(expr):
            return self._argument(expr)
        return ir.Binary(expr.op, self._expr(expr.left), self._expr(expr.right))

    def _argument(self, expr: ir.Expr) -> ir.Sym:
        size = self.found.get(expr)
        if size is None:
            size = expr if isinstance(expr, ir.Sym) else self._new(expr)
            self.found[expr] = size
        return size

    def _new(self, expr: ir.Expr) -> ir.Sym:
        self.count += 1
        return ir.Sym(f"z{self.count - 1}", signed=not is_nonnegative(expr))


def is_nonnegative(expr: ir.Expr) -> bool:
    """Whether an expression over sizes can't be negative. Sizes count from 0, and the conditions of a
    compiled graph say that no dividend is negative (`codegen.dynamic.symbolic_graph.assumptions`).
    """
    if not isinstance(expr, ir.Binary):
        return ir.is_nonnegative(expr)
    return expr.op in ("floordiv", "mod") or (is_nonnegative(expr.left) and is_nonnegative(expr.right))


def _of_row(expr: ir.Expr, sizes: Mapping[str, ir.Expr]) -> ir.Expr:
    """The value of an expression over the kernel's sizes."""
    if isinstance(expr, ir.Sym):
        return sizes[expr.name]
    if isinstance(expr, ir.Binary):
        return ir.Binary(expr.op, _of_row(expr.left, sizes), _of_row(expr.right, sizes))
    return expr
