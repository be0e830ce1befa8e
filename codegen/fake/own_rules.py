"""Operators with rules of their own: torch's way to run them on fake tensors is wrong or slow.

In:  a call on fake tensors of one mode.
Out: its results; the import of this module enters the rules.

    permute(x, (1, 0))   ->   sizes and strides in the other order, without torch's meta kernel
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor

from codegen.fake.dispatch import (
    LARGE,
    META,
    common_device,
    raise_dynamic_shape,
    rule,
    run_on_zeros,
    run_plain,
    wrap_results,
)
from codegen.fake.known_values import tensors_in

if TYPE_CHECKING:
    from codegen.fake.fake import FakeMode

aten = torch.ops.aten

SUM, MAXIMUM = 0, 2  # modes of embedding_bag
BAG_ARGUMENTS = ((4, "mode"), (7, "include_last_offset"))


@rule(aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
def run_embedding_bag(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Differs from torch's meta kernel in two points.

    In eager, sums of bfloat16 rows take the fast path of float16, and keep as little for the backward. A call
    without a backward has other sizes of its last two results.
    """
    weight, *rest = args
    device = common_device(mode, func, args, kwargs)
    is_wide = weight.dtype is not torch.bfloat16
    with mode:
        layout = weight.shape, weight.stride()
        twin = weight if is_wide else torch.empty_strided(*layout, dtype=torch.float16, device=device)
        results = wrap_results(mode, mode.run_meta(func, (twin, *rest), kwargs), device)
        sums, bag_of_index, counts, largest = results
        reduction, has_last = (args[i] if len(args) > i else kwargs.get(name, 0) for i, name in BAG_ARGUMENTS)
        if func is aten._embedding_bag_forward_only.default:
            bags = counts.shape[0] - bool(has_last and reduction != SUM)
            counts = counts.new_empty(bags)
            largest = largest if reduction == MAXIMUM else counts.new_empty(bags)
        return sums if is_wide else sums.to(weight.dtype), bag_of_index, counts, largest


# Only the library that it calls knows the size of its workspace.
rule(aten.mkldnn_rnn_layer.default)(run_on_zeros)
# The library decides the order of the dims of their results.
prims = torch.ops.prims
rule(prims.fft_c2r.default, prims.fft_r2c.default, prims.fft_c2c.default)(run_on_zeros)
rule(*(getattr(aten.quantize_per_tensor, name) for name in ("default", "tensor_qparams", "tensors")))(
    run_on_zeros
)  # their meta kernel gives floats
rule(aten.complex.out, aten.polar.out)(run_on_zeros)  # their meta kernels take an `out` of any dtype


@rule(aten.index.Tensor, aten._unsafe_index.Tensor)
def run_index(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    for index in args[1]:
        if index is not None and index.dtype in (torch.bool, torch.uint8):
            return raise_dynamic_shape(mode, func, args, kwargs)
    small = sum(tensor.numel() for tensor in tensors_in(args)) < LARGE
    return (run_on_zeros if small else run_plain)(mode, func, args, kwargs)


@rule(aten.lift_fresh.default, aten.lift_fresh_copy.default, aten.lift.default)
def run_lift(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`torch.tensor(...)` made a real tensor; the fake twin keeps it in `.constant`."""
    (tensor,) = args
    if isinstance(tensor, FakeTensor):
        return tensor
    with torch._C._DisableTorchDispatch():
        meta = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=META)
    return FakeTensor(mode, meta, tensor.device, constant=tensor)


@rule(aten.permute.default)
def run_permute(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Permutes the sizes and strides directly.

    torch's own kernel reads the layout of the Python object, which imports `torch.distributed.tensor` and
    sympy.
    """
    tensor, dims = args
    rank = tensor.dim()
    if len(dims) != rank or len({dim % rank for dim in dims if -rank <= dim < rank}) != rank:
        return run_on_zeros(mode, func, args, kwargs)
    order = [dim % rank for dim in dims]
    shape, strides = [tensor.shape[dim] for dim in order], [tensor.stride(dim) for dim in order]
    with torch._C._DisableTorchDispatch():
        meta = torch.empty(0, dtype=tensor.dtype, device=META)
        meta.set_(tensor.untyped_storage(), tensor.storage_offset(), shape, strides)
        meta = torch._conj(meta) if tensor.is_conj() else meta
        meta = torch._neg_view(meta) if tensor.is_neg() else meta
        return mode.make(meta, tensor._fake_device)


@rule(aten._unpack_dual.default)
def run_unpack_dual(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns the tensor without a tangent: below autograd no tensor has one.

    torch calls this operator for the text of a tensor, for each argument that an overload does not accept.
    Its own kernel fails there, and leaves a switch behind that breaks later calls in the thread.
    """
    return args[0], None
