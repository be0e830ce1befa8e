"""Operators of neural networks on row-major tensors.

In:  tensors and parameters of a layer.
Out: the `Spec`s of the results.

    embedding(f32[10, 4], i64[2, 3])   ->   Spec((2, 3, 4), (12, 4, 1), f32)

torch's meta kernels know the other layouts (channels-last), except for convolutions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._prims_common import suggest_memory_format

from codegen.fake.shapes.spec import Spec, channels_last, contiguous, is_contiguous, like, shape_rule

INDEX = (torch.int64, torch.int32)


def plain(*tensors: torch.Tensor | None) -> bool:
    """Row-major, and not channels-last as well.

    Sizes of 1 can make a tensor both; then the layout that eager chooses is not known.
    """
    return all(
        tensor is None or (is_contiguous(tensor) and not is_channels_last(tensor)) for tensor in tensors
    )


def is_channels_last(tensor: torch.Tensor) -> bool:
    if tensor.dim() == 4:
        return tensor.is_contiguous(memory_format=torch.channels_last)
    return tensor.dim() == 5 and tensor.is_contiguous(memory_format=torch.channels_last_3d)


def are_windows(padding: Sequence[int], dilation: Sequence[int]) -> bool:
    """Whether eager takes them: it refuses a negative padding, and windows that do not go forwards."""
    return min(padding) >= 0 and min(dilation) > 0


def pad_to(values: Any, rank: int) -> list[int]:
    return list(values) * rank if len(values) == 1 else list(values)


@shape_rule("convolution")
def convolution(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, weight, bias, stride, padding, dilation, transposed, _, groups = args
    rank = weight.dim() - 2
    unusual = (
        transposed or rank not in (1, 2) or tensor.dim() != weight.dim() or tensor.dtype is not weight.dtype
    )
    unusual = unusual or (bias is not None and (bias.dim() != 1 or bias.shape[0] != weight.shape[0]))
    unusual = unusual or not are_windows(padding, dilation)
    layout = convolution_layout(tensor, weight)
    if unusual or layout is None or tensor.shape[1] != weight.shape[1] * groups or tensor.numel() == 0:
        return NotImplemented
    sizes = []
    for size, kernel, step, pad, spread in zip(
        tensor.shape[2:],
        weight.shape[2:],
        pad_to(stride, rank),
        pad_to(padding, rank),
        pad_to(dilation, rank),
    ):
        sizes.append((size + 2 * pad - spread * (kernel - 1) - 1) // step + 1)
    if any(size <= 0 for size in sizes):
        return NotImplemented
    return layout((tensor.shape[0], weight.shape[0], *sizes), tensor.dtype)


def convolution_layout(tensor: torch.Tensor, weight: torch.Tensor) -> Callable[..., Spec] | None:
    """The layout that eager gives results and gradients.

    torch's meta kernel assumes row-major results for a large convolution with a kernel of one pixel.
    """
    if plain(tensor, weight):
        return contiguous
    if tensor.dim() != 4 or weight.dim() != 4 or tensor.dtype is not torch.float32:
        return None
    formats = map(suggest_memory_format, (tensor, weight))
    return channels_last if torch.channels_last in formats else contiguous


@shape_rule("convolution_backward")
def convolution_backward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    grad, tensor, weight, bias_sizes, *_, mask = args
    transposed = args[7]
    layout = contiguous if plain(tensor, weight) and plain(grad) else None
    if layout is None and not transposed and grad.dim() == 4 and 0 not in tensor.shape:
        layout = convolution_layout(tensor, weight)
    if layout is None or weight.dim() not in (3, 4):
        return NotImplemented
    return (
        layout(tensor.shape, tensor.dtype) if mask[0] else None,
        layout(weight.shape, weight.dtype) if mask[1] else None,
        contiguous(bias_sizes, grad.dtype) if mask[2] else None,
    )


def pooled(args: tuple[Any, ...], ceil_position: int, has_dilation: bool) -> tuple[int, ...] | None:
    tensor, kernel = args[0], pad_to(args[1], 2)
    stride = pad_to(args[2], 2) if len(args) > 2 and args[2] else kernel
    padding = pad_to(args[3], 2) if len(args) > 3 else [0, 0]
    dilation = pad_to(args[4], 2) if has_dilation and len(args) > 4 else [1, 1]
    ceil = len(args) > ceil_position and args[ceil_position]
    if (
        ceil
        or not are_windows(padding, dilation)
        or not plain(tensor)
        or tensor.dim() not in (3, 4)
        or tensor.numel() == 0
    ):
        return None
    sizes = [
        (size + 2 * pad - spread * (window - 1) - 1) // step + 1
        for size, window, step, pad, spread in zip(tensor.shape[-2:], kernel, stride, padding, dilation)
    ]
    bad = any(size <= 0 for size in sizes) or any(2 * pad > window for pad, window in zip(padding, kernel))
    return None if bad else (*tensor.shape[:-2], *sizes)


@shape_rule("max_pool2d_with_indices")
def max_pool2d(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    shape = pooled(args, 5, True) if not kwargs else None
    return (
        NotImplemented
        if shape is None
        else (contiguous(shape, args[0].dtype), contiguous(shape, torch.int64))
    )


@shape_rule("avg_pool2d")
def avg_pool2d(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    shape = pooled(args, 4, False) if not kwargs else None
    return NotImplemented if shape is None else contiguous(shape, args[0].dtype)


@shape_rule("max_pool2d_with_indices_backward", "avg_pool2d_backward", "_adaptive_avg_pool2d_backward")
def pool_backward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return contiguous(args[1].shape, args[0].dtype) if plain(args[0], args[1]) else NotImplemented


@shape_rule("_adaptive_avg_pool2d")
def adaptive_avg_pool2d(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return contiguous((*args[0].shape[:-2], *args[1]), args[0].dtype) if plain(args[0]) else NotImplemented


@shape_rule("log_sigmoid_forward")
def log_sigmoid_forward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Row-major for every layout of the operand."""
    result = contiguous(args[0].shape, args[0].dtype)
    return (result, result) if args[0].dtype.is_floating_point else NotImplemented


@shape_rule("native_dropout")
def native_dropout(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return (like(args[0]), like(args[0], torch.bool))


@shape_rule("nll_loss_forward")
def nll_loss_forward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, target, weight, reduction, _ = args
    rows = tensor.shape[0] if tensor.dim() == 2 else 1
    if tensor.dim() not in (1, 2) or target.numel() != rows or target.dim() != tensor.dim() - 1:
        return NotImplemented
    if weight is not None and tuple(weight.shape) != (tensor.shape[-1],):
        return NotImplemented
    per_row = reduction == 0 and tensor.dim() == 2
    total = contiguous((rows if reduction == 0 else 0,) if per_row else (), tensor.dtype)
    return (total, contiguous((), tensor.dtype))


@shape_rule("nll_loss_backward")
def nll_loss_backward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return contiguous(args[1].shape, args[1].dtype)


@shape_rule("nll_loss2d_forward")
def nll_loss2d_forward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, target, weight, reduction = args[:4]
    if tensor.dim() != 4 or tuple(target.shape) != (tensor.shape[0], *tensor.shape[2:]):
        return NotImplemented
    if weight is not None and tuple(weight.shape) != (tensor.shape[1],):
        return NotImplemented
    return contiguous(target.shape if reduction == 0 else (), tensor.dtype), contiguous((), tensor.dtype)


@shape_rule("binary_cross_entropy")
def binary_cross_entropy(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    defaults: tuple[Any, ...] = (None, 1)
    tensor, target, weight, reduction = (*args, *defaults[len(args) - 2 :])
    return NotImplemented if weight is not None else reduced_loss((tensor, target, reduction), kwargs)


@shape_rule("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    defaults: tuple[Any, ...] = (None, None, 1)
    tensor, target, weight, pos_weight, reduction = (*args, *defaults[len(args) - 2 :])
    is_weighted = weight is not None or pos_weight is not None
    return NotImplemented if is_weighted else reduced_loss((tensor, target, reduction), kwargs)


@shape_rule("smooth_l1_loss", "huber_loss", "soft_margin_loss")
def reduced_loss(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, target, reduction = (*args, 1)[:3]
    unusual = kwargs or tensor.shape != target.shape or tensor.dtype is not target.dtype
    if unusual or not reduction or not tensor.is_floating_point():
        return NotImplemented
    return contiguous((), tensor.dtype)


@shape_rule("binary_cross_entropy_backward")
def like_the_tensor(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return like(args[1]) if args[1].dtype is args[0].dtype else NotImplemented


@shape_rule("mse_loss_backward", "smooth_l1_loss_backward", "huber_loss_backward", "glu_backward")
def in_rows_of_the_tensor(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Row-major for all layouts."""
    grad, tensor, target = args[:3]
    is_loss = isinstance(target, torch.Tensor)
    unusual = grad.dtype is not tensor.dtype or (is_loss and target.shape != tensor.shape)
    return NotImplemented if unusual else contiguous(tensor.shape, tensor.dtype)


@shape_rule("embedding")
def embedding(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    weight, indices = args[:2]
    if weight.dim() != 2 or indices.dtype not in INDEX:
        return NotImplemented
    return contiguous((*indices.shape, weight.shape[1]), weight.dtype)


@shape_rule("embedding_dense_backward")
def embedding_dense_backward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    grad, _, rows = args[:3]
    return contiguous((rows, grad.shape[-1]), grad.dtype)


@shape_rule("gather")
def gather(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, dim, index = args[:3]
    if index.dtype is not torch.int64 or not 0 < tensor.dim() == index.dim():
        return NotImplemented
    others = (place for place in range(tensor.dim()) if place != dim % tensor.dim())
    fits = all(index.shape[place] <= tensor.shape[place] for place in others)
    return contiguous(index.shape, tensor.dtype) if fits else NotImplemented


@shape_rule("index_select")
def index_select(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, dim, index = args
    if (
        tensor.dim() == 0
        or index.dim() > 1
        or index.dtype not in INDEX
        or not -tensor.dim() <= dim < tensor.dim()
    ):
        return NotImplemented
    shape = list(tensor.shape)
    shape[dim] = index.numel()
    return contiguous(shape, tensor.dtype)


@shape_rule("cat")
def cat(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors, dim = args[0], args[1] if len(args) > 1 else kwargs.get("dim", 0)
    first = tensors[0]
    rank = first.dim()
    if (
        rank == 0
        or not -rank <= dim < rank
        or any(t.dim() != rank or t.dtype is not first.dtype or not plain(t) for t in tensors)
    ):
        return NotImplemented
    dim %= rank
    outside = [tuple(t.shape[:dim]) + tuple(t.shape[dim + 1 :]) for t in tensors]
    if any(sizes != outside[0] for sizes in outside):
        return NotImplemented
    shape = list(first.shape)
    shape[dim] = sum(t.shape[dim] for t in tensors)
    return contiguous(shape, first.dtype)


@shape_rule("stack")
def stack(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors, dim = args[0], args[1] if len(args) > 1 else kwargs.get("dim", 0)
    first = tensors[0]
    rank = first.dim() + 1
    if not -rank <= dim < rank or any(
        t.shape != first.shape or t.dtype is not first.dtype or not plain(t) for t in tensors
    ):
        return NotImplemented
    shape = list(first.shape)
    shape.insert(dim % rank, len(tensors))
    return contiguous(shape, first.dtype)


@shape_rule(
    "multi_margin_loss", "diagonal_scatter", "as_strided_scatter", "tril", "triu", "fill.Scalar", "repeat",
    "flip", "roll", "scatter.src", "scatter.value", "scatter_add", "index_add", "sort", "topk",
    "fill_.Tensor", "masked_fill.Tensor", "masked_fill_.Tensor", "scatter_.src", "scatter_.value",
    "scatter_add_", "index_add_", "index_fill.int_Scalar", "index_fill.int_Tensor",
    "index_fill_.int_Scalar", "index_fill_.int_Tensor", "elu", "upsample_nearest2d", "upsample_bilinear2d",
    "pixel_unshuffle", "addbmm", "masked_scatter", "heaviside", "avg_pool3d", "adaptive_avg_pool3d",
    "_adaptive_avg_pool3d", "adaptive_max_pool3d", "max_pool3d_with_indices", "replication_pad2d",
    "max_unpool2d", "max_unpool3d", "channel_shuffle", "native_channel_shuffle", "avg_pool3d_backward",
    "_adaptive_avg_pool3d_backward", "adaptive_max_pool3d_backward", "replication_pad2d_backward", "col2im",
    "diag_embed", "frexp.Tensor", "_cdist_backward", "ldexp.Tensor", "batch_norm_backward",
    "_native_batch_norm_legit.no_stats", "reflection_pad2d_backward", "reflection_pad3d",
    "reflection_pad3d_backward", "replication_pad3d", "replication_pad3d_backward", "angle", "im2col",
    "upsample_nearest2d_backward", "upsample_bilinear2d_backward", "upsample_nearest1d", "upsample_nearest3d",
    "_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d",
    "upsample_linear1d", "upsample_trilinear3d", "upsample_bicubic2d",
)  # fmt: skip
def ask_eager(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Has no rule: the operator runs on zeros. All of these operators accept zeros."""
    return NotImplemented


@shape_rule("index_put")
def index_put(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return like(args[0]) if fits_masks(*args[:3]) else NotImplemented


@shape_rule("index_put_")
def index_put_(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0] if fits_masks(*args[:3]) else NotImplemented


def fits_masks(tensor: torch.Tensor, indices: Sequence[torch.Tensor | None], values: torch.Tensor) -> bool:
    """Whether one index is a mask, the others are whole dims, and only the mask can refuse the values.

    Zeros can't stand for a mask: the number of its true elements is known only when the graph runs.
    """
    given = [(place, index) for place, index in enumerate(indices) if index is not None]
    if len(given) != 1 or given[0][1].dtype is not torch.bool or values.dtype is not tensor.dtype:
        return False
    ((place, mask),) = given
    end = place + mask.dim()
    if (
        not mask.dim()
        or len(indices) - 1 + mask.dim() > tensor.dim()
        or mask.shape != tensor.shape[place:end]
    ):
        return False
    written: list[int | None] = [*tensor.shape[:place], None, *tensor.shape[end:]]
    sizes = zip(reversed(values.shape), reversed(written))
    return values.dim() <= len(written) and all(wanted in (None, size) or size == 1 for size, wanted in sizes)


@shape_rule("rrelu_with_noise")
def rrelu_with_noise(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Row-major for every layout of the operand; its functional form keeps the layout."""
    return contiguous(args[0].shape, args[0].dtype)


@shape_rule("rrelu_with_noise_functional")
def rrelu_with_noise_functional(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return like(args[0]), like(args[1])


@shape_rule("multilabel_margin_loss_forward")
def multilabel_margin_loss_forward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The loss of a single sample has no dim."""
    tensor, target = args[0], args[1]
    if tensor.dim() > 1 or target.shape != tensor.shape or tensor.numel() == 0:
        return NotImplemented
    return contiguous((), tensor.dtype), contiguous(target.shape, tensor.dtype)


@shape_rule("constant_pad_nd")
def constant_pad_nd(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, pads = args[0], args[1]
    shape = list(tensor.shape)
    for i in range(len(pads) // 2):
        shape[-1 - i] += pads[2 * i] + pads[2 * i + 1]
    usual = (
        plain(tensor)
        and len(pads) <= 2 * tensor.dim()
        and min(pads, default=0) >= 0
        and min(shape, default=0) >= 0
        and math.prod(shape) > 0
    )
    return contiguous(shape, tensor.dtype) if usual else NotImplemented
