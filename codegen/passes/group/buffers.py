"""Buffers for the values that one kernel computes and another one reads.

In:  groups, and what their members read from each other.
Out: each root that another kernel reads has a target other than an input. It comes first, and kernels read
     it.

    {t = relu(x)}, mm, {y = t + 1}   ->   {t = relu(x) -> t0}, mm, {y = t0 + 1}
"""

from __future__ import annotations

from math import prod

from codegen.kernel.index_algebra import Index, row_major
from codegen.kernel.ops import TORCH_DTYPES
from codegen.kernel.program import is_input_memory
from codegen.lower.graph import Lowering
from codegen.lower.tensor_expr import Shape, Stored, TensorExpr
from codegen.passes.group.fuse import Dependencies
from codegen.passes.group.group import Group


def give_buffers(lowering: Lowering, groups: list[Group], dependencies: Dependencies) -> None:
    for group in groups:
        for root in group.members:
            root.targets.sort(key=lambda target: is_old_input(lowering, target))
            for dep, _ in root.reads:
                if dependencies.group_of[dep] is not group and all(
                    is_old_input(lowering, target) for target in dep.targets
                ):
                    dep.targets.insert(0, temporary(lowering, dep.value, f"t{dep.number}"))


def temporary(lowering: Lowering, value: TensorExpr, hint: str) -> Stored:
    """A buffer with eager's layout. It is row-major if eager's layout has the gaps of a larger tensor."""
    strides = lowering.layouts.get(value)
    if strides is None or not _is_dense(value.shape, strides):
        strides = row_major(value.shape)
    return lowering.new_buffer(hint, "temp", TORCH_DTYPES[value.dtype], value.shape, strides)


def _is_dense(shape: Shape, strides: tuple[Index, ...]) -> bool:
    """Whether the layout has no gaps. A layout with unknown sizes counts as dense."""
    last = 0
    for size, stride in zip(shape, strides, strict=True):
        if not isinstance(size, int) or not isinstance(stride, int):
            return True
        last += (size - 1) * stride
    return last < prod(size for size in shape if isinstance(size, int))


def is_input(lowering: Lowering, target: Stored) -> bool:
    return is_input_memory(lowering.program.buffers[target.buffer])


def is_old_input(lowering: Lowering, target: Stored) -> bool:
    """Whether the target is an input. It is written at the end, when nothing reads it any more."""
    return lowering.program.buffers[target.buffer].kind == "input"
