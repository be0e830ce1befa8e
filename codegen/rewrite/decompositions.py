"""Which ATen operators are rewritten into simpler ones while tracing, and by what.

    aten.native_layer_norm(x, ...)   ->   var_mean, sub, add, rsqrt, mul, ...

Rewritten: what lowering fuses better in pieces (normalisations, losses, activations and their backward). Left
whole: products of matrices, convolutions, embedding, indexing, sorts, and whatever draws random numbers (the
generator has to be asked for the same numbers in the same order as in eager). The rules are torch's own
(`torch._decomp`), but for a few common operators where those import sympy (0.3 s) on the way: those are
written in `rewritings.py`, for float32 and float64.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload
from torch._prims_common import suggest_memory_format

from codegen.fake.shapes.spec import like, row_major
from codegen.rewrite import group_norms as rewritings_groups
from codegen.rewrite import half as rewritings_half
from codegen.rewrite import masked as rewritings_masked
from codegen.rewrite import norms as rewritings_batch
from codegen.rewrite import pairs as rewritings_pairs
from codegen.rewrite import products as rewritings_products
from codegen.rewrite import resampling as rewritings_windows
from codegen.rewrite import search as rewritings_search
from codegen.rewrite import simple as rewritings_basic
from codegen.rewrite import special_functions
from codegen.rewrite.rewritings import OWN, specialised
from codegen.rewrite.value_checks import CHECKED_FIRST, checked_first

aten = torch.ops.aten

REWRITTEN = [
    "native_layer_norm",
    "native_layer_norm_backward",
    "native_group_norm",
    "native_group_norm_backward",
    "native_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit.no_stats",
    "native_batch_norm_backward",
    "_softmax",
    "_softmax_backward_data",
    "_log_softmax",
    "_log_softmax_backward_data",
    "logsumexp",
    "nll_loss_forward",
    "nll_loss_backward",
    "nll_loss2d_forward",
    "nll_loss2d_backward",
    "mse_loss",
    "mse_loss_backward",
    "smooth_l1_loss",
    "smooth_l1_loss_backward",
    "huber_loss",
    "huber_loss_backward",
    "binary_cross_entropy",
    "binary_cross_entropy_backward",
    "binary_cross_entropy_with_logits",
    "soft_margin_loss",
    "soft_margin_loss_backward",
    "silu",
    "silu_backward",
    "mish",
    "mish_backward",
    "elu",
    "elu_backward",
    "celu",
    "selu",
    "leaky_relu",
    "leaky_relu_backward",
    "hardtanh",
    "hardtanh_backward",
    "hardswish",
    "hardswish_backward",
    "hardsigmoid",
    "hardsigmoid_backward",
    "softplus",
    "softplus_backward",
    "log_sigmoid_forward",
    "log_sigmoid_backward",
    "glu",
    "glu_backward",
    "hardshrink",
    "softshrink",
    "relu6",
    "_prelu_kernel",
    "_prelu_kernel_backward",
    "frac",
    "sinc",
    "xlogy.Tensor",
    "sgn",
    "logit",
    "logit_backward",
    "nan_to_num",
    "trace",
    "norm.Scalar",
    "norm.ScalarOpt_dim",
    "native_dropout_backward",
    "select_backward",
    "slice_backward",
    "diagonal_backward",
    "unfold_backward",
    "addmv",
    "addr",
    "std_mean.correction",
    "linalg_vector_norm",
    "vdot",
    "deg2rad",
    "rad2deg",
    "logaddexp",
    "logaddexp2",
    "heaviside",
    "special_xlog1py",
    "special_entr",
    "nansum",
    "diag_embed",
    "rot90",
    "mv",
    "linalg_cross",
    "block_diag",
    "channel_shuffle",
    "pixel_shuffle",
    "pixel_unshuffle",
    "_safe_softmax",
    "expand_copy",
    "t_copy",
    "transpose_copy.int",
    "unbind_copy.int",
    "split_with_sizes_copy",
    "permute_copy",
    "squeeze_copy",
    "squeeze_copy.dim",
    "squeeze_copy.dims",
    "unsqueeze_copy",
    "alias_copy",
    "narrow_copy",
    "renorm",
    "count_nonzero",
    "count_nonzero.dim_IntList",
    "unfold_copy",
    "_unsafe_masked_index",
    "_unsafe_masked_index_put_accumulate",
    "rrelu_with_noise_backward",
]
#: modules that enter forms of their own in OWN
ENTERED = (
    rewritings_basic,
    rewritings_batch,
    rewritings_groups,
    rewritings_half,
    rewritings_masked,
    rewritings_pairs,
    rewritings_products,
    rewritings_search,
    rewritings_windows,
    special_functions,
)


def overload_named(name: str) -> OpOverload:
    packet, _, overload = name.partition(".")
    return getattr(getattr(aten, packet), overload or "default")


GENERAL: dict[OpOverload, Callable[..., Any]] = {
    op: torch._decomp.decomposition_table[op] for op in map(overload_named, REWRITTEN)
}

GENERAL |= {op: checked_first(check, GENERAL[op]) for op, check in CHECKED_FIRST.items()}


def refused_for_bool(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Rules of torch for operators that have no kernel of bool: what they raise is left to them."""

    def rewrite(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return NotImplemented if tensor.dtype is torch.bool else rule(tensor, *args, **kwargs)

    return rewrite


GENERAL |= {op: refused_for_bool(GENERAL[op]) for op in (aten.mv.default, aten.addmv.default)}


def only_where(
    place: int, fits: Callable[[torch.Tensor], bool], rule: Callable[..., Any]
) -> Callable[..., Any]:
    """Operators that refuse some layouts of the tensor at `place`, or that the rule does not round as eager
    does: left as they are where it does not fit.
    """

    @functools.wraps(rule)
    def rewrite(*args: Any, **kwargs: Any) -> Any:
        return rule(*args, **kwargs) if fits(args[place]) else NotImplemented

    return rewrite


def in_memory_order(tensor: torch.Tensor) -> bool:
    return tensor._has_symbolic_sizes_strides or tensor.is_contiguous(
        memory_format=suggest_memory_format(tensor)
    )


def has_gradient_in_rows(tensor: torch.Tensor) -> bool:
    if tensor._has_symbolic_sizes_strides:
        return True
    return row_major(tensor.shape) == like(tensor).strides or tensor.numel() == 0


def is_real(tensor: torch.Tensor) -> bool:
    return not tensor.is_complex()


ONLY_WHERE = {
    aten.linalg_vector_norm.default: (0, is_real),  # magnitudes are computed in the dtype of the result
    aten.native_group_norm.default: (0, in_memory_order),
    aten.nll_loss2d_backward.default: (1, has_gradient_in_rows),
}


def left_as_it_is(*args: Any, **kwargs: Any) -> Any:
    """Where torch has no rule, or we do not use it."""
    return NotImplemented


TABLE = GENERAL | {op: specialised(forms, GENERAL.get(op, left_as_it_is)) for op, forms in OWN.items()}
TABLE |= {op: only_where(*how, TABLE[op]) for op, how in ONLY_WHERE.items()}


def rule_for(op: OpOverload) -> Callable[..., Any] | None:
    """Those for lists of tensors are made when the first such operator comes: making them costs as much as
    all others.
    """
    if op not in TABLE and op._schema.name.startswith("aten::_foreach_"):
        from codegen.rewrite.foreach import FOREACH

        return FOREACH.get(op)
    return TABLE.get(op)
