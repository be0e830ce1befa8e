"""From a group to its draft: the statements that compute the members, each value once.

In:  a group whose members have coordinates over common axes.
Out: a `Draft`: phases (loops over inner axes) in an order that respects the reductions, with row statements
     between them.

    softmax: row: acc a0 | phase r0: load x, update a0 | row: read a0, acc a1
             | phase r0: load x, sub, exp, update a1 | ...

A value that depends only on outer axes is a row statement, even if a phase asked for it. A phase reuses a
member's value that it has already computed at the same indices. A later phase loads the value if it was
stored, and computes it again if not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from capture_records import dataclass
from codegen.kernel import ir
from codegen.kernel.index_algebra import Index, atoms_of, indirect, plus
from codegen.lower.ordered_writes import NO_VERSIONS, MemoryVersion
from codegen.lower.tensor_expr import (
    Checked,
    Fill,
    Gather,
    Indices,
    Map,
    Padded,
    PartSum,
    Position,
    Reduce,
    Scan,
    Scattered,
    Shape,
    SizeValue,
    Stored,
    TensorExpr,
    View,
    flatten,
)
from codegen.passes.draft.draft import Draft, DraftIndex, DraftLoad, DraftStore, Phase, Statement
from codegen.passes.group.group import Group, Member
from codegen.passes.group.roots import Root, padded_indices

_Key = tuple[object, ...]


def draft_group(
    group: Group, roots: Mapping[TensorExpr, Root], versions: Mapping[str, MemoryVersion] = NO_VERSIONS
) -> Draft:
    """The draft of one kernel, still without a name.

    It reads roots of other groups from their first target. `versions` of an input's memory get the input's
    name.
    """
    draft = Draft("", group.outer, group.ranges)
    if group.parts is not None:
        draft.part_rows, draft.part_length = group.parts.rows, group.parts.length
    writer = _Writer(group, roots, draft)
    for members in _phases(group):
        writer.run_phase(members)
    draft.rename_buffers({name: version.input for name, version in versions.items()})
    return draft


def _phases(group: Group) -> list[list[Member]]:
    """The members by loop. Earlier stages come first, and row values come first in a stage.

    A member that is neither stored nor a reduction is emitted where its readers need it.
    """
    stages = group.stages()
    phases: dict[tuple[int, bool, tuple[str, ...]], list[Member]] = {}
    for root, member in sorted(group.members.items(), key=lambda item: item[0].number):
        if root.targets or root.is_reduction:
            key = (stages[root], bool(member.inner), member.inner)
            phases.setdefault(key, []).append(member)
    ordered = sorted(phases.items(), key=lambda item: item[0][:2])
    return [members for _, members in ordered]


@dataclass(slots=True)
class _Scope:
    """The statements of a block, and the numbers of its known values."""

    statements: list[Statement] = field(default_factory=list)
    known: dict[_Key, int] = field(default_factory=dict)


class _Writer:
    def __init__(self, group: Group, roots: Mapping[TensorExpr, Root], draft: Draft) -> None:
        self.group = group
        self.roots = roots
        self.draft = draft
        self.row = _Scope()
        self.inner = _Scope()
        self.outer_axes = set(group.outer)
        self.varying: dict[int, bool] = {}  # by value: whether it depends on inner axes
        self.results: dict[Root, int] = {}  # the row values of members
        self.finished: set[Root] = set()
        self.accumulators = 0
        self.checks = 0

    # --- phases

    def run_phase(self, members: list[Member]) -> None:
        self.inner = _Scope()
        closing: list[tuple[Member, str]] = []
        for member in members:
            if member.root.is_reduction:
                closing += self._reduce(member)
            elif isinstance(member.root.value, Scan):
                self._scan(member, member.root.value)
            elif isinstance(member.root.value, Scattered):
                self._scatter(member, member.root.value)
            elif isinstance(member.root.value, PartSum):
                self._add_to_part(member, member.root.value)
            else:
                self._store(member, self._compute(member))
        self.draft.body += self.row.statements
        self.row.statements = []
        if self.inner.statements:
            self.draft.body.append(Phase(members[0].inner, self.inner.statements))
        for member, accumulator in closing:
            self._close(member, accumulator)
        self.finished.update(member.root for member in members)
        self.draft.body += self.row.statements
        self.row.statements = []

    def _compute(self, member: Member) -> int:
        number = self._parts(member.root.value, member.coordinates, None)
        self._remember(member.root.value, member.coordinates, number)
        if member.is_row:
            self.results[member.root] = number
        return number

    def _remember(self, value: TensorExpr, indices: Indices, number: int) -> None:
        scope = self.inner if self.varying[number] else self.row
        scope.known[(value, indices, None)] = number

    def _store(self, member: Member, number: int) -> None:
        for target in member.root.targets:
            self._buffer(target.buffer, target.dtype)
            self.draft.written.add(target.buffer)
            store = DraftStore(target.buffer, self._element(target, member.value_coordinates), number)
            (self.inner if member.inner and not member.root.is_reduction else self.row).statements.append(
                store
            )

    def _scatter(self, member: Member, value: Scattered) -> None:
        place = self._places(value, value.into, member.coordinates, None)
        number = self.value(value.source, member.coordinates)
        self.draft.in_order = True
        for target in member.root.targets:
            self._buffer(target.buffer, target.dtype)
            self.draft.written.add(target.buffer)
            store = DraftStore(target.buffer, self._element(target, place), number, value.combine)
            self.row.statements.append(store)

    def _add_to_part(self, member: Member, value: PartSum) -> None:
        """Add to the sum of a part. The first row of a part starts with zero."""
        parts, (target,) = self.group.parts, member.root.targets
        assert parts is not None
        kept = (index for dim, index in enumerate(member.coordinates) if dim not in value.dims)
        place = self._element(target, (parts.number, *kept))
        number = self.value(value.source, member.coordinates)
        is_first = self._compare("eq", parts.row, 0)
        zero = self._constant(value.dtype, 0.0)
        self._buffer(target.buffer, target.dtype)
        self.draft.written.add(target.buffer)
        old = self._number(value.dtype, True)
        self.inner.statements.append(DraftLoad(old, target.buffer, place, value.dtype))
        kept_sum = self._op("where", (is_first, zero, old), value.dtype)
        total = self._op("add", (kept_sum, number), value.dtype)
        self.inner.statements.append(DraftStore(target.buffer, place, total))

    def _scan(self, member: Member, value: Scan) -> None:
        number = self.value(value.source, member.coordinates)
        if member.inner:
            name = self._accumulator(value.combine, value.source.dtype)
            step = ir.ScanStep(self._number(value.source.dtype, True), name, number, value.source.dtype)
            self.inner.statements.append(step)
            number = step.number
        if value.dtype != value.source.dtype:
            number = self._op("cast", (number,), value.dtype)
        self._store(member, number)

    def _accumulator(self, combine: str, dtype: str) -> str:
        name = f"a{self.accumulators}"
        self.accumulators += 1
        self.row.statements.append(ir.Accumulator(name, combine, dtype))
        return name

    def _reduce(self, member: Member) -> list[tuple[Member, str]]:
        """Update an accumulator. A reduction over one element needs none."""
        value = member.root.value
        assert isinstance(value, Reduce)
        if not member.inner:
            number = (
                self._constant("i64", 0)
                if value.combine.startswith("arg")
                else self.value(value.source, member.coordinates)
            )
            self.results[member.root] = number
            self._store(member, number)
            return []
        number = self.value(value.source, member.coordinates)
        name = self._accumulator(value.combine, value.source.dtype)
        position = self._reduced_number(member) if value.combine.startswith("arg") else None
        self.inner.statements.append(ir.Update(name, number, position))
        return [(member, name)]

    def _reduced_number(self, member: Member) -> int:
        value = member.root.value
        assert isinstance(value, Reduce)
        indices = tuple(member.coordinates[dim] for dim in value.dims)
        return self._index_value(flatten(indices, value.reduced_shape, self.group.ranges))

    def _close(self, member: Member, accumulator: str) -> None:
        number = self._number(member.root.value.dtype, False)
        self.row.statements.append(ir.ReadAccumulator(number, accumulator, member.root.value.dtype))
        self.results[member.root] = number
        self._store(member, number)

    # --- values

    def value(self, value: TensorExpr, indices: Indices, mask: int | None = None) -> int:
        """The number of the element of `value` at `indices`."""
        key = (value, indices, mask)
        found = self.inner.known.get(key)
        if found is None:
            found = self.row.known.get(key)
        if found is None:
            root = self.roots.get(value)
            found = self._parts(value, indices, mask) if root is None else self._of_root(root, indices, mask)
            (self.inner if self.varying[found] else self.row).known[key] = found
        return found

    def _of_root(self, root: Root, indices: Indices, mask: int | None) -> int:
        member = self.group.members.get(root)
        if member is None:
            return self._load(root.targets[0], indices, mask)
        if root in self.results:
            return self.results[root]
        unmasked = self.inner.known.get((root.value, indices, None))
        if unmasked is not None:
            return unmasked
        if root.targets and root in self.finished:
            return self._load(root.targets[0], indices, mask)
        if member.is_row:  # once for all readers; each may have a mask of its own
            return self._compute(member)
        return self._parts(root.value, indices, mask)

    def _parts(self, value: TensorExpr, indices: Indices, mask: int | None) -> int:
        return _EMIT[type(value)](self, value, indices, mask)

    def _map(self, value: Map, indices: Indices, mask: int | None) -> int:
        args = tuple(self.value(arg, indices, mask) for arg in value.args)
        return self._op(value.op, args, value.dtype)

    def _view(self, value: View, indices: Indices, mask: int | None) -> int:
        return self.value(value.base, value.transform.apply(indices, self.group.ranges), mask)

    def _stored(self, value: Stored, indices: Indices, mask: int | None) -> int:
        return self._load(value, indices, mask)

    def _fill(self, value: Fill, indices: Indices, mask: int | None) -> int:
        return self._constant(value.dtype, value.value)

    def _position(self, value: Position, indices: Indices, mask: int | None) -> int:
        return self._index_value(indices[value.dim])

    def _size(self, value: SizeValue, indices: Indices, mask: int | None) -> int:
        return self._index_value(value.value)

    def _checked(self, value: Checked, indices: Indices, mask: int | None) -> int:
        self._check(self.value(value.condition, indices, mask), mask)
        return self.value(value.value, indices, mask)

    def _padded(self, value: Padded, indices: Indices, mask: int | None) -> int:
        place = padded_indices(value, indices)
        inside = mask
        for index, size, whole, begin in zip(place, value.base.shape, value.shape, value.begin, strict=True):
            if begin != 0 and (not isinstance(begin, int) or begin > 0):
                inside = self._and(inside, self._compare("ge", index, 0))
            if plus(begin, size) != whole:
                inside = self._and(inside, self._compare("lt", index, size))
        if inside is None:
            return self.value(value.base, place)
        number = self.value(value.base, place, inside)
        return self._op("where", (inside, number, self._constant(value.dtype, value.fill)), value.dtype)

    def _gather(self, value: Gather, indices: Indices, mask: int | None) -> int:
        place = self._places(value, value.base.shape, indices, mask)
        return self.value(value.base, place, mask)

    def _places(self, value: Gather | Scattered, shape: Shape, indices: Indices, mask: int | None) -> Indices:
        """The place of the element at computed coordinates, in a tensor of that shape."""
        place: list[Index] = []
        for coordinate, size in zip(value.coordinates, shape, strict=True):
            if isinstance(coordinate, int):
                place.append(indices[coordinate])
            else:
                number = self.value(coordinate, indices, mask)
                place.append(indirect(self._looked_up(number, size, value, mask)))
        return tuple(place)

    def _looked_up(self, number: int, size: Index, value: Gather | Scattered, mask: int | None) -> int:
        """The checked index. Negative indices count from the end."""
        extent = self._index_value(size)
        if value.wraps:
            negative = self._op("lt", (number, self._constant("i64", 0)), "b8")
            number = self._op("where", (negative, self._op("add", (number, extent), "i64"), number), "i64")
        if value.trusted:
            return number
        low = self._op("ge", (number, self._constant("i64", 0)), "b8")
        high = self._op("lt", (number, extent), "b8")
        self._check(self._op("and", (low, high), "b8"), mask)
        return number

    # --- statements

    def _number(self, dtype: str, varying: bool) -> int:
        number = self.draft.new_value(dtype)
        self.varying[number] = varying
        return number

    def _intern(self, key: _Key, dtype: str, varying: bool) -> tuple[int, bool]:
        scope = self.inner if varying else self.row
        found = scope.known.get(key)
        if found is not None:
            return found, False
        number = self._number(dtype, varying)
        scope.known[key] = number
        return number, True

    def _append(self, statement: Statement, varying: bool) -> None:
        (self.inner if varying else self.row).statements.append(statement)

    def _op(self, op: str, args: tuple[int, ...], dtype: str) -> int:
        varying = any(self.varying[arg] for arg in args)
        number, new = self._intern((op, args, dtype), dtype, varying)
        if new:
            self._append(ir.Op(number, op, args, dtype), varying)
        return number

    def _constant(self, dtype: str, value: float | int | bool) -> int:
        number, new = self._intern(("const", dtype, repr(value)), dtype, False)
        if new:
            self._append(ir.ConstOp(number, value, dtype), False)
        return number

    def _index_value(self, index: Index) -> int:
        if isinstance(index, int):
            return self._constant("i64", index)
        varying = self._varies(index)
        number, new = self._intern(("index", index), "i64", varying)
        if new:
            self._append(DraftIndex(number, index), varying)
        return number

    def _element(self, stored: Stored, indices: Indices) -> Index:
        return self.group.ranges.recombine(stored.element(indices))

    def _load(self, stored: Stored, indices: Indices, mask: int | None) -> int:
        index = self._element(stored, indices)
        varying = self._varies(index) or (mask is not None and self.varying[mask])
        number, new = self._intern(("load", stored.buffer, index, mask), stored.dtype, varying)
        if new:
            self._buffer(stored.buffer, stored.dtype)
            self._append(DraftLoad(number, stored.buffer, index, stored.dtype, mask), varying)
        return number

    def _varies(self, index: Index) -> bool:
        for atom in atoms_of(index):
            if atom.startswith("%"):
                if self.varying[int(atom[1:])]:
                    return True
            elif not atom.startswith("$") and atom not in self.outer_axes:
                return True
        return False

    def _compare(self, op: str, index: Index, bound: Index) -> int:
        """`index op bound`, for index expressions."""
        return self._op(op, (self._index_value(index), self._index_value(bound)), "b8")

    def _and(self, left: int | None, right: int) -> int:
        return right if left is None else self._op("and", (left, right), "b8")

    def _check(self, condition: int, mask: int | None) -> None:
        if mask is not None:
            condition = self._op("or", (condition, self._op("not", (mask,), "b8")), "b8")
        key = ("check", condition)
        scope = self.inner if self.varying[condition] else self.row
        if key not in scope.known:
            scope.known[key] = condition
            self.checks += 1
            scope.statements.append(ir.Check(condition, self.checks))

    def _buffer(self, name: str, dtype: str) -> None:
        self.draft.buffers.setdefault(name, dtype)


_EMIT: dict[type, Callable[[_Writer, Any, Indices, int | None], int]] = {
    Map: _Writer._map,
    View: _Writer._view,
    Stored: _Writer._stored,
    Fill: _Writer._fill,
    Position: _Writer._position,
    SizeValue: _Writer._size,
    Checked: _Writer._checked,
    Padded: _Writer._padded,
    Gather: _Writer._gather,
}
