"""The place of a root in a group: its coordinates over the group's axes.

In:  a group, and a root outside of it.
Out: a `Member`, or None if it does not fit. All its reads of other members stay within one iteration of the
     outer loops.

    group: amax of x over rows, outer o0 (512), inner r0 (1024);  root: exp(x - amax)[x0, x1] reads amax[x0]
    ->  coordinates (o0, r0)
"""

from __future__ import annotations

from codegen.kernel.index_algebra import (
    Division,
    Index,
    Ranges,
    atoms_of,
    axis,
    divisions_of,
    exact_quotient,
    is_of_sizes,
    plus,
    terms_of,
    times,
)
from codegen.lower.tensor_expr import Indices, Reduce, Scan, flatten, numel
from codegen.passes.group.group import Group, Member
from codegen.passes.group.roots import Root, kept_axes


def fit(group: Group, root: Root) -> Member | None:
    """The root as a member of the group. The caller adds it. None if it does not fit."""
    candidate = _candidate(group, root)
    if candidate is None or not reads_fit(group, candidate):
        return None
    return candidate


def _candidate(group: Group, root: Root) -> Member | None:
    readings = [(group.members[dep], access) for dep, access in root.reads if dep in group.members]
    if not readings:
        return _beside(group, root)
    place = _reduction_place if root.is_reduction else _map_place
    for member, access in readings:
        candidate = place(group, root, member, access)
        if candidate is not None:
            return candidate
    return None


def _beside(group: Group, root: Root) -> Member | None:
    """A place beside a member with the same domain that the root does not read."""
    for member in group.members.values():
        if root.is_reduction != member.root.is_reduction or root.domain != member.root.domain:
            continue
        if not root.is_reduction or root.value.dims == member.root.value.dims:  # type: ignore[attr-defined]
            return Member(root, member.coordinates, member.inner)
    return None


def _same_number(root: Root, axes: Indices, shape: Indices, member: Member, access: Indices) -> bool:
    """Whether `access` reads the element that has the same row-major number as `axes` in `shape`."""
    if access == axes and member.root.value.shape == shape:
        return True
    if numel(shape) != numel(member.root.value.shape):
        return False
    return flatten(access, member.root.value.shape, root.ranges) == flatten(axes, shape, root.ranges)


def _map_place(group: Group, root: Root, member: Member, access: Indices) -> Member | None:
    shape = root.value.shape
    inner = () if member.is_row else member.inner
    if _same_number(root, root.axes, shape, member, access):
        if member.root.value.shape == shape:
            return Member(root, member.value_coordinates, inner)
        return Member(root, group.ranges.unflatten(group.flat(member), shape), inner)
    return _broadcast_place(group, root, member, access) if member.is_row else None


def _broadcast_place(group: Group, root: Root, member: Member, access: Indices) -> Member | None:
    """The root reads one value of the member for several of its own elements. Those get inner axes."""
    ranges = Ranges(dict(root.ranges.extents))
    flat = flatten(access, member.root.value.shape, ranges)
    splits = refine([flat], ranges)
    flat = ranges.recombine(ranges.substitute(flat, splits))
    strides = mixed_radix(flat, ranges, numel(member.root.value.shape))
    if strides is None:
        return None
    row = group.flat(member)
    mapping = {
        name: digit(group.ranges, row, stride, ranges.extents[name]) for name, stride in strides.items()
    }
    names = {atom for index in root.axes for atom in atoms_of(ranges.substitute(index, splits))}
    free = [name for name in ranges.extents if name in names and name not in mapping]
    indices, inner = group.inner_axes(tuple(ranges.extents[name] for name in free))
    mapping.update(zip(free, indices, strict=True))
    whole = {name: group.ranges.substitute(index, mapping) for name, index in splits.items()} | mapping
    return Member(root, tuple(group.ranges.substitute(index, whole) for index in root.axes), inner)


def _reduction_place(group: Group, root: Root, member: Member, access: Indices) -> Member | None:
    value = root.value
    assert isinstance(value, Reduce)
    if member.is_row and _same_number(root, kept_axes(root), value.shape, member, access):
        kept = iter(group.ranges.unflatten(group.flat(member), value.shape))
        indices, inner = group.inner_axes(value.reduced_shape)
        reduced = iter(indices)
        coordinates = tuple(
            next(reduced if d in value.dims else kept) for d in range(len(value.source.shape))
        )
        return Member(root, coordinates, inner)
    if member.is_row or not _same_number(root, root.axes, value.source.shape, member, access):
        return None
    coordinates = group.ranges.unflatten(group.flat(member), value.source.shape)
    return _reduction_over(root, coordinates, member.inner)


def _reduction_over(root: Root, coordinates: Indices, inner: tuple[str, ...]) -> Member | None:
    """It fits if the reduced coordinates are exactly the inner axes."""
    reduced: set[str] = set()
    for dim, index in enumerate(coordinates):
        atoms = atoms_of(index)
        if dim in root.value.dims:  # type: ignore[attr-defined]
            reduced |= atoms
        elif atoms & set(inner):
            return None
    return Member(root, coordinates, inner) if reduced == set(inner) else None


def rebase(group: Group, root: Root) -> Group | None:
    """The group, with the kept axes of the reduction `root` as its outer axes. None if that is not possible.

    The members of the group must be elementwise, and `root` must read one of them.
    """
    reading = next(((group.members[dep], access) for dep, access in root.reads if dep in group.members), None)
    if (
        reading is None
        or group.has_inner
        or any(member.root.is_reduction for member in group.members.values())
    ):
        return None
    member, access = reading
    flat = flatten(access, member.root.value.shape, root.ranges)
    strides = mixed_radix(flat, root.ranges, numel(member.root.value.shape))
    used = {name for name, extent in root.ranges.extents.items() if extent != 1}
    if strides is None or set(strides) != used or group.flat(member) != _row_number(group):
        return None
    fresh = open_group(group.number, root)
    own = fresh.members.pop(root)
    names = {
        next(iter(atoms_of(x))): index
        for x, index in zip(root.axes, own.coordinates, strict=True)
        if index != 0
    }
    place = fresh.ranges.unflatten(fresh.ranges.substitute(flat, names), group.extents(group.outer))
    mapping = dict(zip(group.outer, place, strict=True))
    for old in group.members.values():
        coordinates = tuple(fresh.ranges.substitute(index, mapping) for index in old.coordinates)
        fresh.members[old.root] = Member(old.root, coordinates, own.inner)
    fresh.members[root] = own
    return fresh if reads_fit(fresh, own) else None


def _row_number(group: Group) -> Index:
    return flatten(tuple(map(axis, group.outer)), group.extents(group.outer), group.ranges)


def open_group(number: int, root: Root) -> Group:
    """A group of only this root. Its kept dimensions are the outer axes (of a scan: the other dimensions)."""
    group = Group(number)
    reduced: tuple[int, ...] = root.value.dims if isinstance(root.value, Reduce) else ()
    if isinstance(root.value, Scan):
        reduced = (root.value.dim,)
    coordinates: list[Index] = []
    inner: tuple[str, ...] = ()
    for dim, size in enumerate(root.domain):
        index, names = group.axis("r" if dim in reduced else "i", size)
        coordinates.append(index)
        if dim in reduced:
            inner += names
        else:
            group.outer += names
    group.members[root] = Member(root, tuple(coordinates), inner)
    return group


def reads_fit(group: Group, candidate: Member) -> bool:
    """Whether all reads of members stay within one iteration of the outer loops.

    A row value must be read at its own place.
    """
    root = candidate.root
    mapping = dict(zip(_axis_names(root), candidate.coordinates, strict=True))
    for dep, access in root.reads:
        member = group.members.get(dep)
        if member is None:
            continue
        place = tuple(group.ranges.substitute(index, mapping) for index in access)
        if place == member.value_coordinates:
            continue
        if member.is_row:
            if flatten(place, dep.value.shape, group.ranges) != group.flat(member):
                return False
        elif not all(
            _same_row(group, have, want, member.inner)
            for have, want in zip(place, member.value_coordinates, strict=True)
        ):
            return False
    return True


def _axis_names(root: Root) -> list[str]:
    return [f"x{dim}" for dim in range(len(root.domain))]


def _same_row(group: Group, have: Index, want: Index, inner: tuple[str, ...]) -> bool:
    """Whether `have` and `want`, one coordinate of a member, differ at most along an inner axis."""
    if have == want:
        return True
    outer = set(group.outer)
    return bool(atoms_of(want) & set(inner)) and not (atoms_of(want) & outer) and not (atoms_of(have) & outer)


# --- axes as digits ---------------------------------------------------------------------------------------


def refine(indices: list[Index], ranges: Ranges) -> dict[str, Index]:
    """Split axes to remove divisions by a factor of their extent: x // 8 -> x_0 where x = x_0 * 8 + x_1.

    The result maps each split axis to its replacement. `ranges` gets the new axes.
    """
    splits: dict[str, Index] = {}
    pending = list(indices)
    while pending:
        index = pending.pop()
        found = next(
            (_splittable(atom, ranges) for atom in divisions_of(index) if _splittable(atom, ranges)), None
        )
        if found is None:
            continue
        name, divisor, count = found
        high, low = f"{name}_0", f"{name}_1"
        del ranges.extents[name]
        joined = plus(times(ranges.axis(high, count), divisor), ranges.axis(low, divisor))
        step = {name: joined}
        splits = {old: ranges.substitute(value, step) for old, value in splits.items()} | step
        pending = [ranges.substitute(item, step) for item in (*pending, index)]
    return splits


def _splittable(atom: Division, ranges: Ranges) -> tuple[str, Index, Index] | None:
    """(axis, factor, quotient) if `atom` divides one axis by a proper factor of its extent."""
    terms = terms_of(atom.numerator)
    if len(terms) != 1:
        return None
    ((atoms, coef),) = terms.items()
    extent = ranges.extents.get(atoms[0]) if len(atoms) == 1 else None
    if coef != 1 or extent is None or extent == atom.divisor:
        return None
    count = exact_quotient(extent, atom.divisor)
    return None if count is None else (atoms[0], atom.divisor, count)


def mixed_radix(flat: Index, ranges: Ranges, total: Index) -> dict[str, Index] | None:
    """The stride of each axis in `flat`. None unless `flat` counts each number below `total` exactly once."""
    strides: dict[str, Index] = {}
    for atoms, coef in terms_of(flat).items():
        axes = [atom for atom in atoms if atom in ranges.extents]
        rest = [atom for atom in atoms if atom not in ranges.extents]
        if len(axes) != 1 or not all(map(is_of_sizes, rest)) or axes[0] in strides:
            return None
        stride: Index = coef
        for atom in rest:
            stride = times(stride, axis(atom))
        strides[axes[0]] = stride
    expected: Index = 1
    remaining = dict(strides)
    while remaining:
        name = next((name for name, stride in remaining.items() if stride == expected), None)
        if name is None:
            return None
        del remaining[name]
        expected = times(expected, ranges.extents[name])
    return strides if expected == total else None


def digit(ranges: Ranges, number: Index, stride: Index, extent: Index) -> Index:
    """(number // stride) % extent."""
    return ranges.mod(ranges.floordiv(number, stride), extent)
