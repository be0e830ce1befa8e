"""Writes to computed places of an input, without a copy of the input.

In:  the stores of a lowering that ends with `copy_(x, index_put(x, [i], v))`. They copy x to a buffer,
     scatter v into the buffer, and copy the buffer to x.
Out: a store that scatters v into x.

    cache[:, pos] = k        ->        for p in pos: cache[:, p] = k[:, p]

The pass needs two conditions: nothing else uses the result, and the indices were checked before
(`codegen.passes.graph.failures`). If v reads inputs that the graph writes to, it is first computed into a
buffer of its own. The reason is that an index may occur twice, and `x[i] += 1` adds to the value at the
start.
"""

from __future__ import annotations

from collections.abc import Set

from codegen.kernel.program import is_input_memory
from codegen.lower.graph import Lowering
from codegen.lower.ordered_writes import memory_of
from codegen.lower.tensor_expr import Assignment, Scattered, Stored, TensorExpr, topological
from codegen.passes.steps.calls import step_reads, step_writes


def scatter_in_place(lowering: Lowering) -> None:
    """Changes `lowering.stores`."""
    written = [
        store.target.buffer
        for store in lowering.stores
        if is_input_memory(lowering.program.buffers[store.target.buffer])
    ]
    for last in list(lowering.stores):
        name = last.target.buffer
        if written.count(name) == 1:
            version = lowering.versions.get(name)
            changing = set(written) if version is None else memory_of(lowering.versions, version.input)
            _scatter_into_target(lowering, last, changing)


def _scatter_into_target(lowering: Lowering, last: Assignment, written: Set[str]) -> None:
    temporary, target = last.value, last.target
    if not isinstance(temporary, Stored) or not _same_place(temporary, target):
        return
    first, *scatters = [s for s in lowering.stores if s.target.buffer == temporary.buffer] or [last]
    from codegen.lower.part_writes import strided  # lazy: import time

    base = strided(lowering, first.value)
    version = lowering.versions.get(target.buffer)
    if (
        base is None
        or not _same_place(base, target)
        or base.buffer != (target.buffer if version is None else version.before)
        or not scatters
        or _is_wanted(lowering, temporary.buffer, last)
    ):
        return
    if not all(_may_move(store, temporary, written) for store in scatters):
        return
    for store in scatters:
        value = store.value
        assert isinstance(value, Scattered)
        if _read(value.source) & written:
            value.source = lowering.realize(value.source, "source")
        store.target = target
    lowering.stores = [store for store in lowering.stores if store is not first and store is not last]


def _may_move(store: Assignment, temporary: Stored, written: Set[str]) -> bool:
    value = store.value
    target = store.target
    if (
        not isinstance(value, Scattered)
        or target.buffer != temporary.buffer
        or not _same_place(target, temporary)
    ):
        return False
    coordinates = [item for item in value.coordinates if isinstance(item, TensorExpr)]
    return value.trusted and not any(_read(item) & written for item in coordinates)


def _same_place(left: Stored, right: Stored) -> bool:
    """Whether they have one position and layout, in any two buffers."""
    from codegen.lower.part_writes import position  # lazy: import time

    return left.shape == right.shape and left.dtype == right.dtype and position(left) == position(right)


def _read(value: TensorExpr) -> set[str]:
    return {item.buffer for item in topological([value]) if isinstance(item, Stored)}


def _is_wanted(lowering: Lowering, name: str, last: Assignment) -> bool:
    """Whether anything except the last store reads the buffer."""
    others = topological([store.value for store in lowering.stores if store is not last])
    return (
        any(isinstance(item, Stored) and item.buffer == name for item in others)
        or any(name in step_reads(step) or name in step_writes(step) for step in lowering.steps)
        or name in lowering.program.outputs
    )
