"""Column sums in the kernel that walks over the rows, so that memory is read once.

In:  the groups of fusion. The backward of layer_norm has {sums of each row, dx} over the rows, and {sums of
     each column}. Both read the same memory.
Out: the rows are divided into parts. The kernel of the rows adds up each part in a buffer with one row for
     each part. It uses one such row at a time, which stays in the cache. The other group adds up the parts.

        for i in 4096: { a = sum of dy[i, :] * w; dx[i, :] = ... }
        for j: { s = 0; for i in 4096: s += dy[i, j];  db[j] = s }
    ->  for p in 32: for e in 128:
            { a = sum of dy[p*128 + e, :] * w; dx[p*128 + e, :] = ...; part[p, :] += dy[p*128 + e, :] }
        for j: { s = 0; for p in 32: s += part[p, j];  db[j] = s }

Threads divide the parts. A part has about 128 rows at most, which keeps the rounding error as small as blocks
do (`codegen.passes.loops.partial_sums`).
"""

from __future__ import annotations

from collections.abc import Iterator

from capture_records import dataclass
from codegen.kernel import index_algebra as ix
from codegen.kernel import ir
from codegen.kernel.index_algebra import Index, Ranges, atoms_of
from codegen.kernel.index_notation import to_expr
from codegen.kernel.ops import TORCH_DTYPES
from codegen.lower.graph import Lowering
from codegen.lower.tensor_expr import PartSum, Reduce, Stored, flatten
from codegen.passes.group.align import fit, reads_fit
from codegen.passes.group.fuse import (
    MAX_MEMBERS,
    Dependencies,
    elements,
    large_reads,
    reads_what_is_made,
    runs_in_order,
)
from codegen.passes.group.group import Group, Member, RowParts
from codegen.passes.group.roots import Root
from codegen.passes.loops.axes import stride_of

MIN_WIDTH = 32  # of a row: a shorter row does not fill the vectors of its loop
MIN_LANES = 16  # of the axis with stride 1
MIN_ROWS = 32
PARTS = 32  # the wanted number of parts, for threads
MIN_PART, MAX_PART, ANY_PART = 16, 128, 64  # rows of a part; ANY_PART if the number of rows is not known


def sum_columns_beside_rows(lowering: Lowering, groups: list[Group], dependencies: Dependencies) -> None:
    """Changes the groups in place."""
    columns = [(group, sums) for group in groups if (sums := _column_sums(group))]
    if not columns:
        return
    near = _Near(lowering, groups, dependencies)
    for group, sums in columns:
        for rows in near.of(sums[0]):
            sides = None if rows is group else _sides(dependencies, group, sums, rows)
            if sides is not None and _join(lowering, dependencies, group, rows, sides):
                break


def _column_sums(group: Group) -> list[Root]:
    """The members with inner axes, if all of them are sums of floats at each position of the outer axes."""
    found = [root for root, member in group.members.items() if member.inner]
    sums = all(
        isinstance(root.value, Reduce) and root.value.combine == "sum" and root.value.dtype in ("f32", "f64")
        for root in found
    )
    return found if sums and group.outer else []


class _Near:
    """The groups that make or read what a root reads."""

    def __init__(self, lowering: Lowering, groups: list[Group], dependencies: Dependencies) -> None:
        self.buffers = lowering.program.buffers
        self.group_of = dependencies.group_of
        self.reading: dict[object, dict[int, Group]] = {}
        for group in groups:
            for root in group.members:
                for item in large_reads(self.buffers, root):
                    self.reading.setdefault(item, {})[group.number] = group

    def of(self, root: Root) -> Iterator[Group]:
        """The groups near the root, makers first."""
        found = {self.group_of[dep].number: self.group_of[dep] for dep, _ in root.reads}
        for item in large_reads(self.buffers, root):
            found |= self.reading.get(item, {})
        yield from found.values()


# --- the place of the sums among the rows -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Axes:
    """The axes of the group of rows: `outer` counts the rows, `inner` the elements of a row."""

    outer: tuple[str, ...]
    inner: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Sides:
    axes: _Axes
    members: dict[Root, Member]  # by column sum: the member that adds up its parts


def _sides(dependencies: Dependencies, columns: Group, sums: list[Root], rows: Group) -> _Sides | None:
    if (
        len(rows.members) + len(sums) > MAX_MEMBERS
        or runs_in_order(rows)
        or any(root in rows.members for root in sums)
    ):
        return None
    members: dict[Root, Member] = {}
    found: set[_Axes] = set()
    for root in sums:
        side = _side(root)
        apart = reads_what_is_made(rows, side) or dependencies.order.keeps_apart(rows, side)
        placed = None if apart else _placed(rows, side)
        if placed is None:
            return None
        members[root], axes = placed
        found.add(axes)
    if len(found) > 1:
        return None
    (axes,) = found
    if not _suits(rows, axes, members) or not _may_run_together(dependencies, columns, sums, rows):
        return None
    return _Sides(axes, members)


def _side(root: Root) -> Root:
    """The root that adds the element of each position to the sum of its part."""
    value = root.value
    assert isinstance(value, Reduce)
    return Root(
        root.number,
        PartSum(value.source, value.dims),
        axes=root.axes,
        ranges=root.ranges,
        reads=root.reads,
        loads=root.loads,
        cycles=root.cycles,
        part=root.part,
    )


def _placed(rows: Group, side: Root) -> tuple[Member, _Axes] | None:
    for member in _candidates(rows, side):
        axes = _axes(rows, member)
        if axes is not None:
            return member, axes
    return None


def _candidates(rows: Group, side: Root) -> Iterator[Member]:
    """Places where it walks over the same positions as a member, or reads one."""
    for member in rows.members.values():
        if member.root.domain == side.domain:
            candidate = Member(side, member.coordinates, member.inner)
            if reads_fit(rows, candidate):
                yield candidate
    trial = Group(rows.number, Ranges(dict(rows.ranges.extents)), rows.outer, dict(rows.members))
    fitted = fit(trial, side)
    if fitted is not None and set(fitted.inner) <= set(rows.ranges.extents):
        yield fitted


def _axes(rows: Group, member: Member) -> _Axes | None:
    """The axes that the sum needs outside and inside in the group. None if they cannot be separated."""
    value = member.root.value
    assert isinstance(value, PartSum)
    summed: set[str] = set()
    kept: set[str] = set()
    for dim, index in enumerate(member.coordinates):
        (summed if dim in value.dims else kept).update(
            atom for atom in atoms_of(index) if atom in rows.ranges.extents
        )
    if summed & kept or not summed or not kept:
        return None
    if rows.has_inner:
        return (
            _Axes(rows.outer, member.inner)
            if summed == set(rows.outer) and kept == set(member.inner)
            else None
        )
    if summed | kept != set(rows.outer) or any(other.root.is_reduction for other in rows.members.values()):
        return None
    outer = tuple(name for name in rows.outer if name in summed)
    return _Axes(outer, tuple(name for name in rows.outer if name in kept))


def _suits(rows: Group, axes: _Axes, sides: dict[Root, Member]) -> bool:
    """Whether there are enough rows, and each is long enough and contiguous in memory."""
    if not _at_least(rows, axes.inner, MIN_WIDTH) or not _at_least(rows, axes.outer, MIN_ROWS):
        return False
    places = {
        index for member in (*rows.members.values(), *sides.values()) for index in _places(rows, member)
    }
    strides = {name: {stride_of(index, name) for index in places} for name in axes.inner}
    return any(
        found <= {0, 1} and 1 in found and _at_least(rows, (name,), MIN_LANES)
        for name, found in strides.items()
    )


def _at_least(group: Group, axes: tuple[str, ...], limit: int) -> bool:
    size = ix.product(group.extents(axes))
    return not isinstance(size, int) or size >= limit


def _places(group: Group, member: Member) -> Iterator[Index]:
    """The elements that the member reads and writes, without those at computed places."""
    found: list[Index] = [index for name in member.root.loads for index in elements(group, member, name)]
    axes = {f"x{dim}": index for dim, index in enumerate(member.coordinates)}
    for dep, access in member.root.reads:
        if dep not in group.members and dep.targets:
            place = tuple(group.ranges.substitute(index, axes) for index in access)
            found.append(group.ranges.recombine(dep.targets[0].element(place)))
    found += [
        group.ranges.recombine(target.element(member.value_coordinates))
        for target in member.root.targets
        if not isinstance(member.root.value, PartSum)
    ]
    return (index for index in found if not any(atom.startswith("%") for atom in atoms_of(index)))


def _may_run_together(dependencies: Dependencies, columns: Group, sums: list[Root], rows: Group) -> bool:
    """Whether the rows need no sum, and the operands of the sums come from the rows or from before them."""
    needed = [item for root in sums for item in dependencies.before(root)]
    needed = [item for item in needed if not isinstance(item, Root) or item not in rows.members]
    return not dependencies.need_group([*rows.members, *needed], columns) and not dependencies.need_group(
        needed, rows
    )


# --- parts ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Cut:
    """A part has `size` positions of outer axis number `position`, and all positions of the axes after it.

    `whole`: whether the size divides the axis.
    """

    position: int
    size: int
    whole: bool = True


def _cut(rows: Group, axes: _Axes, members: list[Member]) -> _Cut | None:
    """The cut with a number of rows nearest to the wanted one."""
    extents = rows.extents(axes.outer)
    total = ix.product(extents)
    wanted = min(max(total // PARTS, MIN_PART), MAX_PART) if isinstance(total, int) else ANY_PART
    found: list[tuple[float, _Cut]] = []
    behind = 1  # rows for each position of the axis
    for position in reversed(range(len(extents))):
        extent = extents[position]
        for size in _divisors(extent) if isinstance(extent, int) else [1]:
            length = size * behind
            if MIN_PART // 2 <= length <= MAX_PART * 2:
                found.append((max(length / wanted, wanted / length), _Cut(position, size)))
        if not isinstance(extent, int):
            break
        behind *= extent
    if found:
        return min(found, key=lambda item: item[0])[1]
    alone = len(extents) == 1 and not _is_divided(rows, axes.outer[0], members)
    return _Cut(0, wanted, whole=False) if alone else None


def _divisors(extent: int) -> list[int]:
    return [size for size in range(1, min(2 * MAX_PART + 1, extent)) if extent % size == 0]


def _is_divided(rows: Group, name: str, members: list[Member]) -> bool:
    """Whether an index divides the axis. The cut would conflict with that division."""
    indices = [index for member in members for index in (*member.coordinates, *_places(rows, member))]
    return any(
        name in atoms_of(division.numerator) for index in indices for division in ix.divisions_of(index)
    )


def _join(lowering: Lowering, dependencies: Dependencies, columns: Group, rows: Group, sides: _Sides) -> bool:
    """Add the sums to the group of rows. False if the rows cannot be cut into parts."""
    members = [*rows.members.values(), *sides.members.values()]
    if rows.parts is None:
        cut = _cut(rows, sides.axes, members)
        if cut is None:
            return False
        _divide(rows, sides.axes, cut, members)
    assert rows.parts is not None
    for root, member in sides.members.items():
        value = root.value
        shape = (rows.parts.count, *value.shape)
        dtype = TORCH_DTYPES[value.dtype]
        part = lowering.new_buffer(f"t{root.number}_part", "temp", dtype, shape, ix.row_major(shape))
        member.root.targets.append(part)
        rows.members[member.root] = member
        dependencies.group_of[member.root] = rows
        _sum_parts(columns, root, member.root, part)
    return True


def _divide(rows: Group, axes: _Axes, cut: _Cut, members: list[Member]) -> None:
    """Cut the outer axes of the group. `members` are its future members."""
    name, ranges = axes.outer[cut.position], rows.ranges
    before, behind = axes.outer[: cut.position], axes.outer[cut.position + 1 :]
    length: ir.Expr | None = None
    if cut.size == 1:
        before = (*before, name)
    else:
        extent, high, low = ranges.extents.pop(name), f"{name}_p", f"{name}_e"
        start = ix.times(
            ranges.axis(high, ranges.floordiv(ix.plus(extent, cut.size - 1), cut.size)), cut.size
        )
        whole = {name: ix.plus(start, ranges.axis(low, cut.size))}
        if not cut.whole:
            length = ir.Binary("min", ir.Const(cut.size), to_expr(ix.minus(extent, start)))
        for member in members:
            member.coordinates = tuple(ranges.substitute(index, whole) for index in member.coordinates)
        before, behind = (*before, high), (low, *behind)
    if not rows.has_inner:
        for member in members:
            member.inner = axes.inner
    rows.outer = (*before, *behind)
    number, row = (_flat(rows, names) for names in (before, behind))
    rows.parts = RowParts(behind, number, ix.product(rows.extents(before)), row, length)


def _flat(group: Group, names: tuple[str, ...]) -> Index:
    return flatten(tuple(map(ix.axis, names)), group.extents(names), group.ranges)


def _sum_parts(columns: Group, root: Root, side: Root, part: Stored) -> None:
    """`root`, the sum of a column, becomes the sum of its parts."""
    old = columns.members[root]
    assert isinstance(root.value, Reduce)
    kept = tuple(index for dim, index in enumerate(old.coordinates) if dim not in root.value.dims)
    root.value = Reduce("sum", part, (0,))
    root.ranges = Ranges()
    root.axes = tuple(root.ranges.axis(f"x{dim}", size) for dim, size in enumerate(part.shape))
    root.reads, root.loads, root.cycles = [(side, root.axes)], {}, 0
    (index,), inner = columns.inner_axes((part.shape[0],))
    columns.members[root] = Member(root, (index, *kept), inner)
