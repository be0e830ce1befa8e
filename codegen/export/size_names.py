"""The names of open sizes in a Program become those of the C function.

In:  a Program whose sizes are expressions of symbols; the new name of each symbol.
Out: the same Program, with the names. Several symbols may get one name.

    t: f32[s0, 4 * s1]   ->   t: f32[batch, 4 * length]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from codegen.kernel.ir import Binary, Expr, Sym
from codegen.kernel.program import KernelStep, Program, Step, ViewStep


def rename_sizes(program: Program, names: Mapping[str, str]) -> None:
    for name, info in program.buffers.items():
        program.buffers[name] = replace(
            info,
            shape=_all(info.shape, names),
            strides=_all(info.strides, names),
            offset=_renamed(info.offset, names),
        )
    program.steps = [_renamed_step(step, names) for step in program.steps]


def _renamed_step(step: Step, names: Mapping[str, str]) -> Step:
    if isinstance(step, KernelStep):  # the kernel itself has its own names
        return replace(step, sizes=_all(step.sizes, names))
    if isinstance(step, ViewStep):
        return replace(
            step,
            shape=_all(step.shape, names),
            strides=_all(step.strides, names),
            offset=_renamed(step.offset, names),
        )
    return step


def _all(numbers: Iterable[Expr], names: Mapping[str, str]) -> tuple[Expr, ...]:
    return tuple(_renamed(number, names) for number in numbers)


def _renamed(expr: Expr, names: Mapping[str, str]) -> Expr:
    if isinstance(expr, Sym):
        return Sym(names[expr.name])
    if isinstance(expr, Binary):
        return Binary(expr.op, _renamed(expr.left, names), _renamed(expr.right, names))
    return expr
