"""Fusion: roots -> groups, each of which becomes one kernel.

In:  roots in topological order, and the operator calls between them.
Out: groups. A root joins the group of something it reads, or one beside it over the same domain, where its coordinates fit
     (`codegen.passes.align`), where it pays, and where no other step would have to run both before and after the group.

    amax, exp, sum, out of a softmax      ->  one group with the rows as outer axis
    y = relu(x); z = mm(y, w); u = y + z  ->  {relu}, {u}: mm stands between them
"""

from __future__ import annotations

from collections.abc import Iterable

from codegen import index_algebra as ix
from codegen.index_algebra import Index
from codegen.lower.graph import Lowering
from codegen.lower.tensor_expr import Scan, Scattered
from codegen.passes.align import fit, open_group, rebase
from codegen.passes.calls import effects_before, step_reads, step_writes
from codegen.passes.group import Group, Member
from codegen.passes.reach import Reach
from codegen.passes.roots import Root
from codegen.program import ExternStep, Step, ViewStep

MAX_MEMBERS = 48  # of one group: keeps kernels at a size that compiles fast
COLUMN_LIMIT = 1024  # rows up to which a kernel may run down columns, a vector of neighbours at a time
SINGLE_ROW_LIMIT = 32768  # elements up to which work after a full reduction shares its kernel, which cannot be split between threads


class Dependencies:
    """What has to run before what: roots, and operator calls by the buffers they touch."""

    def __init__(self, lowering: Lowering, roots: list[Root]) -> None:
        self.steps = lowering.steps
        self.writers: dict[str, list[Root | ExternStep | ViewStep]] = {}
        for step in lowering.steps:
            for name in step_writes(step):
                self.writers.setdefault(name, []).append(step)
        for root in roots:
            for target in root.targets:
                if lowering.program.buffers[target.buffer].kind != "input":
                    self.writers.setdefault(target.buffer, []).append(root)
        self.group_of: dict[Root, Group] = {}
        self.after: dict[int, list[Root | ExternStep | ViewStep]] = {}
        self.effects: dict[int, Step] = effects_before(lowering.steps)
        self.reach = Reach(self.before, self.group_of)

    def before(self, item: Root | ExternStep | ViewStep) -> Iterable[Root | ExternStep | ViewStep]:
        """What `item` needs directly."""
        if isinstance(item, Root):
            yield from (dep for dep, _ in item.reads)
            names: Iterable[str] = item.loads
        else:
            names = step_reads(item)
            if id(item) in self.effects:
                yield self.effects[id(item)]  # type: ignore[misc]
        for name in names:
            yield from (writer for writer in self.writers.get(name, ()) if writer is not item)

    def needs_group_elsewhere(self, root: Root, group: Group) -> bool:
        """True where something outside of `group` that `root` needs, itself needs `group`. While groups are made: before `run_after`."""
        return any(
            not self._is_in(item, group) and self.reach.needs(item, group) for item in self.before(root)
        )

    def need_group(self, items: list[Root | ExternStep | ViewStep], group: Group) -> bool:
        """True where one of the items cannot run before `group`."""
        return any(self._is_in(other, group) for other in self._all_before(items))

    def _all_before(
        self, items: list[Root | ExternStep | ViewStep]
    ) -> Iterable[Root | ExternStep | ViewStep]:
        """`items` and everything that they and the kernels they are in need."""
        pending = list(items)
        seen: set[int] = set()
        while pending:
            item = pending.pop()
            yield item
            if isinstance(item, Root):
                group = self.group_of.get(item)
                if group is not None and id(group) not in seen:
                    seen.add(id(group))
                    pending.extend(self.after.get(id(group), ()))
            for part in self._unit(item):
                if id(part) not in seen:
                    seen.add(id(part))
                    pending.extend(self.before(part))

    def run_after(self, group: Group, items: list[Root | ExternStep | ViewStep]) -> None:
        """From now on `group` also needs `items` to have run: it overwrites what they read."""
        self.after.setdefault(id(group), []).extend(items)

    def readers(self, name: str) -> list[ExternStep | ViewStep]:
        """Operator calls and views that read the buffer, through views too."""
        memory = {name}
        found: list[ExternStep | ViewStep] = []
        for step in self.steps:
            if memory.intersection(step_reads(step)):
                found.append(step)
                if isinstance(step, ViewStep):
                    memory.add(step.output)
        return found

    def _is_in(self, item: Root | ExternStep | ViewStep, group: Group) -> bool:
        return isinstance(item, Root) and self.group_of.get(item) is group

    def _unit(self, item: Root | ExternStep | ViewStep) -> list[Root | ExternStep | ViewStep]:
        group = self.group_of.get(item) if isinstance(item, Root) else None
        return [item] if group is None else list(group.members)


def fuse(lowering: Lowering, roots: list[Root]) -> tuple[list[Group], Dependencies]:
    """Groups in the order of their first root."""
    dependencies = Dependencies(lowering, roots)
    groups: list[Group] = []
    for root in roots:
        if not _join_any(dependencies, groups, root):
            group = open_group(len(groups), root)
            groups.append(group)
            dependencies.reach.open(group, root)
            dependencies.group_of[root] = group
    return groups, dependencies


def _join_any(dependencies: Dependencies, groups: list[Group], root: Root) -> bool:
    if isinstance(root.value, (Scan, Scattered)):  # its loops run in order
        return False
    for group in _nearest(dependencies, groups, root):
        if len(group.members) >= MAX_MEMBERS or _meets_through_memory(group, root) or _runs_in_order(group):
            continue
        if dependencies.needs_group_elsewhere(root, group):
            continue
        joined = _joined(group, root)
        if joined is not None:
            group.ranges, group.outer, group.members = joined.ranges, joined.outer, joined.members
            dependencies.reach.join(group, root)
            dependencies.group_of[root] = group
            return True
    return False


def _runs_in_order(group: Group) -> bool:
    return any(isinstance(root.value, (Scan, Scattered)) for root in group.members)


def _meets_through_memory(group: Group, root: Root) -> bool:
    """True where the root reads a buffer that a member fills in part (a join), or writes one that a member reads so."""
    written = {target.buffer for member in group.members for target in member.targets}
    read = {name for member in group.members for name in member.loads}
    return bool(written & root.loads) or any(target.buffer in read for target in root.targets)


def _nearest(dependencies: Dependencies, groups: list[Group], root: Root) -> list[Group]:
    """Groups that `root` reads, the latest first; then those that run over the same domain, the latest first."""
    read = {dependencies.group_of[dep].number for dep, _ in root.reads if dep in dependencies.group_of}
    near = [groups[number] for number in sorted(read, reverse=True)]
    return near + [
        group for group in reversed(groups) if group.number not in read and _is_beside(group, root)
    ]


def _is_beside(group: Group, root: Root) -> bool:
    first = next(iter(group.members))
    return first.domain == root.domain and first.is_reduction == root.is_reduction


def _joined(group: Group, root: Root) -> Group | None:
    """The group with the root in it, or None."""
    trial = Group(group.number, ix.Ranges(dict(group.ranges.extents)), group.outer, dict(group.members))
    member = fit(trial, root)
    if member is not None:
        trial.members[root] = member
    else:
        rebased = rebase(trial, root) if root.is_reduction else None
        if rebased is None:
            return None
        trial, member = rebased, rebased.members[root]
    return trial if pays(trial, member) else None


def pays(group: Group, member: Member) -> bool:
    """Whether the loops of the group suit the member: it must not walk down long columns, nor make long work one that threads can't divide."""
    if not group.has_inner:
        return True
    if not member.inner:
        return True
    width = ix.product(group.extents(member.inner))
    if group.rows == 1:
        alone = all(other.root.is_reduction or not other.inner for other in group.members.values())
        return alone or _at_most(width, SINGLE_ROW_LIMIT)
    return all(_suits_columns(group, other, width) for other in group.members.values() if other.inner)


def _suits_columns(group: Group, member: Member, width: Index) -> bool:
    """A reduction alone may have any loops (its schedule blocks them); other members want their contiguous axis inside, or few rows."""
    if all(other.root.is_reduction or not other.inner for other in group.members.values()):
        return True
    return not _contiguous_axis_is_outer(group, member) or _at_most(width, COLUMN_LIMIT)


def _contiguous_axis_is_outer(group: Group, member: Member) -> bool:
    strides = member.root.targets[0].strides if member.root.targets else ix.row_major(member.root.domain)
    if member.root.is_reduction:
        strides = ix.row_major(member.root.domain)
    for index, stride in zip(member.coordinates, strides, strict=True):
        if stride == 1 and index != 0:
            return not (ix.atoms_of(index) & set(member.inner))
    return False


def _at_most(value: Index, limit: int) -> bool:
    return isinstance(value, int) and value <= limit
