"""The passes in order: from the stores of a lowering to the steps of a Program.

    scatter in place -> split joins -> split pads -> find roots -> fuse -> sum columns beside rows -> join
    rows -> give buffers to what crosses kernels
    -> borrow outputs -> emit -> (in-place writes made safe) -> schedule -> order steps

In:  `Lowering` after the walk over the graph.
Out: its Program with KernelSteps, in an order in which every step finds what it reads.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import starmap
from math import prod

from torch import fx

from codegen.kernel import index_algebra as ix
from codegen.kernel import ir
from codegen.kernel.index_algebra import Index
from codegen.kernel.ops import TORCH_DTYPES
from codegen.kernel.program import (
    ExternStep,
    KernelStep,
    Program,
    ViewStep,
    is_input_memory,
)
from codegen.kernel.verifier import verify
from codegen.lower import families  # noqa: F401 (fills the table of lowerings)
from codegen.lower.graph import Lowering
from codegen.lower.ordered_writes import OrderWanted, Unordered, Wishes, writes_to_order
from codegen.lower.tensor_expr import Scattered, Shape, Stored, TensorExpr, copy_of
from codegen.passes.draft.borrow import borrow_outputs
from codegen.passes.draft.column_sums import sum_columns_beside_rows
from codegen.passes.draft.draft import Draft, DraftLoad, DraftStore, Phase, Statement
from codegen.passes.draft.emit import emit_group
from codegen.passes.draft.joined_rows import join_rows
from codegen.passes.graph.failures import call_may_fail, hoist_checks, may_fail
from codegen.passes.graph.scatter_in_place import scatter_in_place
from codegen.passes.graph.split_joins import split_joins
from codegen.passes.graph.split_pads import split_pads
from codegen.passes.group.align import open_group
from codegen.passes.group.fuse import Dependencies, fuse
from codegen.passes.group.group import Group
from codegen.passes.group.roots import Root, find_roots, own_definitions
from codegen.passes.loops.schedule import schedule
from codegen.passes.loops.short_sizes import open_draft
from codegen.passes.steps.order import FailingSteps, PlacedKernel, order_steps
from codegen.passes.steps.versions import name_inputs

VERIFY = False  # tests turn it on: check every kernel


log = logging.getLogger("capture.codegen")


def lower_graph(graph: fx.Graph) -> Program:
    """The program of a functional ATen graph whose nodes carry `meta["val"]`. Never fails for an operator
    without lowering.
    """
    wishes = Wishes()
    while True:
        lowering = Lowering(writes_to_order(graph, wishes))
        try:
            lowering.run(graph)
            return build_kernels(lowering)
        except Unordered as found:
            log.debug("no writes in order to %s: %s", ", ".join(sorted(found.inputs)), found)
            wishes.refused |= found.inputs
        except OrderWanted as found:
            wishes.wanted.add(found.name)


def build_kernels(lowering: Lowering) -> Program:
    """Fused and scheduled kernels for all stores of `lowering`, among its other steps."""
    hoist_checks(lowering)
    scatter_in_place(lowering)
    split_joins(lowering)
    split_pads(lowering)
    roots = find_roots(lowering.stores)
    by_value = {root.value: root for root in roots}
    groups, dependencies = fuse(lowering, roots)
    sum_columns_beside_rows(lowering, groups, dependencies)
    join_rows(lowering, groups, dependencies)
    _give_buffers(lowering, groups, dependencies)
    inputs = set(lowering.program.inputs)
    for group in groups:
        borrow_outputs(group, inputs | lowering.versions.keys())
    steps: list[KernelStep] = []
    emitted: list[Group] = []
    copies, drafts = _make_writes_safe(lowering, groups, by_value, dependencies)
    for group in [*groups, *copies]:
        if group.rows != 0:
            draft = drafts.get(group.number) or _draft(lowering, group, by_value)
            draft.name = f"k{len(steps)}"
            opened = open_draft(draft)
            kernel = schedule(draft)
            lowering.program.buffers |= draft.scratch_buffers()
            steps.append(replace(_kernel_step(kernel), open=opened))
            emitted.append(group)
    needed = [dependencies.order.needed_buffers(group) for group in emitted]
    made = {root: number for number, group in enumerate(emitted) for root in group.members}
    makers = [_needed_kernels(group, made, steps) for group in emitted]
    failing = [n for n, group in enumerate(emitted) if _fails(group, by_value)]
    failing_calls = [n for n, call in enumerate(lowering.steps) if call_may_fail(call)]
    order = FailingSteps(failing_calls, failing)
    versions = [frozenset(dependencies.order.written_by(group)) for group in emitted]
    placed = list(starmap(PlacedKernel, zip(steps, needed, makers, versions, strict=True)))
    lowering.program.steps = order_steps(lowering.steps, placed, inputs, order, lowering.versions)
    name_inputs(lowering)
    if VERIFY:
        for step in lowering.program.steps:
            if isinstance(step, KernelStep):
                verify(step.kernel)
    return lowering.program


def _fails(group: Group, by_value: dict[TensorExpr, Root]) -> bool:
    """Whether its kernel has checks."""
    return any(may_fail(value) for root in group.members for value in own_definitions(root, by_value))


def _kernel_step(kernel: ir.Kernel) -> KernelStep:
    return KernelStep(
        kernel, tuple(buffer.name for buffer in kernel.buffers), tuple(map(ir.Sym, kernel.sizes))
    )


def _needed_kernels(group: Group, made: dict[Root, int], steps: list[KernelStep]) -> set[int]:
    """Positions of the kernels that store a value which this one reads: of a buffer that several fill (a
    joined tensor), those alone. `made`: by which kernel.
    """
    values = {dep for root in group.members for dep, _ in root.reads if dep not in group.members}
    return {
        made[dep] for dep in values if dep in made and dep.targets[0].buffer in steps[made[dep]].written()
    }


def _give_buffers(lowering: Lowering, groups: list[Group], dependencies: Dependencies) -> None:
    """A root that another kernel reads has to be stored, and not in an input alone: kernels read from its
    first target.
    """
    for group in groups:
        for root in group.members:
            root.targets.sort(key=lambda target: _is_old_input(lowering, target))
            for dep, _ in root.reads:
                if dependencies.group_of[dep] is not group and all(
                    _is_old_input(lowering, target) for target in dep.targets
                ):
                    dep.targets.insert(0, _temporary(lowering, dep.value, f"t{dep.number}"))


def _temporary(lowering: Lowering, value: TensorExpr, hint: str) -> Stored:
    """Laid out as in eager, but without the gaps of a part of a larger tensor."""
    strides = lowering.layouts.get(value)
    if strides is None or not _is_dense(value.shape, strides):
        strides = ix.row_major(value.shape)
    return lowering.new_buffer(hint, "temp", TORCH_DTYPES[value.dtype], value.shape, strides)


def _is_dense(shape: Shape, strides: tuple[Index, ...]) -> bool:
    """Sizes that are not known stand for themselves: only gaps that are sure count."""
    last = 0
    for size, stride in zip(shape, strides, strict=True):
        if not isinstance(size, int) or not isinstance(stride, int):
            return True
        last += (size - 1) * stride
    return last < prod(size for size in shape if isinstance(size, int))


# --- writes to inputs -------------------------------------------------------------------------------------


def _make_writes_safe(
    lowering: Lowering, groups: list[Group], by_value: dict[TensorExpr, Root], dependencies: Dependencies
) -> tuple[list[Group], dict[int, Draft]]:
    """A kernel may write to an input in place if everything else that reads the input, and everything that
    may fail, can run before it, and it reads itself only the element that it is about to write. Else the new
    value goes to a temporary, and a kernel at the end copies it: those kernels are returned, and drafts that
    were made on the way, by the number of the group.
    """
    copies: list[Group] = []
    drafts: dict[int, Draft] = {}
    failing: list[Root | ExternStep | ViewStep] = [call for call in lowering.steps if call_may_fail(call)]
    failing_groups = [group for group in groups if _fails(group, by_value)]
    failing += [root for group in failing_groups for root in group.members]
    loading: dict[str, list[Group]] = {}
    for group in groups:
        for name in dependencies.order.needed_buffers(group):
            loading.setdefault(name, []).append(group)
    for group in groups:
        written = {t.buffer for root in group.members for t in root.targets if _is_input(lowering, t)}
        versions = dependencies.order.written_by(group)
        written -= versions
        if not written and not versions:
            continue
        fails = group in failing_groups or dependencies.need_group(failing, group)
        if versions:
            draft = _draft(lowering, group, by_value)
            names = {lowering.versions[name].input for name in versions}
            if fails or not all(_touches_own_element(draft, name) for name in names):
                raise Unordered(names, "a step that may fail, or that reads its neighbours")
            dependencies.run_after(group, failing)
        if fails:
            unsafe = written
        else:
            drafts[group.number] = draft = _draft(lowering, group, by_value)
            unsafe = {
                name
                for name in sorted(written)
                if not _is_safe(group, name, draft, dependencies, loading.get(name, []))
            }
            if written - unsafe:
                dependencies.run_after(group, failing)
        for root in list(group.members):
            for target in [target for target in root.targets if target.buffer in unsafe]:
                copies.append(_deferred(lowering, root, target, len(groups) + len(copies)))
    return copies, {} if copies else drafts  # a copy is read from another place than was drafted


def _is_input(lowering: Lowering, target: Stored) -> bool:
    return is_input_memory(lowering.program.buffers[target.buffer])


def _is_old_input(lowering: Lowering, target: Stored) -> bool:
    """What is written at the end, when nothing reads it any more."""
    return lowering.program.buffers[target.buffer].kind == "input"


def _draft(lowering: Lowering, group: Group, by_value: dict[TensorExpr, Root]) -> Draft:
    """Of a kernel without a name yet. Versions of an input's memory have the input's name in it."""
    draft = emit_group("", group, by_value)
    draft.rename_buffers({name: version.input for name, version in lowering.versions.items()})
    return draft


def _is_safe(group: Group, name: str, draft: Draft, dependencies: Dependencies, loading: list[Group]) -> bool:
    """`loading`: the groups that read the buffer."""
    elsewhere = [root for other in loading if other is not group for root in other.members]
    readers = [*elsewhere, *dependencies.readers(name)]
    if dependencies.need_group(readers, group) or not _touches_own_element(draft, name):
        return False
    dependencies.run_after(group, readers)
    return True


def _touches_own_element(draft: Draft, name: str) -> bool:
    """True where all accesses to the buffer are to one index, in one run of statements, and no load comes
    after the store.
    """
    places: set[tuple[int, ix.Index]] = set()
    stored = False
    segment = 0
    for item in draft.body:
        statements: list[Statement] = item.body if isinstance(item, Phase) else [item]
        segment += isinstance(item, Phase)
        for access in [s for s in statements if isinstance(s, (DraftLoad, DraftStore)) and s.buffer == name]:
            if stored and isinstance(access, DraftLoad):
                return False
            stored = stored or isinstance(access, DraftStore)
            places.add((segment, access.index))
        segment += isinstance(item, Phase)
    return len(places) <= 1


def _deferred(lowering: Lowering, root: Root, target: Stored, number: int) -> Group:
    """Redirect the store to a temporary; the group that copies it to `target`."""
    if isinstance(root.value, Scattered):
        raise NotImplementedError(
            f"{target.buffer} would be written to in part before all steps that may fail"
        )
    root.targets.remove(target)
    place = next((other for other in root.targets if not _is_input(lowering, other)), None)
    if place is None:
        place = _temporary(lowering, root.value, f"{target.buffer}_new")
        root.targets.insert(0, place)
    copy = Root(root.number + (1 << 20), copy_of(place), [target])
    copy.axes = tuple(copy.ranges.axis(f"x{dim}", size) for dim, size in enumerate(copy.domain))
    copy.loads[place.buffer] = {place.element(copy.axes)}
    return open_group(number, copy)
