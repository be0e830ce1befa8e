"""Questions of the lowering about nodes of a graph.

In:  nodes of a functional ATen graph, with `meta["val"]`.
Out: sizes and strides as `Index`; numbers in the forms of definitions and of launch plans; the node that owns
     a result's memory.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from codegen.kernel.index_algebra import Index, Poly
from codegen.kernel.index_notation import from_size, to_expr
from codegen.kernel.ops import IR_DTYPES
from codegen.lower.size_floats import SizeFloat, size_float
from codegen.lower.tensor_expr import Shape
from codegen.trace.nodes import Symbolic


def unused_results(node: fx.Node, count: int) -> set[int]:
    """The results of a call with several results that nothing reads.

    Some operators give no tensor although their shape rule says that they do.
    """
    if not isinstance(node.meta.get("val"), (tuple, list)) or any(
        user.target is not operator.getitem for user in node.users
    ):
        return set()
    return set(range(count)) - {user.args[1] for user in node.users}


def is_view(target: Any) -> bool:
    """True for operators whose results share the memory of an argument."""
    return isinstance(target, OpOverload) and _shares_memory(target)


@functools.cache
def _shares_memory(target: OpOverload) -> bool:
    if target is torch.ops.aten._unsafe_view.default:
        return True
    return any(result.alias_info is not None for result in target._schema.returns)


def owner_of(node: fx.Node) -> fx.Node:
    """The node that owns this one's memory in eager, through any number of views of the same dtype."""
    while True:
        made_by = node.args[0] if node.target is operator.getitem else node
        if not (isinstance(made_by, fx.Node) and made_by.op == "call_function" and is_view(made_by.target)):
            return node
        base = made_by.args[0]
        if (
            not isinstance(base, fx.Node)
            or dtype_of(base) is not dtype_of(node)
            or made_by.target in NO_PLAIN_VIEWS
        ):
            return node
        node = base


def dtype_of(node: fx.Node) -> torch.dtype | None:
    val = node.meta.get("val")
    return val.dtype if isinstance(val, torch.Tensor) and val.layout is torch.strided else None


_aten = torch.ops.aten
#: operators that are views by their schema, but that copy if they have to or change the elements
NO_PLAIN_VIEWS = frozenset((
    _aten.reshape.default, _aten.contiguous.default, _aten.to.dtype, _aten._conj.default,
    _aten._neg_view.default,
))  # fmt: skip


def is_view_of_input(node: fx.Node) -> bool:
    made_by = node.args[0] if node.target is operator.getitem else node
    return isinstance(made_by, fx.Node) and made_by.op == "call_function" and is_view(made_by.target)


def parts_of(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def sizes_of(val: torch.Tensor) -> Shape:
    return tuple(map(from_size, val.shape))


def strides_of(val: torch.Tensor) -> tuple[Index, ...]:
    return tuple(map(from_size, val.stride()))


def as_scalar(val: Any) -> Any:
    if isinstance(val, Symbolic):
        return as_scalar(val.value)
    if isinstance(val, torch.SymFloat):
        return size_float(val.node.expr)
    if isinstance(val, torch.SymBool):
        raise NotImplementedError(f"{val}: a kernel can't take a truth value that depends on sizes")
    return from_size(val) if isinstance(val, torch.SymInt) else val


def as_expr(val: Any) -> Any:
    """An output that is a number; a number that depends on sizes becomes an expression of them."""
    return outside(as_scalar(val))


def outside(value: Any) -> Any:
    """A number in the form that the launch plan takes."""
    if isinstance(value, SizeFloat):
        raise NotImplementedError("an operator or the caller wants a float that depends on sizes")
    return to_expr(value) if isinstance(value, Poly) else value


def all_known(node: fx.Node) -> bool:
    """True where kernels can read all arguments and write all results."""
    vals = [argument.meta.get("val") for argument in node.all_input_nodes]
    vals += node.meta["val"] if isinstance(node.meta.get("val"), (tuple, list)) else [node.meta.get("val")]
    are_real = not has_complex((*node.args, *node.kwargs.values()))
    return are_real and all(is_known(val) for val in vals if isinstance(val, torch.Tensor))


def has_complex(arguments: Iterable[Any]) -> bool:
    """Whether a number is complex. Operators compare real tensors with it, for one, in complex numbers."""
    return any(
        has_complex(value) if isinstance(value, (list, tuple)) else isinstance(value, complex)
        for value in arguments
    )


def is_known(val: torch.Tensor) -> bool:
    """Whether kernels can read and write such tensors. Complex and sparse ones only operators can."""
    return val.dtype in IR_DTYPES and val.layout == torch.strided


def is_result_with_offset(node: fx.Node) -> bool:
    """Whether it is a copy that the caller will see and that starts inside of its memory.

    Some operators copy a part of a tensor in this way.
    """
    val = node.meta["val"]
    if not isinstance(val, torch.Tensor) or val.layout is not torch.strided or is_view(node.target):
        return False
    if not any(user.op == "output" for user in node.users):
        return False
    if (
        node.target in COPIES_OF_STORAGES
        and base_of(node).op == "placeholder"
        and val._has_symbolic_sizes_strides
    ):
        return True  # the start of symbolic inputs is not known
    return val.storage_offset() != 0


COPIES_OF_STORAGES = (
    torch.ops.aten.slice_scatter.default,
    torch.ops.aten.select_scatter.default,
    torch.ops.aten.diagonal_scatter.default,
)


def base_of(node: fx.Node) -> fx.Node:
    """The tensor that the first operand is a view of."""
    base: Any = node.args[0]
    while base.op == "call_function" and is_view(base.target):
        base = base.args[0]
    return base
