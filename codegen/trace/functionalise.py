"""Functional values of tensors that are written in place: which node holds the present contents of a tensor.

In:  views and writes, in program order; the tracer reports them.
Out: for each tensor its current node; for each written graph input the node to copy into it at the end.

    v = x[0]; v.add_(1); return x * 2
    ->  select = select(x, 0); add = add(select, 1); select_scatter = select_scatter(x, add, 0, 0)
        mul = mul(select_scatter, 2); copy_(x, select_scatter)

All tensors on one memory form a tree of views. Its root is the tensor that was there first. A write to a view
is carried to the root by the inverse of each view. The version of the other views is then too old: each of
them is made again when it is next read.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import field
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from capture_records import dataclass
from codegen.kernel.errors import UntraceableError
from codegen.trace.view_call import ViewCall
from codegen.trace.write_checks import overlaps_itself
from codegen.trace.written_parts import shown

aten = torch.ops.aten
UNSEEN = "a write through Tensor.data, which autograd does not see, to a tensor that a gradient depends on"


@dataclass(slots=True)
class Memory:
    """The state that the views of one storage share.

    `placeholder` is set where the memory belongs to a graph input. `changes`: how often eager raises its
    version. Some operators do not tell autograd that they write (such as batch norm to its running
    statistics).
    """

    version: int = 0
    placeholder: fx.Node | None = None
    changes: int = 0
    last_call: object = None  # the last call that wrote to it
    written_with_grad: bool = False  # in grad mode, so that autograd records the write
    written_without_grad: bool = False
    written_as_data: bool = False  # through `x.data`
    maker: fx.Node | None = None  # the node of the module whose call made it
    part_writes: set[fx.Node] = field(default_factory=set)  # scatters that stand for writes through views


@dataclass(eq=False, slots=True)
class Tracked:
    """A tensor of the trace: `node` holds its contents as of `version` of its memory."""

    tensor: torch.Tensor
    node: fx.Node
    memory: Memory
    version: int = 0
    parent: Tracked | None = None
    view: ViewCall | None = None
    is_data: bool = False  # `x.data`: autograd does not see writes through it
    with_grad: bool = field(default_factory=torch.is_grad_enabled)  # the grad mode that it was made in

    @property
    def root(self) -> Tracked:
        """The tensor that the memory was made for."""
        return self if self.parent is None else self.parent.root

    @property
    def base(self) -> Tracked:
        """The tensor that autograd takes for the base: the root, or the last one that was detached."""
        return self if self.parent is None or self.view is None else self.parent.base


Emit = Callable[[Any, tuple[Any, ...], dict[str, Any]], fx.Node]


@dataclass(slots=True)
class Memories:
    """The memories of a trace.

    `recorder.emit(func, args, kwargs)` appends a call to the graph (arguments are nodes) and returns its
    node, with `meta["val"]`. The recorder holds the memories, so `recorder` is a weak proxy: a trace is no
    reference cycle.
    """

    recorder: Any
    written: list[Tracked] = field(default_factory=list)
    silent: bool = False  # the next writes do not raise the tensor's version in eager
    call: object = None  # all writes of one call count as one change
    in_backward: bool = False  # autograd reads what it has saved

    def current(self, tracked: Tracked) -> fx.Node:
        """The node that holds the present contents of the tensor."""
        if self.in_backward and tracked.memory.written_as_data:
            raise UntraceableError(UNSEEN)
        if tracked.version != tracked.memory.version and tracked.parent is not None:
            tracked.node = self.present(tracked, tracked.parent)
            tracked.version = tracked.memory.version
        return tracked.node

    def present(self, tracked: Tracked, parent: Tracked) -> fx.Node:
        """The tensor in the present contents of its parent."""
        contents, memory = self.current(parent), tracked.memory
        if tracked.view is None or memory.placeholder is not None:
            return self.replay(tracked, contents)
        found = shown(tracked.view, tracked.tensor, parent.tensor, contents, memory.part_writes)
        return found.node if found.is_view else self.replay(tracked, found.node)

    def replay(self, tracked: Tracked, base: fx.Node) -> fx.Node:
        """The tensor's view, applied to `base`."""
        view = tracked.view
        if view is None:
            return base
        node = self.recorder.emit(view.func, (base, *view.args), view.kwargs)
        return node if view.index is None else item_of(self.recorder.emit, node, view.index)

    def rebuild(self, tracked: Tracked, root: fx.Node) -> fx.Node:
        """The tensor as views of `root`, the node of the memory itself."""
        return root if tracked.parent is None else self.replay(tracked, self.rebuild(tracked.parent, root))

    def write(self, tracked: Tracked, node: fx.Node, as_data: bool = False) -> None:
        """From now on the tensor, and with it its memory, contains `node`."""
        as_data = as_data or tracked.is_data
        node = self.conform(tracked, node)
        if tracked.parent is None:
            if tracked.memory.version == 0:
                self.written.append(tracked)
            tracked.memory.version += 1
            if tracked.memory.placeholder is not None:
                mark_contents(node, tracked.memory.placeholder)
            self.count_change(tracked.memory, as_data)
            grad_mode = torch.is_grad_enabled()
            tracked.memory.written_with_grad |= grad_mode
            tracked.memory.written_without_grad |= not grad_mode
            tracked.memory.written_as_data |= as_data
        else:
            parent = tracked.parent
            self.write(parent, self.scatter(parent, tracked.view, node), as_data)
        tracked.node, tracked.version = node, tracked.memory.version

    def count_change(self, memory: Memory, as_data: bool) -> None:
        if not (self.silent or as_data) and (self.call is None or memory.last_call is not self.call):
            memory.changes += 1
            memory.last_call = self.call

    def conform(self, tracked: Tracked, node: fx.Node) -> fx.Node:
        """`node` with the dtype, sizes and strides of the tensor, as a copy into the tensor leaves it."""
        value, target = node.meta["val"], tracked.tensor
        same = (
            value.dtype is target.dtype and value.shape == target.shape and value.stride() == target.stride()
        )
        return node if same else self.recorder.emit(aten.copy.default, (self.place(tracked), node), {})

    def place(self, tracked: Tracked) -> fx.Node:
        """A node with the layout of the tensor, whose contents do not matter: of no memory, if possible."""
        layout = tracked.tensor.shape, tracked.tensor.stride()
        if not all(type(number) is int for numbers in layout for number in numbers):
            return self.current(tracked)
        options = {"dtype": tracked.tensor.dtype, "device": tracked.tensor.device}
        return self.recorder.emit(aten.empty_strided.default, (*map(list, layout),), options)

    def scatter(self, parent: Tracked, view: ViewCall | None, node: fx.Node) -> fx.Node:
        """The contents of the parent after `node` was written through `view`."""
        if view is None:
            return node
        inverse = INVERSES.get(view.func)
        if inverse is None:
            raise UntraceableError(f"a write through the view {view.func}")
        func, args = inverse(parent.tensor, view, node)
        if func not in SCATTERS:
            return self.recorder.emit(func, args, {})
        written = self.recorder.emit(func, (self.current(parent), *args), {})
        parent.memory.part_writes.add(written)
        return written


def mark_contents(node: fx.Node, placeholder: fx.Node) -> None:
    """Marks `node` as contents of an input after some write, by `meta["contents_of"]`.

    A node that is an input itself, or was written to another input before, stays as it is.
    """
    if node.op == "call_function":
        node.meta.setdefault("contents_of", placeholder.name)


def item_of(emit: Emit, node: fx.Node, index: int) -> fx.Node:
    """The node of one result of a call with several results; each result has one node."""
    for user in node.users:
        if user.target is operator.getitem and user.args[1] == index:
            return user
    return emit(operator.getitem, (node, index), {})


# --- inverses of views: (parent, view, written node) -> operator and its arguments ------------------------

SCATTERS = frozenset(
    (
        aten.select_scatter.default,
        aten.slice_scatter.default,
        aten.diagonal_scatter.default,
        aten.as_strided_scatter.default,
    )
)
Inverse = Callable[[torch.Tensor, ViewCall, fx.Node], tuple[OpOverload, tuple[Any, ...]]]
INVERSES: dict[OpOverload, Inverse] = {}


def inverse_of(*funcs: OpOverload) -> Callable[[Inverse], Inverse]:
    def register(body: Inverse) -> Inverse:
        INVERSES.update(dict.fromkeys(funcs, body))
        return body

    return register


@inverse_of(aten.select.int)
def _select(parent: torch.Tensor, view: ViewCall, node: fx.Node) -> Any:
    given = view.arguments()
    return aten.select_scatter.default, (node, given["dim"], given["index"])


@inverse_of(aten.slice.Tensor)
def _slice(parent: torch.Tensor, view: ViewCall, node: fx.Node) -> Any:
    given = view.arguments()
    return aten.slice_scatter.default, (node, given["dim"], given["start"], given["end"], given["step"])


@inverse_of(aten.diagonal.default)
def _diagonal(parent: torch.Tensor, view: ViewCall, node: fx.Node) -> Any:
    given = view.arguments()
    return aten.diagonal_scatter.default, (node, given["offset"], given["dim1"], given["dim2"])


@inverse_of(aten.as_strided.default)
def _as_strided(parent: torch.Tensor, view: ViewCall, node: fx.Node) -> Any:
    given = view.arguments()
    if parent.storage_offset() != 0 or not parent.is_contiguous():
        raise UntraceableError("a write through as_strided of a tensor that is not row-major")
    if overlaps_itself(given["size"], given["stride"]):  # eager writes one element after the other
        raise UntraceableError("a write through as_strided whose elements share places")
    return aten.as_strided_scatter.default, (node, given["size"], given["stride"], given["storage_offset"])


@inverse_of(aten.t.default)
def _t(parent: torch.Tensor, view: ViewCall, node: fx.Node) -> Any:
    return aten.t.default, (node,)


@inverse_of(aten.transpose.int)
def _transpose(parent: torch.Tensor, view: ViewCall, node: fx.Node) -> Any:
    return aten.transpose.int, (node, *view.args)


@inverse_of(aten.permute.default)
def _permute(parent: torch.Tensor, view: ViewCall, node: fx.Node) -> Any:
    dims = [dim % parent.dim() for dim in view.arguments()["dims"]]
    return aten.permute.default, (node, [dims.index(dim) for dim in range(len(dims))])


@inverse_of(
    aten.view.default,
    aten._unsafe_view.default,
    aten._reshape_alias.default,
    aten.unsqueeze.default,
    aten.squeeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
)
def _reshape(parent: torch.Tensor, view: ViewCall, node: fx.Node) -> Any:
    return aten.reshape.default, (node, list(parent.shape))


@inverse_of(aten.expand.default)
def _expand(parent: torch.Tensor, view: ViewCall, node: fx.Node) -> Any:
    if node.meta["val"].shape != parent.shape:
        raise UntraceableError("a write to an expanded tensor")
    return aten.alias.default, (node,)


@inverse_of(aten.view_as_real.default)
def _as_real(parent: torch.Tensor, view: ViewCall, node: fx.Node) -> Any:
    return aten.view_as_complex.default, (node,)


@inverse_of(aten.view_as_complex.default)
def _as_complex(parent: torch.Tensor, view: ViewCall, node: fx.Node) -> Any:
    return aten.view_as_real.default, (node,)


@inverse_of(aten.unbind.int)
def _unbind(parent: torch.Tensor, view: ViewCall, node: fx.Node) -> Any:
    return aten.select_scatter.default, (node, view.arguments()["dim"], view.index)


@inverse_of(aten.split.Tensor, aten.split_with_sizes.default)
def _split(parent: torch.Tensor, view: ViewCall, node: fx.Node) -> Any:
    given = view.arguments()
    index = view.index or 0
    if view.func is aten.split.Tensor:
        start = given["split_size"] * index
    else:
        start = sum(given["split_sizes"][:index])
    return aten.slice_scatter.default, (
        node,
        given["dim"],
        start,
        start + node.meta["val"].shape[given["dim"]],
        1,
    )
