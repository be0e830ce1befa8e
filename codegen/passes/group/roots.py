"""Which definitions become members of kernels, and what each of them reads.

In:  the stores of a `Lowering`.
Out: `Root`s in topological order. A root is a definition that is stored, that reduces, or that is too
     expensive to compute again in each of its users. All other definitions are inlined into their users.

    exp = exp(x - amax(x)); out = exp / sum(exp)
    ->   roots: amax, exp, sum, out      (x - amax is inlined into exp)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from capture_records import dataclass
from codegen.kernel.index_algebra import Index, Ranges, indirect, minus, row_major
from codegen.kernel.ops import OPS
from codegen.lower.tensor_expr import (
    Assignment,
    Checked,
    Gather,
    Indices,
    Map,
    Padded,
    Reduce,
    Scan,
    Scattered,
    Shape,
    Stored,
    TensorExpr,
    View,
    children,
    copy_of,
    numel,
    topological,
)
from codegen.passes.group.alike import Forms

CHEAP = 6  # cycles for each element: up to this, each user computes a definition again


@dataclass(eq=False, slots=True)
class Root:
    """A definition that a kernel computes.

    targets:  the places where it is stored; without one it is stored only if another kernel reads it
    axes:     the index in the shape of the value (for a Reduce: of its source)
    reads:    the roots that it reads, and where, in terms of `axes`
    loads:    the elements of buffers that it reads, in terms of `axes`
    cycles:   for each element, to compute it from memory and other roots
    form:     see `codegen.passes.group.alike`
    apart:    it has a kernel of its own
    own:      what `own_definitions` has found
    part:     the number of the alike part that it belongs to (`codegen.lower.alike_parts`)
    """

    number: int
    value: TensorExpr
    targets: list[Stored] = field(default_factory=list)
    axes: Indices = ()
    ranges: Ranges = field(default_factory=Ranges)
    reads: list[tuple[Root, Indices]] = field(default_factory=list)
    loads: dict[str, set[Index]] = field(default_factory=dict)
    cycles: int = 0
    form: int = -1
    apart: bool = False
    own: list[TensorExpr] | None = None
    part: int | None = None

    @property
    def is_reduction(self) -> bool:
        return isinstance(self.value, Reduce)

    @property
    def domain(self) -> Shape:
        """The shape that `axes` index."""
        return self.value.source.shape if isinstance(self.value, Reduce) else self.value.shape


def own_cycles(value: TensorExpr) -> int:
    """For each element, beside those of the definitions that it uses."""
    if isinstance(value, Map):
        return OPS[value.op].cost
    return 4 if isinstance(value, (Gather, Padded, Checked)) else 0


class _Costs:
    """The cost of definitions.

    cycles:   for each element, to compute the definition from memory and roots
    sources:  the roots and buffers that it reads
    """

    def __init__(self) -> None:
        self.cycles: dict[TensorExpr, int] = {}
        self.sources: dict[TensorExpr, frozenset[TensorExpr]] = {}

    def visit(self, value: TensorExpr, is_root: bool) -> None:
        below = children(value)
        self.cycles[value] = 0 if is_root else own_cycles(value) + sum(self.cycles[child] for child in below)
        if is_root or isinstance(value, Stored):
            self.sources[value] = frozenset((value,))
        elif below:
            self.sources[value] = frozenset().union(*(self.sources[child] for child in below))
        else:
            self.sources[value] = frozenset()

    def is_dear(self, value: TensorExpr) -> bool:
        full = [source for source in self.sources[value] if value.shape and not _is_smaller(source, value)]
        return self.cycles[value] > CHEAP or len(full) > 1


def _is_smaller(source: TensorExpr, value: TensorExpr) -> bool:
    """Whether `source` is broadcast over `value` (a row's mean, a bias) and so is cheap to read again."""
    ours, theirs = numel(source.shape), numel(value.shape)
    if isinstance(ours, int) and isinstance(theirs, int):
        return ours < theirs
    return len(source.shape) < len(value.shape)


def definitions(stores: list[Assignment]) -> list[TensorExpr]:
    """All definitions. The same graph has them in the same order each time."""
    return topological([_stored_value(store.value) for store in stores])


def cycles_to_compute(value: TensorExpr, roots: Mapping[TensorExpr, Root]) -> int:
    """For each element, from memory and roots."""
    below = (child for child in children(value) if child not in roots)
    return own_cycles(value) + sum(cycles_to_compute(child, roots) for child in below)


def find_roots(stores: list[Assignment], wanted: frozenset[int] = frozenset()) -> dict[TensorExpr, Root]:
    """Roots in topological order, with their reads. `wanted`: definitions that have to be roots."""
    stores = [Assignment(_stored_value(store.value), store.target) for store in stores]
    order = topological([store.value for store in stores])
    forced = {order[place] for place in wanted}
    uses: dict[TensorExpr, int] = {}
    for value in order:
        for child in set(children(value)):
            uses[child] = uses.get(child, 0) + 1
    targets: dict[TensorExpr, list[Stored]] = {}
    for store in stores:
        targets.setdefault(store.value, []).append(store.target)
    uses = _through_views(order, uses)
    costs = _Costs()
    forms = Forms()
    roots: dict[TensorExpr, Root] = {}
    for value in order:
        costs.visit(value, False)
        forms.visit(value, children(value))
        shared = uses.get(value, 0) > 1 and isinstance(value, (Map, Gather, Checked)) and costs.is_dear(value)
        if value in targets or isinstance(value, (Reduce, Scan)) or shared or value in forced:
            roots[value] = Root(
                len(roots), value, targets.get(value, []), cycles=costs.cycles[value], form=forms.of(value)
            )
            costs.visit(value, True)
            forms.store(value, row_major(value.shape))
    for root in roots.values():
        _collect_reads(root, roots)
    return roots


def _stored_value(value: TensorExpr) -> TensorExpr:
    """A stored leaf is copied. Its other users read the leaf itself."""
    return value if children(value) else copy_of(value)


def _through_views(order: list[TensorExpr], uses: dict[TensorExpr, int]) -> dict[TensorExpr, int]:
    """The uses of each definition. A view that is used twice uses its base twice."""
    total = dict(uses)
    for value in reversed(order):
        if isinstance(value, View) and total.get(value, 0) > 1:
            total[value.base] = total.get(value.base, 0) + total[value] - 1
    return total


def _collect_reads(root: Root, roots: dict[TensorExpr, Root]) -> None:
    root.axes = tuple(root.ranges.axis(f"x{dim}", size) for dim, size in enumerate(root.domain))
    reader = _Reader(root, roots)
    if isinstance(root.value, Reduce):
        reader.read(root.value.source, root.axes)
    else:
        reader.read_parts(root.value, root.axes)
    if isinstance(root.value, Scattered):  # it keeps the other elements, so the buffer must exist before
        for target in root.targets:
            root.loads.setdefault(target.buffer, set())


def own_definitions(root: Root, roots: Mapping[TensorExpr, Root]) -> list[TensorExpr]:
    """The definitions that the kernel computes for the root: its own definition, down to other roots.

    `roots`: all of them. They stay the same once they are found.
    """
    if root.own is None:
        root.own = [root.value]
        seen = {root.value}
        for value in root.own:  # it grows on the way
            new = [child for child in children(value) if child not in seen and child not in roots]
            seen.update(new)
            root.own.extend(new)
    return root.own


class _Reader:
    """Walks through a definition at symbolic indices, as the emitter will."""

    def __init__(self, root: Root, roots: dict[TensorExpr, Root]) -> None:
        self.root = root
        self.roots = roots
        self.seen: set[tuple[TensorExpr, Indices]] = set()
        self.unknown = 0

    def read(self, value: TensorExpr, indices: Indices) -> None:
        key = (value, indices)
        if key in self.seen:
            return
        self.seen.add(key)
        found = self.roots.get(value)
        if found is not None:
            self.root.reads.append((found, indices))
        else:
            self.read_parts(value, indices)

    def read_parts(self, value: TensorExpr, indices: Indices) -> None:
        if isinstance(value, Map):
            for arg in value.args:
                self.read(arg, indices)
        elif isinstance(value, View):
            self.read(value.base, value.transform.apply(indices, self.root.ranges))
        elif isinstance(value, Stored):
            place = self.root.ranges.recombine(value.element(indices))
            self.root.loads.setdefault(value.buffer, set()).add(place)
        elif isinstance(value, Checked):
            self.read(value.condition, indices)
            self.read(value.value, indices)
        elif isinstance(value, Padded):
            self.read(value.base, padded_indices(value, indices))
        elif isinstance(value, Gather):
            self._wait_for(value.checks)
            self.read(
                value.base, tuple(self._coordinate(coordinate, indices) for coordinate in value.coordinates)
            )
        elif isinstance(value, Scan):
            self.read(value.source, indices)
        elif isinstance(value, Scattered):
            self._wait_for(value.checks)
            for coordinate in value.coordinates:
                self._coordinate(coordinate, indices)
            self.read(value.source, indices)

    def _wait_for(self, checks: tuple[str, ...]) -> None:
        """The kernels that check the places run before. Nothing is loaded from what they store."""
        for buffer in checks:
            self.root.loads.setdefault(buffer, set())

    def _coordinate(self, coordinate: int | TensorExpr, indices: Indices) -> Index:
        if isinstance(coordinate, int):
            return indices[coordinate]
        self.read(coordinate, indices)
        self.unknown += 1
        return indirect(-self.unknown)


def padded_indices(value: Padded, indices: Indices) -> Indices:
    """The index in the base of the element at `indices`."""
    return tuple(minus(index, begin) for index, begin in zip(indices, value.begin, strict=True))


def kept_axes(root: Root) -> Indices:
    """The index in the shape of the root's value."""
    if not isinstance(root.value, Reduce):
        return root.axes
    return tuple(index for dim, index in enumerate(root.axes) if dim not in root.value.dims)
