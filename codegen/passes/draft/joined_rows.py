"""Write the parts of a joined result row by row in one kernel, so that memory is written in order.

In:  the groups of fusion. cat([x, y * 2], 1): {y * 2} and {x}, each with loops over all rows.
Out: groups with the rows as outer axes and a loop for each part.

    for i in 4096: for j in 256: o[i, j] = x[i, j]; o[i, 256 + j] = y[i, j] * 2
    ->  for i in 4096: { for j in 256: o[i, j] = x[i, j];  for j in 256: o[i, 256 + j] = y[i, j] * 2 }

Two other forms are slower: two loops that each write every other piece of memory, and one loop that writes to
two places in turns. cat([x, y * 2], 1) of 4096 x 256 f32 takes 0.37 ms instead of 0.70. If the cache holds
none of it, it takes 0.57 ms instead of 0.93. Parts that compute something together stay in one loop.
"""

from __future__ import annotations

from capture_records import dataclass
from codegen.kernel import index_algebra as ix
from codegen.kernel.index_algebra import Index
from codegen.kernel.ops import TORCH_DTYPES
from codegen.kernel.program import is_input_memory
from codegen.lower.graph import Lowering
from codegen.lower.tensor_expr import Map, Stored, TensorExpr, children
from codegen.passes.group.fuse import MAX_MEMBERS, Dependencies, runs_in_order
from codegen.passes.group.group import Group, Member
from codegen.passes.group.roots import Root

RUN = 32  # bytes of a part in a row: from this on, a loop of its own pays
# elements of a part in a row, and cycles for each: for short and expensive parts, lanes run across the rows
SHORT, DEAR = 8, 24
MOST_LOOPS = 8  # of one kernel; separate kernels of one form are compiled once, as a table


def join_rows(lowering: Lowering, groups: list[Group], dependencies: Dependencies) -> None:
    """Changes the groups in place and removes those that have joined others."""
    filled: dict[str, list[Root]] = {}
    for group in groups:
        for root in group.members:
            for target in root.targets:
                filled.setdefault(target.buffer, []).append(root)
    for name, parts in filled.items():
        if len(parts) > 1 and not is_input_memory(lowering.program.buffers[name]):
            _join(lowering, groups, dependencies, _in_order(parts, name))


def _in_order(parts: list[Root], name: str) -> list[_Part]:
    """The parts in the order of their stores."""
    found = [_Part(part, target) for part in parts for target in part.targets if target.buffer == name]
    return sorted(found, key=lambda part: part.root.number)


@dataclass(frozen=True, slots=True)
class _Part:
    root: Root
    target: Stored


@dataclass(frozen=True, slots=True)
class _Walk:
    """A group, and its axes that count the rows."""

    group: Group
    rows: tuple[str, ...]


def _join(lowering: Lowering, groups: list[Group], dependencies: Dependencies, parts: list[_Part]) -> None:
    """Join as many parts as possible into one group."""
    dims = _row_dims([part.target for part in parts])
    walks: list[_Walk] = []
    for part in parts if dims else ():
        if len(walks) > MOST_LOOPS:
            return
        group = dependencies.group_of[part.root]
        if any(group is walk.group for walk in walks) or _runs_across(part):
            continue
        walk = _walk(lowering, group, part.root, dims)
        if walk is not None and _may_join(dependencies, group, [walk.group for walk in walks]):
            walks.append(walk)
    stored = {root.value for root in dependencies.group_of}
    loops = [(walk, loop) for walk in walks for loop in _loops(walk.group, stored)]
    if 1 < len(loops) <= MOST_LOOPS:
        first = walks[0].group
        _give_loops(first, loops)
        dependencies.group_of.update(dict.fromkeys(first.members, first))
        for walk in walks[1:]:
            groups.remove(walk.group)


# --- what a row is ----------------------------------------------------------------------------------------


def _row_dims(targets: list[Stored]) -> tuple[int, ...]:
    """The dims outside of the contiguous run of each part. None if parts differ in them or runs are short."""
    dims, _ = _run(targets[0])
    size = TORCH_DTYPES[targets[0].dtype].itemsize
    runs = [run for _, run in map(_run, targets) if isinstance(run, int)]
    alike = all(_run(target)[0] == dims for target in targets)
    rows = {tuple(target.shape[dim] for dim in dims) for target in targets}
    return dims if alike and len(rows) == 1 and sum(runs) * size >= RUN * len(runs) else ()


def _run(target: Stored) -> tuple[tuple[int, ...], Index]:
    """The dims of the rows, and the number of contiguous elements in a row."""
    strides, shape = target.strides, target.shape
    dims = [dim for dim, size in enumerate(shape) if size != 1]
    if all(isinstance(strides[dim], int) for dim in dims):
        dims.sort(key=lambda dim: -strides[dim])  # type: ignore[operator]
    run: Index = 1
    while dims and strides[dims[-1]] == run:
        run = ix.times(run, shape[dims.pop()])
    return tuple(sorted(dims)), run


def _runs_across(part: _Part) -> bool:
    """Whether a loop over a row would leave most lanes empty."""
    _, run = _run(part.target)
    return isinstance(run, int) and run < SHORT and part.root.cycles > DEAR


# --- which groups -----------------------------------------------------------------------------------------


def _walk(lowering: Lowering, group: Group, part: Root, dims: tuple[int, ...]) -> _Walk | None:
    """The rows of the group.

    None if the group does more than elementwise work into its own memory, or has no axis for one of the dims.
    """
    buffers = lowering.program.buffers
    changes_inputs = any(
        is_input_memory(buffers[target.buffer]) for root in group.members for target in root.targets
    )
    reduces = group.has_inner or any(root.is_reduction for root in group.members)
    if changes_inputs or reduces or group.parts is not None or runs_in_order(group):
        return None
    names = {ix.axis(name): name for name in group.outer}
    rows = [names.get(group.members[part].coordinates[dim]) for dim in dims]  # type: ignore[arg-type]
    return _Walk(group, tuple(rows)) if None not in rows else None  # type: ignore[arg-type]


def _may_join(dependencies: Dependencies, group: Group, others: list[Group]) -> bool:
    """Whether no two of the groups need each other, and the members are not too many."""
    members = len(group.members) + sum(len(other.members) for other in others)
    return members <= MAX_MEMBERS and not any(
        dependencies.need_group(list(group.members), other)
        or dependencies.need_group(list(other.members), group)
        for other in others
    )


# --- which loops ------------------------------------------------------------------------------------------


def _loops(group: Group, stored: set[TensorExpr]) -> list[list[Root]]:
    """The members, grouped by loop. Members that compute something together share a loop.

    `stored`: the values of the members of all groups.
    """
    if len(group.members) == 1:
        return [list(group.members)]
    elsewhere = stored - {root.value for root in group.members}
    loops: list[tuple[set[TensorExpr], list[Root]]] = []
    for root in sorted(group.members, key=lambda root: root.number):
        work, members = _work(root, elsewhere), [root]
        for loop in [loop for loop in loops if loop[0] & work]:
            loops.remove(loop)
            work, members = work | loop[0], loop[1] + members
        loops.append((work, members))
    return [members for _, members in loops]


def _work(root: Root, elsewhere: set[TensorExpr]) -> set[TensorExpr]:
    """The elementwise operations in the loop of the root. Values of other kernels count only as values."""
    found: set[TensorExpr] = set()
    pending = [root.value]
    while pending:
        value = pending.pop()
        if value not in found:
            found.add(value)
            pending.extend(() if value in elsewhere else children(value))
    return {value for value in found if isinstance(value, Map)}


def _give_loops(into: Group, loops: list[tuple[_Walk, list[Root]]]) -> None:
    """`into` becomes the joined group: it has axes for the rows, and other axes for each loop."""
    joined = Group(into.number)
    first, _ = loops[0]
    for name in first.rows:
        joined.outer += joined.axis("i", first.group.ranges.extents[name])[1]
    for walk, roots in loops:
        mapping: dict[str, Index] = dict(zip(walk.rows, map(ix.axis, joined.outer), strict=True))
        inner: tuple[str, ...] = ()
        for name in walk.group.outer:
            if name not in mapping:
                mapping[name], names = joined.axis("r", walk.group.ranges.extents[name])
                inner += names
        for root in roots:
            place = walk.group.members[root].coordinates
            joined.members[root] = Member(
                root, tuple(joined.ranges.substitute(index, mapping) for index in place), inner
            )
    into.ranges, into.outer, into.members = joined.ranges, joined.outer, joined.members
