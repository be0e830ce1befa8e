"""Sums of tensors that are zero but for one part each: the gradient of a tensor that was read part by part.

In:  a functional graph, before it is lowered.
Out: for each such sum the parts, and the additions inside of it, which need no lowering.

    add(add(select_scatter(0, g2, 1, 2), select_scatter(0, g1, 1, 1)), select_scatter(0, g0, 1, 0))
    ->  cat([g0, g1, g2], 1)                                    (the backward of x[:, 0], x[:, 1], x[:, 2])

As a sum each element would be computed once for each part, and all but one of them would be zero. The time
of a loop over n steps would grow with the square of n.

Where parts lie over each other, the piece that they share is their sum, in the order of the additions. An
element that eager adds to a zero is never -0.0: so zero is added here, too.
"""

from __future__ import annotations

from dataclasses import field
from functools import reduce
from itertools import pairwise
from typing import Any

import torch
from torch import fx

from capture_records import dataclass
from codegen.kernel.index_algebra import minus
from codegen.lower.scalar_math import add
from codegen.lower.tensor_expr import TensorExpr, fill, reshape
from codegen.lower.view import strided_slice

aten = torch.ops.aten
ZEROS = frozenset((aten.zeros.default, aten.zeros_like.default, aten.new_zeros.default))
DTYPES = (torch.float32, torch.float64, torch.int32, torch.int64)  # their sums are rounded once, or exact
FEWEST = 4  # parts; the passes cut a result into up to four pieces by themselves (`split_pads`)
MOST_OVER_EACH_OTHER = 2  # parts, on the average over all elements


@dataclass(frozen=True, slots=True)
class Part:
    """`source` covers the places from `start` to `end` along the dim of the sum."""

    source: fx.Node
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SumOfParts:
    """`parts` in the order in which they are added. `inner`: the additions before the last one."""

    dim: int
    size: int
    parts: tuple[Part, ...]
    inner: tuple[fx.Node, ...]

    @property
    def pays(self) -> bool:
        covered = sum(part.end - part.start for part in self.parts)
        return len(self.parts) >= FEWEST and covered <= MOST_OVER_EACH_OTHER * self.size


@dataclass(frozen=True, slots=True)
class SumsOfParts:
    """The sums by their last addition, and all additions before it."""

    sums: dict[fx.Node, SumOfParts] = field(default_factory=dict)
    skipped: frozenset[fx.Node] = frozenset()


@dataclass(frozen=True, slots=True)
class _Term:
    """A tensor of `size` along `dim` that has one `part`, or that is the sum of two such tensors."""

    dim: int
    size: int
    part: Part | None = None


def sums_of_parts(graph: fx.Graph) -> SumsOfParts:
    """The sums of the graph that are not inside of a longer one."""
    terms: dict[fx.Node, _Term] = {}
    for node in graph.nodes:
        if node.op == "call_function":
            term = _part(node) if node.target in _PARTS else _sum(node, terms)
            if term is not None:
                terms[node] = term
    last = [node for node, term in terms.items() if term.part is None and not _is_inner(node, terms)]
    sums = {node: found for node in last if (found := _all_of(node, terms)).pays}
    return SumsOfParts(sums, frozenset(inner for found in sums.values() for inner in found.inner))


def _is_inner(node: fx.Node, terms: dict[fx.Node, _Term]) -> bool:
    return len(node.users) == 1 and next(iter(node.users)) in terms


def _all_of(last: fx.Node, terms: dict[fx.Node, _Term]) -> SumOfParts:
    """It is a loop, because chains of additions may be too long for recursion."""
    parts: list[Part] = []
    inner: list[fx.Node] = []
    pending = [last]
    while pending:
        node = pending.pop()
        part = terms[node].part
        if part is not None:
            parts.append(part)
        else:
            inner.append(node)
            operands: Any = node.args
            pending += reversed(operands)
    return SumOfParts(terms[last].dim, terms[last].size, tuple(parts), tuple(inner[1:]))


def lower_sum(ctx: Any, parts: SumOfParts) -> TensorExpr:
    """The join of the pieces between the borders of all parts."""
    borders = {0, parts.size, *(b for part in parts.parts for b in (part.start, part.end))}
    pieces = [_piece(ctx, parts, start, end) for start, end in pairwise(sorted(borders))]
    from codegen.lower.joining import joined  # lazy: import time

    return joined(ctx, pieces, parts.dim)


def _piece(ctx: Any, parts: SumOfParts, start: int, end: int) -> TensorExpr:
    shape = (*ctx.shape[: parts.dim], end - start, *ctx.shape[parts.dim + 1 :])
    covering = [part for part in parts.parts if part.start <= start and end <= part.end]
    values = [_values(ctx, part, parts.dim, start, end, shape) for part in covering]
    if len(covering) < len(parts.parts):
        values.append(fill(shape, ctx.dtype, 0))
    return reduce(add, values)


def _values(ctx: Any, part: Part, dim: int, start: int, end: int, shape: Any) -> TensorExpr:
    value: TensorExpr = ctx.values[part.source]
    if len(value.shape) < len(shape) or (start, end) == (part.start, part.end):
        return reshape(value, shape)
    return strided_slice(value, dim, minus(start, part.start), 1, end - start)


def _sum(node: fx.Node, terms: dict[fx.Node, _Term]) -> _Term | None:
    """An addition of terms. Additions inside of it have no other user."""
    if node.target is not aten.add.Tensor or node.kwargs or len(node.args) != 2:
        return None
    operands: Any = node.args
    found = [terms.get(operand) if isinstance(operand, fx.Node) else None for operand in operands]
    left, right = found
    if left is None or right is None or (left.dim, left.size) != (right.dim, right.size):
        return None
    vals = [operand.meta["val"] for operand in (node, *operands)]
    if any(val.shape != vals[0].shape or val.dtype not in DTYPES for val in vals):
        return None
    if any(term.part is None and len(operand.users) > 1 for term, operand in zip((left, right), operands)):
        return None
    return _Term(left.dim, left.size)


# --- tensors with one part ------------------------------------------------------------------------------


def _part(node: fx.Node) -> _Term | None:
    """The part of a tensor that is zero around it."""
    base, source = node.args[:2]
    if not isinstance(base, fx.Node) or base.target not in ZEROS or not isinstance(source, fx.Node):
        return None
    val, source_val = node.meta["val"], source.meta["val"]
    dim = (node.args[2] if len(node.args) > 2 else 0) % val.dim()
    size = val.shape[dim]
    if not isinstance(size, int) or source_val.dtype is not val.dtype:
        return None
    place = _PARTS[node.target](node, size)
    return None if place is None else _Term(dim, size, Part(source, *place))


def _selected(node: fx.Node, size: int) -> tuple[int, int] | None:
    index = node.args[3]
    return (index % size, index % size + 1) if isinstance(index, int) else None


def _sliced(node: fx.Node, size: int) -> tuple[int, int] | None:
    bounds = [*node.args[3:], *(None, None, 1)[len(node.args) - 3 :]]
    if node.kwargs or not all(bound is None or isinstance(bound, int) for bound in bounds):
        return None
    start, end, step = slice(*bounds).indices(size)
    return (start, end) if step == 1 and start < end else None


_PARTS: dict[Any, Any] = {
    aten.select_scatter.default: _selected,
    aten.slice_scatter.default: _sliced,
}
