"""All rewritings: what a trace calls in place of a function of torch or of an ATen operator.

In:  above autograd, a function of the graph (or the name of a method); below autograd, an ATen operator.
Out: `FUNCTIONS`: for each function, the body that is called in its place. `rule_for(op)`: the body that
     computes the operator by simpler ones (None: the operator stays as it is).

    aten.native_layer_norm(x, ...)   ->   var_mean, sub, add, rsqrt, mul, ...

When is an operator rewritten, when is it lowered?

* A *function* is replaced where its operators are wrong or slow on fake tensors: its gradient looks at values
  (`own_gradients`), eager checks values inside of it (`value_checks`), it writes to an empty tensor
  (`circular_padding`), the trace has to know of the call (`gradient_hooks`), or torch runs another body where
  numbers are symbols (`symbolic_functions`).
* An *operator* is rewritten where lowering fuses it better in pieces: normalisations, losses, activations and
  their backward, resampling, special functions, operators over lists of tensors. The table asks our own
  bodies first (`rows.py`; one file for each technique), then torch's rules (`FROM_TORCH`). We have our own
  body where torch's rule differs from eager in the last bit, is slow, or imports sympy (0.3 s).
* An operator is *lowered* (`codegen.lower`) where each element of its result is one expression of elements of
  its arguments: elementwise operators, reductions, scans, views, indexing, joins.
* The other operators are *called*: matrix products, convolutions, sorts, and operators that draw random
  numbers (the generator has to be asked for the same numbers in the same order as in eager).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload
from torch._prims_common import suggest_memory_format

from codegen.fake.shapes.spec import like, row_major
from codegen.rewrite.rows import FUNCTIONS, OPERATORS, Body, Row

__all__ = ["FUNCTIONS", "rule_for"]

aten = torch.ops.aten

#: operators for which torch has the right rule
FROM_TORCH = {
    "native_layer_norm",
    "native_layer_norm_backward",
    "native_group_norm",
    "native_group_norm_backward",
    "native_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit.no_stats",
    "_native_batch_norm_legit_no_training",
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
}


# --- operators that stay as they are for some arguments ---------------------------------------------------


def in_memory_order(tensor: torch.Tensor) -> bool:
    return tensor._has_symbolic_sizes_strides or tensor.is_contiguous(
        memory_format=suggest_memory_format(tensor)
    )


def has_gradient_in_rows(tensor: torch.Tensor) -> bool:
    if tensor._has_symbolic_sizes_strides:
        return True
    return row_major(tensor.shape) == like(tensor).strides or tensor.numel() == 0


def has_elements(tensor: torch.Tensor) -> bool:
    return tensor._has_symbolic_sizes_strides or tensor.numel() > 0


def is_real(tensor: torch.Tensor) -> bool:
    return not tensor.is_complex()


def is_not_bool(tensor: torch.Tensor) -> bool:
    return tensor.dtype is not torch.bool


#: operator -> (position of an argument, condition on it). The operator is rewritten only where the condition
#: holds: for other tensors eager raises an error, or the rule does not round as eager does.
ONLY_WHERE: dict[OpOverload, tuple[int, Callable[[torch.Tensor], bool]]] = {
    aten.linalg_vector_norm.default: (0, is_real),  # magnitudes are computed in the dtype of the result
    aten.native_group_norm.default: (0, in_memory_order),
    aten.native_group_norm_backward.default: (1, has_elements),  # the rule divides by their number
    aten.native_batch_norm.default: (0, torch.is_floating_point),
    aten._native_batch_norm_legit.default: (0, torch.is_floating_point),
    aten.nll_loss2d_backward.default: (1, has_gradient_in_rows),
    aten.mv.default: (0, is_not_bool),  # eager has no kernel: the operator raises its own error
    aten.addmv.default: (0, is_not_bool),
    aten.trace.default: (0, is_not_bool),  # the same
    aten.logaddexp.default: (0, torch.is_floating_point),
    aten.logaddexp2.default: (0, torch.is_floating_point),
    aten.nansum.default: (0, is_real),
    aten.mse_loss.default: (0, is_real),
    aten.nll_loss_forward.default: (0, torch.is_floating_point),
    aten.glu.default: (0, torch.is_floating_point),
}


#: rewritten where all tensors have one dtype: eager refuses others, or computes with the target as it is
OF_ONE_DTYPE = frozenset((aten.huber_loss_backward.default, aten.soft_margin_loss_backward.default))


def of_one_dtype(rule: Body) -> Body:
    @functools.wraps(rule)
    def rewrite(*args: Any, **kwargs: Any) -> Any:
        dtypes = {value.dtype for value in args if isinstance(value, torch.Tensor)}
        return rule(*args, **kwargs) if len(dtypes) == 1 else NotImplemented

    return rewrite


def holds_no_complex(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(holds_no_complex, value))
    return not (isinstance(value, torch.Tensor) and value.is_complex())


def for_reals(rule: Body) -> Body:
    """Kernels don't compute complex numbers: the pieces of an operator would each be a call, where eager has
    one.
    """

    @functools.wraps(rule)
    def rewrite(*args: Any, **kwargs: Any) -> Any:
        return rule(*args, **kwargs) if all(map(holds_no_complex, args)) else NotImplemented

    return rewrite


def only_where(place: int, fits: Callable[[torch.Tensor], bool], rule: Body) -> Body:
    @functools.wraps(rule)
    def rewrite(*args: Any, **kwargs: Any) -> Any:
        return rule(*args, **kwargs) if fits(args[place]) else NotImplemented

    return rewrite


# --- the table --------------------------------------------------------------------------------------------


def rule_of(rows: list[Row]) -> Body:
    """Asks the first row that accepts the arguments and does not decline."""
    if len(rows) == 1 and rows[0].dtypes is None:
        return rows[0].body

    @functools.wraps(rows[0].body)
    def rewrite(*args: Any, **kwargs: Any) -> Any:
        for row in rows:
            if row.is_for(args):
                result = row.body(*args, **kwargs)
                if result is not NotImplemented:
                    return result
        return NotImplemented

    return rewrite


@functools.cache
def rule_for(op: OpOverload) -> Body | None:
    """The body that computes `op`, or None.

    Rows of several files are asked in the order of the files' names. The rules for lists of tensors are made
    when the first such operator comes: they cost as much as all others.
    """
    rows = sorted(OPERATORS.whole(op) or (), key=lambda row: row.body.__module__)
    if op.name().removeprefix("aten::") in FROM_TORCH:
        rows.append(Row(for_reals(torch._decomp.decomposition_table[op])))
    if rows:
        rule = of_one_dtype(rule_of(rows)) if op in OF_ONE_DTYPE else rule_of(rows)
        return only_where(*ONLY_WHERE[op], rule) if op in ONLY_WHERE else rule
    if op.name().startswith(("aten::_foreach_", "aten::_amp_foreach_")):
        from codegen.kernel.foreach import FOREACH  # lazy: import time

        return FOREACH.get(op)
    return None
