"""Writes to inputs that nothing can observe too early.

In:  groups. Some of them store to inputs.
Out: groups that store in place, after everything that reads the input. The other groups store to a temporary,
     and a group at the end copies it.

    x.add_(1) beside y = x * 2     ->   y = x * 2; x = x + 1           in place: y runs before
    x.copy_(x.flip(0))             ->   t = x.flip(0); x = t           t is complete before x changes
"""

from __future__ import annotations

from collections.abc import Mapping

from codegen.kernel.program import ExternStep, ViewStep
from codegen.lower.graph import Lowering
from codegen.lower.ordered_writes import Unordered
from codegen.lower.tensor_expr import Scattered, Stored, TensorExpr, copy_of
from codegen.passes.draft.draft import Draft, DraftLoad, DraftStore, Phase
from codegen.passes.draft.statements import draft_group
from codegen.passes.graph.failures import call_may_fail
from codegen.passes.group.align import open_group
from codegen.passes.group.buffers import is_input, temporary
from codegen.passes.group.fuse import Dependencies
from codegen.passes.group.group import Group, group_may_fail
from codegen.passes.group.roots import Root

#: the number of its run of statements, and itself
Access = tuple[int, DraftLoad | DraftStore]


def make_writes_safe(
    lowering: Lowering, groups: list[Group], roots: Mapping[TensorExpr, Root], dependencies: Dependencies
) -> tuple[list[Group], dict[int, Draft]]:
    """The groups that copy temporaries at the end, and by group number the drafts made for the checks.

    A kernel may write to an input in place under two conditions. Everything else that reads the input or may
    fail can run before it. And it reads only the element that it will write. Otherwise the new value goes to
    a temporary.
    """
    copies: list[Group] = []
    drafts: dict[int, Draft] = {}
    failing: list[Root | ExternStep | ViewStep] = [call for call in lowering.steps if call_may_fail(call)]
    failing_groups = [group for group in groups if group_may_fail(group, roots)]
    failing += [root for group in failing_groups for root in group.members]
    loading: dict[str, list[Group]] = {}
    for group in groups:
        for name in dependencies.order.needed_buffers(group):
            loading.setdefault(name, []).append(group)
    for group in groups:
        written = {t.buffer for root in group.members for t in root.targets if is_input(lowering, t)}
        versions = dependencies.order.written_by(group)
        written -= versions
        if not written and not versions:
            continue
        fails = group in failing_groups or dependencies.need_group(failing, group)
        if versions:
            draft = draft_group(group, roots, lowering.versions)
            names = {lowering.versions[name].input for name in versions}
            accesses = _accesses(draft)
            if fails or not all(_are_of_own_element(accesses.get(name, [])) for name in names):
                raise Unordered(names, "the step may fail, or reads other elements than it writes")
            dependencies.run_after(group, failing)
        if fails:
            unsafe = written
        else:
            drafts[group.number] = draft = draft_group(group, roots, lowering.versions)
            accesses = _accesses(draft)
            unsafe = {
                name
                for name in sorted(written)
                if not _is_safe(group, name, accesses.get(name, []), dependencies, loading.get(name, []))
            }
            if written - unsafe:
                dependencies.run_after(group, failing)
        for root in list(group.members):
            for target in [target for target in root.targets if target.buffer in unsafe]:
                copies.append(_deferred(lowering, root, target, len(groups) + len(copies)))
    return copies, {} if copies else drafts  # readers of a copied target now read another place


def _is_safe(
    group: Group, name: str, accesses: list[Access], dependencies: Dependencies, loading: list[Group]
) -> bool:
    """`loading`: the groups that read the buffer."""
    elsewhere = [root for other in loading if other is not group for root in other.members]
    readers = [*elsewhere, *dependencies.readers(name)]
    if dependencies.need_group(readers, group) or not _are_of_own_element(accesses):
        return False
    dependencies.run_after(group, readers)
    return True


def _accesses(draft: Draft) -> dict[str, list[Access]]:
    """By buffer: its loads and stores in their order, each with the number of its run of statements."""
    found: dict[str, list[Access]] = {}
    run = 0
    for item in draft.body:
        is_phase = isinstance(item, Phase)
        run += is_phase
        for statement in item.body if isinstance(item, Phase) else (item,):
            if isinstance(statement, (DraftLoad, DraftStore)):
                found.setdefault(statement.buffer, []).append((run, statement))
        run += is_phase
    return found


def _are_of_own_element(accesses: list[Access]) -> bool:
    """Whether all of them use one index in one run of statements, the loads first."""
    stored = False
    for _, access in accesses:
        if stored and isinstance(access, DraftLoad):
            return False
        stored = stored or isinstance(access, DraftStore)
    return len({(run, access.index) for run, access in accesses}) <= 1


def _deferred(lowering: Lowering, root: Root, target: Stored, number: int) -> Group:
    """Redirect the store to a temporary. The result is the group that copies it to `target`."""
    if isinstance(root.value, Scattered):
        raise NotImplementedError(
            f"{target.buffer} would change in part before all steps that may fail have run"
        )
    root.targets.remove(target)
    place = next((other for other in root.targets if not is_input(lowering, other)), None)
    if place is None:
        place = temporary(lowering, root.value, f"{target.buffer}_new")
        root.targets.insert(0, place)
    copy = Root(root.number + (1 << 20), copy_of(place), [target], part=root.part)
    copy.axes = tuple(copy.ranges.axis(f"x{dim}", size) for dim, size in enumerate(copy.domain))
    copy.loads[place.buffer] = {place.element(copy.axes)}
    return open_group(number, copy)
