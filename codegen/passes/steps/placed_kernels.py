"""Which steps must run before each kernel, and which kernels may fail.

In:  groups and their kernels, and the calls of a lowering.
Out: the steps of the Program, in order (`order.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codegen.kernel.program import KernelStep, Step
from codegen.lower.graph import Lowering
from codegen.lower.tensor_expr import TensorExpr
from codegen.passes.graph.failures import call_may_fail
from codegen.passes.group.fuse import Dependencies
from codegen.passes.group.group import Group, group_may_fail
from codegen.passes.group.roots import Root
from codegen.passes.steps.order import FailingSteps, PlacedKernel, order_steps
from codegen.passes.steps.twins import OriginOf, repeat_parts


def ordered_steps(
    lowering: Lowering,
    roots: Mapping[TensorExpr, Root],
    dependencies: Dependencies,
    groups: Sequence[Group],
    kernels: Sequence[KernelStep],
    origin_of: OriginOf,
) -> list[Step]:
    """The steps in order. `kernels` are those of the groups, in the same order."""
    order = dependencies.order
    made = {root: number for number, group in enumerate(groups) for root in group.members}
    placed = [
        PlacedKernel(
            kernel,
            order.needed_buffers(group),
            _needed_kernels(group, made, kernels),
            frozenset(order.written_by(group)),
        )
        for kernel, group in zip(kernels, groups, strict=True)
    ]
    failing = FailingSteps(
        [number for number, call in enumerate(lowering.steps) if call_may_fail(call)],
        [number for number, group in enumerate(groups) if group_may_fail(group, roots)],
    )
    twins = repeat_parts(lowering, groups, placed, origin_of)
    failing.kernels.extend(twin for number in list(failing.kernels) for twin in twins.get(number, ()))
    inputs = set(lowering.program.inputs)
    return order_steps(lowering.steps, placed, inputs, failing, lowering.versions)


def _needed_kernels(group: Group, made: Mapping[Root, int], steps: Sequence[KernelStep]) -> set[int]:
    """The positions of the kernels that store a value which this kernel reads. `made`: by root, its kernel.

    If several kernels fill a buffer (a joined tensor), only the kernels of the read values count.
    """
    values = {dep for root in group.members for dep, _ in root.reads if dep not in group.members}
    return {
        made[dep] for dep in values if dep in made and dep.targets[0].buffer in steps[made[dep]].written()
    }
