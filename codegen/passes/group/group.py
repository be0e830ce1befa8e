"""A group: the roots that become one kernel, in the coordinates of common loops.

In:  roots, and their places in the group (`codegen.passes.group.align`).
Out: `Group`, `Member`.

    softmax: outer axes (o0: rows); members: amax (inner axis r0), exp (r0), sum (r0), out (r0)

A member computes its root at `coordinates`. These are expressions over the outer axes, which all members
share, and over the member's own inner axes (for a reduction: the reduced ones). Members meet only within one
iteration of the outer loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from capture_records import dataclass
from codegen.kernel.index_algebra import Index, Ranges, axis, product
from codegen.kernel.ir import Expr
from codegen.lower.tensor_expr import Indices, Reduce, Shape, TensorExpr, flatten
from codegen.passes.graph.failures import may_fail
from codegen.passes.group.roots import Root, own_definitions


@dataclass(eq=False, slots=True)
class Member:
    """`coordinates` index the domain of the root. `inner`: the axes of this member's loop."""

    root: Root
    coordinates: Indices
    inner: tuple[str, ...] = ()

    @property
    def value_coordinates(self) -> Indices:
        """The index in the shape of the root's value."""
        value = self.root.value
        if not isinstance(value, Reduce):
            return self.coordinates
        return tuple(index for dim, index in enumerate(self.coordinates) if dim not in value.dims)

    @property
    def is_row(self) -> bool:
        """Whether the value depends only on the outer axes."""
        return self.root.is_reduction or not self.inner


@dataclass(frozen=True, slots=True)
class RowParts:
    """The outer axes of a group, divided into parts of rows (`codegen.passes.draft.column_sums`).

    Each part adds up the columns of its rows.

    rows:    the axes that count the rows of a part; they are the last outer axes
    number:  the number of the part, of `count`
    row:     the number of the row in its part
    length:  the number of rows of the part, if the last part is shorter
    """

    rows: tuple[str, ...]
    number: Index
    count: Index
    row: Index
    length: Expr | None


@dataclass(eq=False, slots=True)
class Group:
    number: int
    ranges: Ranges = field(default_factory=Ranges)
    outer: tuple[str, ...] = ()
    members: dict[Root, Member] = field(default_factory=dict)
    parts: RowParts | None = None

    def axis(self, prefix: str, extent: Index) -> tuple[Index, tuple[str, ...]]:
        """The index and the name of a new axis. An axis of one position has neither."""
        name = f"{prefix}{len(self.ranges.extents)}"
        if extent == 1:
            return 0, ()
        return self.ranges.axis(name, extent), (name,)

    def extents(self, axes: tuple[str, ...]) -> Shape:
        return tuple(self.ranges.extents[name] for name in axes)

    @property
    def part(self) -> int | None:
        """The alike part of all its members."""
        return next(iter(self.members)).part

    @property
    def rows(self) -> Index:
        """The number of iterations of the outer loops."""
        return product(self.extents(self.outer))

    @property
    def has_inner(self) -> bool:
        return any(member.inner for member in self.members.values())

    def flat(self, member: Member) -> Index:
        """The row-major number of the member's element."""
        return flatten(member.value_coordinates, member.root.value.shape, self.ranges)

    def stages(self) -> dict[Root, int]:
        """The stage of each member: the longest chain of reductions of the group that it waits for."""
        stages: dict[Root, int] = {}
        for root in sorted(self.members, key=lambda root: root.number):
            needed = [stages[dep] + dep.is_reduction for dep, _ in root.reads if dep in stages]
            stages[root] = max(needed, default=0)
        return stages

    def inner_axes(self, extents: Shape) -> tuple[Indices, tuple[str, ...]]:
        """Inner axes of these extents.

        A member with the same extents shares its axes, so the two may share a loop. Otherwise the axes are
        new.
        """
        wanted = tuple(extent for extent in extents if extent != 1)
        names = self._known_inner(wanted)
        if names is None:
            names = tuple(name for extent in wanted for name in self.axis("r", extent)[1])
        remaining = iter(names)
        return tuple(0 if extent == 1 else axis(next(remaining)) for extent in extents), names

    def _known_inner(self, wanted: Shape) -> tuple[str, ...] | None:
        for member in self.members.values():
            if member.inner and self.extents(member.inner) == wanted:
                return member.inner
        return None


def group_may_fail(group: Group, roots: Mapping[TensorExpr, Root]) -> bool:
    """Whether the kernel of the group has checks."""
    return any(may_fail(value) for root in group.members for value in own_definitions(root, roots))
