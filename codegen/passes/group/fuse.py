"""Fusion: from roots to groups. Each group becomes one kernel.

In:  roots in topological order, and the operator calls between them.
Out: groups. A root joins a group that it reads, or a group beside it over the same domain, under three
     conditions. Its coordinates must fit (`codegen.passes.group.align`), it must pay, and no other step may
     have to run both before and after the group.

    amax, exp, sum, out of a softmax      ->  one group with the rows as outer axis
    y = relu(x); z = mm(y, w); u = y + z  ->  {relu}, {u}: mm stands between them

Roots stand beside each other if they read the same memory, if they fill memory in turns, or if they have
different forms. Roots of one form become a table instead (`codegen.passes.steps.tables`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from math import prod

from codegen.kernel import index_algebra as ix
from codegen.kernel.index_algebra import Index
from codegen.kernel.ir import Const, Expr
from codegen.kernel.program import BufferInfo, ExternStep, Step, ViewStep
from codegen.lower.graph import Lowering
from codegen.lower.tensor_expr import Indices, Scan, Scattered, Shape, numel
from codegen.passes.graph.failures import is_draw
from codegen.passes.group.align import fit, open_group, rebase
from codegen.passes.group.early_checks import early_checks
from codegen.passes.group.group import Group, Member
from codegen.passes.group.reach import Reach
from codegen.passes.group.roots import Root
from codegen.passes.steps.calls import effects_before, step_reads, step_writes
from codegen.passes.steps.versions import MemoryOrder

MAX_MEMBERS = 48  # of one group: larger kernels compile slowly
MAX_BESIDE = 8  # groups that a root tries to join without sharing a read with them
IN_TURNS = 4  # parts of a stack whose elements take turns in memory
COLUMN_LIMIT = 1024  # rows: up to this a kernel may run down columns, a vector of neighbours at a time
NEAR = 500_000  # elements: up to this it does so; with more, they leave the cache before the next walk
# the same, if nothing is read twice: with more elements it is faster to run a kernel along the rows with the
# sums beside it (`codegen.passes.draft.column_sums`)
ALONE = 60_000
# elements: up to this, work after a full reduction shares its kernel, which threads can't divide
SINGLE_ROW_LIMIT = 32768


Reading = tuple[str | Root, frozenset[Index] | Indices]


class DirectNeeds:
    """What each item needs directly: what a root or call reads, the order of writes, effects and draws."""

    def __init__(self, lowering: Lowering, roots: list[Root]) -> None:
        self.writers: dict[str, list[Root | ExternStep | ViewStep]] = {}
        written: list[tuple[str, Root | ExternStep | ViewStep]] = [
            (name, step) for step in lowering.steps for name in step_writes(step)
        ]
        written += [(target.buffer, root) for root in roots for target in root.targets]
        for name, writer in written:
            if lowering.program.buffers[name].kind != "input":  # a reader of an input reads its old value
                self.writers.setdefault(name, []).append(writer)
        self.order = MemoryOrder(lowering, roots)
        self.effects: dict[int, Step] = effects_before(lowering.steps)
        self.checks: list[Root] = []  # `before` reads it: nothing needs a check yet
        self.checks = early_checks(lowering.steps, roots, self.before)

    def before(self, item: Root | ExternStep | ViewStep) -> Iterable[Root | ExternStep | ViewStep]:
        """The items that `item` needs directly."""
        if isinstance(item, Root):
            yield from (dep for dep, _ in item.reads)
            yield from self.order.before(item)
            names: Iterable[str] = item.loads
        else:
            names = step_reads(item)
            if is_draw(item):
                yield from self.checks
            if id(item) in self.effects:
                yield self.effects[id(item)]  # type: ignore[misc]
        for name in names:
            yield from (writer for writer in self.writers.get(name, ()) if writer is not item)


class Dependencies:
    """What must run before what: roots, and operator calls by the buffers that they use."""

    def __init__(self, lowering: Lowering, roots: list[Root]) -> None:
        self.steps = lowering.steps
        direct = DirectNeeds(lowering, roots)
        self.before, self.order = direct.before, direct.order
        self.group_of: dict[Root, Group] = {}
        self.after: dict[int, list[Root | ExternStep | ViewStep]] = {}
        self.reach = Reach(self.before, self.group_of)

    def needs_group_elsewhere(self, root: Root, group: Group) -> bool:
        """Whether `root` needs `group` through something outside of `group`.

        It is for the time of fusion, before `run_after`.
        """
        return any(
            not self._is_in(item, group) and self.reach.needs(item, group) for item in self.before(root)
        )

    def need_group(self, items: list[Root | ExternStep | ViewStep], group: Group) -> bool:
        """Whether `group` must run before one of the items."""
        return any(self._is_in(other, group) for other in self._all_before(items))

    def _all_before(
        self, items: list[Root | ExternStep | ViewStep]
    ) -> Iterable[Root | ExternStep | ViewStep]:
        """`items`, and everything that they and their kernels need."""
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
        """From now on `group` also needs `items`: it overwrites what they read."""
        self.after.setdefault(id(group), []).extend(items)

    @cached_property
    def reading(self) -> dict[str, list[ExternStep | ViewStep]]:
        """By buffer: the operator calls and views that read it directly."""
        found: dict[str, list[ExternStep | ViewStep]] = {}
        for step in self.steps:
            for name in dict.fromkeys(step_reads(step)):
                found.setdefault(name, []).append(step)
        return found

    def readers(self, name: str) -> list[ExternStep | ViewStep]:
        """The operator calls and views that read the buffer, also through views."""
        found: dict[int, ExternStep | ViewStep] = {}
        pending = [name]
        while pending:
            for step in self.reading.get(pending.pop(), ()):
                if id(step) not in found:
                    found[id(step)] = step
                    if isinstance(step, ViewStep):
                        pending.append(step.output)
        return list(found.values())

    def _is_in(self, item: Root | ExternStep | ViewStep, group: Group) -> bool:
        return isinstance(item, Root) and self.group_of.get(item) is group

    def _unit(self, item: Root | ExternStep | ViewStep) -> list[Root | ExternStep | ViewStep]:
        group = self.group_of.get(item) if isinstance(item, Root) else None
        return [item] if group is None else list(group.members)


def fuse(lowering: Lowering, roots: list[Root]) -> tuple[list[Group], Dependencies]:
    """Groups in the order of their first root."""
    dependencies = Dependencies(lowering, roots)
    roots = dependencies.order.sorted(roots, dependencies.before)
    neighbours = Neighbours(lowering, dependencies)
    groups: list[Group] = []
    for root in roots:
        group = _joined_group(lowering, neighbours, root)
        if group is None:
            group = open_group(len(groups), root)
            groups.append(group)
            dependencies.reach.open(group, root)
            dependencies.group_of[root] = group
        neighbours.add(group, root)
    return groups, dependencies


class Neighbours:
    """The groups that a root may join."""

    def __init__(self, lowering: Lowering, dependencies: Dependencies) -> None:
        self.buffers = lowering.program.buffers
        self.dependencies = dependencies
        self.over: dict[tuple[Shape, bool], list[Group]] = {}  # by the domain of the first root
        self.reading: dict[Reading, list[Group]] = {}
        #: by buffer and layout: the groups that fill it, and where they begin
        self.filling: dict[tuple[str, Shape, Indices], list[tuple[Group, Index]]] = {}

    def add(self, group: Group, root: Root) -> None:
        """Note that `root` is in `group`."""
        if len(group.members) == 1:
            self.over.setdefault((root.domain, root.is_reduction), []).append(group)
        for item in large_reads(self.buffers, root):
            known = self.reading.setdefault(item, [])
            if group not in known:
                known.append(group)
        for target in root.targets:
            self.filling.setdefault((target.buffer, target.shape, target.strides), []).append(
                (group, target.offset)
            )

    def of(self, root: Root) -> Iterator[Group]:
        """The groups that `root` may join, the latest of each kind first.

        They are groups that it reads, groups over the same domain that read what it reads, groups that fill
        the same memory in turns, and other groups over the same domain.
        """
        group_of = self.dependencies.group_of
        read = {group_of[dep].number: group_of[dep] for dep, _ in root.reads if dep in group_of}
        sharing = {
            group.number: group
            for item in large_reads(self.buffers, root)
            for group in self.reading.get(item, ())
        }
        for number in sorted(read, reverse=True):
            yield read[number]
        for number in sorted(sharing.keys() - read.keys(), reverse=True):
            if _is_beside(sharing[number], root):
                yield sharing[number]
        filling = {group.number: group for group in self._in_turns(root)}
        for number in sorted(filling.keys() - read.keys() - sharing.keys(), reverse=True):
            yield filling[number]
        for group in self.over.get((root.domain, root.is_reduction), [])[: -MAX_BESIDE - 1 : -1]:
            alike = any(member.form == root.form for member in group.members)
            if group.number not in read and group.number not in sharing and not alike:
                yield group

    def _in_turns(self, root: Root) -> Iterator[Group]:
        """Groups that store between the elements of `root`. Together they write whole pieces of memory."""
        for target in root.targets:
            steps = [stride for stride, size in zip(target.strides, target.shape, strict=True) if size != 1]
            for group, offset in self.filling.get((target.buffer, target.shape, target.strides), ()):
                distance = ix.minus(target.offset, offset)
                if isinstance(distance, int) and all(
                    isinstance(step, int) and abs(distance) < step <= IN_TURNS for step in steps[-1:]
                ):
                    yield group


def large_reads(buffers: dict[str, BufferInfo], root: Root) -> Iterator[Reading]:
    """What the root reads, and where, from memory that is not smaller than itself."""
    least = numel(root.domain)
    for name, places in root.loads.items():
        if not _is_less(_count(buffers[name].shape), least):
            yield name, frozenset(places)
    for dep, access in root.reads:
        if not _is_less(numel(dep.value.shape), least):
            yield dep, access


def _count(shape: tuple[Expr, ...]) -> int | None:
    sizes = [size.value for size in shape if isinstance(size, Const)]
    return prod(sizes) if len(sizes) == len(shape) else None


def _is_less(size: Index | None, limit: Index) -> bool:
    return isinstance(size, int) and (not isinstance(limit, int) or size < limit)


def _joined_group(lowering: Lowering, neighbours: Neighbours, root: Root) -> Group | None:
    """The group that the root has joined. None if no group takes it."""
    dependencies = neighbours.dependencies
    if root.apart or isinstance(root.value, (Scan, Scattered)):  # the loops of these must run in order
        return None
    for group in neighbours.of(root):
        if (
            group.part != root.part
            or is_apart(group)
            or len(group.members) >= MAX_MEMBERS
            or reads_what_is_made(group, root)
            or runs_in_order(group)
        ):
            continue
        if dependencies.order.keeps_apart(group, root):
            continue
        if dependencies.needs_group_elsewhere(root, group):
            continue
        joined = _joined(group, root)
        if joined is not None and not _spoils_reads(lowering, joined, root):
            group.ranges, group.outer, group.members = joined.ranges, joined.outer, joined.members
            dependencies.reach.join(group, root)
            dependencies.group_of[root] = group
            return group
    return None


def is_apart(group: Group) -> bool:
    return any(root.apart for root in group.members)


def runs_in_order(group: Group) -> bool:
    return any(isinstance(root.value, (Scan, Scattered)) for root in group.members)


def reads_what_is_made(group: Group, root: Root) -> bool:
    """Whether the root reads a buffer that a member changes or fills in part (a join)."""
    return any(target.buffer in root.loads for member in group.members for target in member.targets)


def _spoils_reads(lowering: Lowering, group: Group, root: Root) -> bool:
    """Whether the root, a member of `group`, writes to a buffer that a member reads.

    A change in place is fine: each iteration reads the element of an input, and then writes it.
    """
    for target in root.targets:
        readers = [member for member in group.members.values() if target.buffer in member.root.loads]
        if not any(member.root is not root for member in readers):
            continue
        if lowering.program.buffers[target.buffer].kind != "input" or group.has_inner:
            return True
        place = target.element(group.members[root].value_coordinates)
        if any(
            elements(group, member, target.buffer) != {group.ranges.recombine(place)} for member in readers
        ):
            return True
    return False


def elements(group: Group, member: Member, buffer: str) -> set[Index]:
    """The elements of the buffer that an iteration of the member reads."""
    axes = {f"x{dim}": index for dim, index in enumerate(member.coordinates)}
    return {
        group.ranges.recombine(group.ranges.substitute(index, axes)) for index in member.root.loads[buffer]
    }


def _is_beside(group: Group, root: Root) -> bool:
    first = next(iter(group.members))
    return first.domain == root.domain and first.is_reduction == root.is_reduction


def _joined(group: Group, root: Root) -> Group | None:
    """The group with the root in it. None if the root does not fit or does not pay."""
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
    """Whether the loops of the group suit the member.

    The member must not walk down long columns. It must not turn long work into work that threads can't
    divide.
    """
    if not group.has_inner:
        return True
    if not member.inner:
        return True
    width = ix.product(group.extents(member.inner))
    if group.rows == 1:
        alone = all(other.root.is_reduction or not other.inner for other in group.members.values())
        return alone or _at_most(width, SINGLE_ROW_LIMIT)
    if all(other.root.is_reduction or not other.inner for other in group.members.values()):
        return True  # reductions alone may have any loops: their schedule blocks the loops
    if not any(_contiguous_axis_is_outer(group, other) for other in group.members.values() if other.inner):
        return True
    total = ix.times(group.rows, width)
    return _at_most(width, COLUMN_LIMIT) and _at_most(total, ALONE if _can_do_without(group) else NEAR)


def _can_do_without(group: Group) -> bool:
    """Whether an elementwise member with a store needs no reduction of the group."""
    stages = group.stages()
    return any(
        member.inner and root.targets and not root.is_reduction and not stages[root]
        for root, member in group.members.items()
    )


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
