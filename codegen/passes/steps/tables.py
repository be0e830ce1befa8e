"""Tables: several kernels of one form become one kernel that runs over rows of buffers and sizes.

In:  steps, and the steps that each of them needs.
Out: fewer steps. `buffers` and `sizes` of the step have the values of all rows, one row after the other.

    k0: p0 -= 0.1 * g0 (4096)   k1: p1 -= 0.1 * g1 (4096)   k2: p2 -= 0.1 * g2 (64)
    ->   k0 over 3 rows, with a loop of `n_0` iterations

The kernels may differ in their memory, in the lengths of their loops, and in where they begin. Rows run in
any order, also at the same time. So only steps of equal depth in the graph of needs are joined: none of them
needs another, and no circle can arise. A kernel with enough work for several threads stays alone. The compile
time does not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from codegen.kernel import ir
from codegen.kernel.form import KernelForm, constant_end
from codegen.kernel.program import KernelStep, Origin, Step

Needs = list[set[int]]


def join_tables(
    steps: list[Step], needs: Needs, order: Sequence[int]
) -> tuple[list[Step], Needs, list[list[int]]]:
    """The joined steps, the needs of each, and the positions of the old steps in each.

    `order`: the positions of the old steps, each after those that it needs.
    """
    depth = [0] * len(steps)
    alike: dict[Any, list[int]] = {}
    found: dict[int, tuple[KernelStep, KernelForm]] = {}
    for number in order:
        depth[number] = max((depth[need] + 1 for need in needs[number]), default=0)
        step = steps[number]
        if isinstance(step, KernelStep) and step.kernel.split is None:
            found[number] = step, KernelForm(step.kernel)
            alike.setdefault((depth[number], found[number][1].key), []).append(number)
    tables = {numbers[0]: numbers for numbers in alike.values() if len(numbers) > 1}
    first = {number: head for head, numbers in tables.items() for number in numbers}
    kept = [number for number in range(len(steps)) if first.get(number, number) == number]
    places = {number: place for place, number in enumerate(kept)}
    joined: list[Step] = []
    needed: Needs = []
    made_of: list[list[int]] = []
    for number in kept:
        members = tables.get(number, [number])
        made_of.append(members)
        joined.append(_table([found[member] for member in members]) if number in tables else steps[number])
        needed.append({places[first.get(need, need)] for member in members for need in needs[member]})
    return joined, needed, made_of


def _table(steps: list[tuple[KernelStep, KernelForm]]) -> KernelStep:
    """One step for all kernels. Numbers that differ become sizes."""
    columns = list(zip(*(shape.numbers for _, shape in steps), strict=True))
    names = {place: f"n_{place}" for place, column in enumerate(columns) if len(set(column)) > 1}
    kernel = steps[0][0].kernel
    if names:
        body = _with_sizes(kernel.body, names, count())
        kernel = replace(kernel, body=body, sizes=(*kernel.sizes, *names.values()))
    sizes: list[ir.Expr] = []
    for step, shape in steps:
        sizes += [*step.sizes, *(ir.Const(shape.numbers[place]) for place in names)]
    first, nodes = steps[0][0].origin, (node for step, _ in steps for node in step.origin.nodes)
    return KernelStep(
        kernel,
        tuple(name for step, _ in steps for name in step.buffers),
        tuple(sizes),
        origin=Origin(first.operators, tuple(dict.fromkeys(nodes))),
    )


def _with_sizes(body: list[ir.Stmt], names: dict[int, str], places: Iterator[int]) -> list[ir.Stmt]:
    """A copy with sizes in place of the numbers at these places (in the order of the text)."""
    result: list[ir.Stmt] = []
    for statement in body:
        if isinstance(statement, ir.Loop):
            extent = statement.extent
            if isinstance(extent, ir.Const):
                place = next(places)
                extent = ir.Sym(names[place]) if place in names else extent
            statement = replace(statement, extent=extent, body=_with_sizes(statement.body, names, places))
        elif isinstance(statement, (ir.Load, ir.Store)):
            place = next(places)
            if place in names:
                statement = replace(
                    statement, index=ir.add(constant_end(statement.index)[0], ir.Sym(names[place]))
                )
        result.append(statement)
    return result
