"""The axes of a draft: split to remove divisions, ordered by stride, merged where memory is contiguous.

In:  a new `Draft` with one axis for each dimension of the group.
Out: the same draft with fewer and longer axes. The innermost axis is the last.

    (i0: 16) (i1: 32)   x[i0*32 + i1]   ->   (i1: 512)   x[i1]
    (i0: 24)   w[i0 // 8]               ->   (i0_0: 3) (i0_1: 8)   w[i0_0]
"""

from __future__ import annotations

from collections.abc import Sequence

from codegen.kernel import index_algebra as ix
from codegen.kernel.index_algebra import Index, Poly
from codegen.passes.draft.draft import Draft, DraftIndex, DraftLoad, DraftStore, Indexed
from codegen.passes.group.align import refine


def arrange_axes(draft: Draft) -> None:
    """Split, order and merge the axes. It changes the draft in place."""
    split_axes(draft)
    order_axes(draft)
    merge_axes(draft)


def split_axes(draft: Draft) -> None:
    """Replace each axis that indices divide by a factor of its extent. Two axes take its place."""
    indices = [statement.index for statement in draft.indexed()]
    if not any(
        isinstance(atom, ix.Division) for index in indices for atoms in ix.terms_of(index) for atom in atoms
    ):
        return
    splits = refine(indices, draft.ranges)
    if not splits:
        return
    draft.map_indices(lambda index: draft.ranges.recombine(draft.ranges.substitute(index, splits)))
    draft.outer, draft.part_rows = (_split_names(names, splits) for names in (draft.outer, draft.part_rows))
    for phase in draft.phases():
        phase.axes = _split_names(phase.axes, splits)


def _split_names(names: tuple[str, ...], splits: dict[str, Index]) -> tuple[str, ...]:
    result: list[str] = []
    for name in names:
        if name in splits:
            result += sorted(atom for atom in ix.atoms_of(splits[name]) if not ix.is_of_sizes(atom))
        else:
            result.append(name)
    return tuple(result)


# --- order ------------------------------------------------------------------------------------------------


def order_axes(draft: Draft) -> None:
    """Larger strides go outside. Stores decide; loads decide only where no store uses the axis."""
    accesses = draft.indexed()
    parts = tuple(name for name in draft.outer if name not in draft.part_rows)
    draft.part_rows = _ordered(draft.part_rows, accesses, draft)
    draft.outer = (*_ordered(parts, accesses, draft), *draft.part_rows)
    for phase in draft.phases():
        phase.axes = _ordered(
            phase.axes, [s for s in phase.body if isinstance(s, (DraftLoad, DraftStore, DraftIndex))], draft
        )


def _ordered(axes: tuple[str, ...], accesses: list[Indexed], draft: Draft) -> tuple[str, ...]:
    if len(axes) < 2:
        return axes
    stores = [access for access in accesses if isinstance(access, DraftStore)]
    loads = [access for access in accesses if isinstance(access, DraftLoad)]
    weights = {name: _weight(name, stores) or _weight(name, loads) for name in axes}
    return tuple(sorted(axes, key=lambda name: -weights[name]))


def _weight(name: str, accesses: Sequence[Indexed]) -> int:
    """The largest stride of the axis among the accesses. An unknown stride counts as huge."""
    strides = [_stride(access.index, name) for access in accesses]
    return max((abs(stride) if isinstance(stride, int) else 1 << 40 for stride in strides), default=0)


def _stride(index: Index, name: str) -> Index | None:
    """The factor of the axis in a linear index. None if the axis is in a division or a product of axes."""
    total: Index = 0
    for atoms, coef in ix.terms_of(index).items():
        for atom in atoms:
            if isinstance(atom, ix.Division) and name in ix.atoms_of(atom.numerator):
                return None
        if name in atoms:
            rest = list(atoms)
            rest.remove(name)
            if not all(map(ix.is_of_sizes, rest)):
                return None
            total = ix.plus(total, Poly({tuple(rest): coef}) if rest else coef)
    return total


def stride_of(index: Index, name: str) -> Index | None:
    """Elements from one position of the axis to the next. None if that is not one number."""
    return _stride(index, name)


# --- merge ------------------------------------------------------------------------------------------------


def merge_axes(draft: Draft) -> None:
    """Join neighbouring axes if every access walks over them like over one axis."""
    indices: list[Index] = list(
        dict.fromkeys(s.index for s in draft.indexed() if not isinstance(s.index, int))
    )
    draft.outer = _merged(draft, draft.outer, indices)
    draft.part_rows = tuple(name for name in draft.part_rows if name in draft.outer)
    for axes in dict.fromkeys(phase.axes for phase in draft.phases()):
        joined = _merged(draft, axes, indices)
        for phase in draft.phases():
            if phase.axes == axes:
                phase.axes = joined


def _merged(draft: Draft, axes: tuple[str, ...], indices: list[Index]) -> tuple[str, ...]:
    result = list(axes)
    position = len(result) - 2
    while position >= 0:
        outer, inner = result[position], result[position + 1]
        extent = draft.ranges.extents[inner]
        if not _shared_elsewhere(draft, axes, outer, inner) and all(
            _is_one_walk(index, outer, inner, extent) for index in indices
        ):
            draft.ranges.extents[inner] = ix.times(draft.ranges.extents[outer], extent)
            draft.map_indices(lambda index, gone=outer: _without(index, gone))  # type: ignore[misc]
            indices[:] = [_without(index, outer) for index in indices]
            del result[position]
        position -= 1
    return tuple(result)


def _shared_elsewhere(draft: Draft, axes: tuple[str, ...], outer: str, inner: str) -> bool:
    """Whether another nest has one of the two axes."""
    for other in dict.fromkeys(phase.axes for phase in draft.phases()):
        if other != axes and (outer in other or inner in other):
            return True
    return False


def _is_one_walk(index: Index, outer: str, inner: str, extent: Index) -> bool:
    high, low = _stride(index, outer), _stride(index, inner)
    return high is not None and low is not None and high == ix.times(low, extent)


def _without(index: Index, name: str) -> Index:
    """The index without the terms of the axis. The merged inner axis counts on through them."""
    if isinstance(index, int):
        return index
    terms = {atoms: coef for atoms, coef in index.terms.items() if name not in atoms}
    return ix.plus(Poly(terms), 0) if terms and set(terms) != {()} else terms.get((), 0)
