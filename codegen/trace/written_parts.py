"""What a view shows of memory that was written through other views.

In:  a view, and the node of its parent's contents, made of writes to parts (`functionalise.SCATTERS`).
Out: `Shown`: the result that was written there last, or the contents without the writes to other parts.

    g = x + 1; a, b = g[:2], g[2:]; a.sigmoid_(); b.tanh_(); a * b

        g is    slice_scatter(slice_scatter(add, sigmoid, 0, 0, 2), tanh, 0, 2, 4)
        a is    slice(g, 0, 0, 2)   ->   sigmoid
        b is    slice(g, 0, 2, 4)   ->   tanh

Without that a kernel computes each of the parts at all places, and nobody else may read the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import accumulate
from typing import Any, NamedTuple

import torch
from torch import fx

from codegen.trace.view_call import ViewCall

aten = torch.ops.aten


class Shown(NamedTuple):
    """The contents to apply the view to; `is_view`: the view has been applied."""

    node: fx.Node
    is_view: bool


class Part(NamedTuple):
    """The indices from `start` to `stop` along `dim`. `selects`: one of them, without the dim."""

    dim: int
    start: int
    stop: int
    selects: bool

    def is_apart_from(self, other: Part) -> bool:
        return self.dim == other.dim and (self.stop <= other.start or other.stop <= self.start)


def shown(
    view: ViewCall,
    tensor: torch.Tensor,
    parent: torch.Tensor,
    contents: fx.Node,
    writes: Collection[fx.Node],
) -> Shown:
    """What `tensor`, the view of `parent`, shows of the contents of the parent.

    `writes` to this memory are looked through. A `slice_scatter` of the program is a memory of its own: what
    it was made of is that of other tensors, which results must not share.
    """
    part = part_of(view, parent)
    while part is not None and contents in writes:
        written = _part_written(contents, parent)
        if written == part and _is_like(contents.args[1], tensor):
            return Shown(contents.args[1], True)  # type: ignore[arg-type]
        if written is None or not part.is_apart_from(written):
            break
        contents = contents.args[0]  # type: ignore[assignment]
    return Shown(contents, False)


def part_of(view: ViewCall, parent: torch.Tensor) -> Part | None:
    """None: it is no part along one dim, or its place is not known to be the same in each call."""
    find = _PARTS.get(view.func)
    return None if find is None else find(parent, view.arguments(), view.index or 0)


def _part_written(node: fx.Node, parent: torch.Tensor) -> Part | None:
    view = _WRITTEN.get(node.target)
    return None if view is None else part_of(ViewCall(view, node.args[2:], node.kwargs), parent)


def _is_like(node: Any, tensor: torch.Tensor) -> bool:
    value = node.meta["val"]
    return bool(
        value.dtype is tensor.dtype and value.shape == tensor.shape and value.stride() == tensor.stride()
    )


# --- views of parts: (parent, arguments by name, number of the result) -> the part -------------------------


def _selected(parent: torch.Tensor, given: dict[str, Any], index: int) -> Part | None:
    return _one(parent, given["dim"], given["index"])


def _unbound(parent: torch.Tensor, given: dict[str, Any], index: int) -> Part | None:
    return _one(parent, given["dim"], index)


def _one(parent: torch.Tensor, dim: int, index: Any) -> Part | None:
    size = parent.shape[dim]
    if not _are_numbers(size, index):
        return None
    place = index % size
    return Part(dim % parent.dim(), place, place + 1, selects=True)


def _sliced(parent: torch.Tensor, given: dict[str, Any], index: int) -> Part | None:
    size, start, end = parent.shape[given["dim"]], given["start"] or 0, given["end"]
    if given["step"] != 1 or not _are_numbers(size, start, end or 0):
        return None
    start, stop, _ = slice(start, end).indices(size)
    return Part(given["dim"] % parent.dim(), start, max(start, stop), selects=False)


def _split(parent: torch.Tensor, given: dict[str, Any], index: int) -> Part | None:
    size, each = parent.shape[given["dim"]], given["split_size"]
    if not _are_numbers(size, each):
        return None
    return Part(given["dim"] % parent.dim(), each * index, min(size, each * (index + 1)), selects=False)


def _split_with_sizes(parent: torch.Tensor, given: dict[str, Any], index: int) -> Part | None:
    sizes = given["split_sizes"]
    if not _are_numbers(*sizes):
        return None
    start, stop = list(accumulate(sizes, initial=0))[index : index + 2]
    return Part(given["dim"] % parent.dim(), start, stop, selects=False)


def _are_numbers(*values: Any) -> bool:
    return all(type(value) is int for value in values)


_PARTS: dict[Any, Callable[[torch.Tensor, dict[str, Any], int], Part | None]] = {
    aten.select.int: _selected,
    aten.unbind.int: _unbound,
    aten.slice.Tensor: _sliced,
    aten.split.Tensor: _split,
    aten.split_with_sizes.default: _split_with_sizes,
}
#: a write to a part, and the view of the part: behind the contents and what is written, their arguments agree
_WRITTEN: dict[Any, Any] = {
    aten.select_scatter.default: aten.select.int,
    aten.slice_scatter.default: aten.slice.Tensor,
}
