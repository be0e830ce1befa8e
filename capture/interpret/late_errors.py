"""Operations that may raise behind a write to an input, where more than their error has to be eager's.

In:  each operation, before and after it ran on fake tensors.
Out: `GraphBreak` in front of the operation: Python runs it when the changes before it are made.

    log.append(1); x.add_(1); y = x[i]    ->    a graph with add_; the append; then Python runs x[i]

That is so behind a change of a Python object, and where the program may catch the error. Native code changes
nothing before all that may raise has run. If it raises, Python runs the frame from its start. A graph that
runs call by call has written by then, and the frame can't start again. Only frames with such a graph are
translated with these breaks.
"""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from capture.interpret.deferred_calls import may_catch
from capture.report.break_reasons import GraphBreak
from codegen.fake.known_values import tensors_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch._ops import OpOverload

    from capture.interpret.output_graph import OutputGraph
    from capture.variables.core.protocols import Interpreter

#: operators that raise for no value of their arguments, beside views and those that torch has tags for;
#: the same holds where they write in place
SAFE = frozenset((
    "_capture::gru_layer", "_capture::lstm_layer", "_capture::rnn_layer",
    "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "_amp_foreach_non_finite_check_and_unscale_",
    "_amp_update_scale_", "_cdist_forward", "_euclidean_dist", "_fft_c2c", "_fft_c2r", "_fft_r2c",
    "_fused_adagrad_", "_fused_adam_", "_fused_adamw_", "_fused_sgd_", "_log_softmax",
    "_native_batch_norm_legit", "_native_batch_norm_legit_no_training", "_pdist_forward", "_prelu_kernel",
    "_safe_softmax", "_scaled_dot_product_flash_attention_for_cpu", "_softmax", "_thnn_fused_gru_cell",
    "_thnn_fused_lstm_cell", "_to_copy", "_unsafe_view", "adaptive_max_pool2d", "adaptive_max_pool3d",
    "addbmm", "addmm", "addmv", "addr", "arange", "avg_pool1d", "avg_pool2d", "avg_pool3d", "baddbmm",
    "binary_cross_entropy_with_logits", "block_diag", "bmm", "bucketize", "cat", "col2im", "complex",
    "constant_pad_nd", "convolution", "copy", "cummax", "cummin", "cumprod", "cumsum", "detach",
    "diag_embed", "diagonal_scatter", "dist", "dot", "empty", "empty_like", "empty_strided", "eye",
    "fill", "flip", "full", "full_like", "glu", "grid_sampler_2d", "grid_sampler_3d", "hardswish",
    "huber_loss", "im2col", "isin", "kthvalue", "l1_loss", "lift_fresh", "linalg_cross", "linspace",
    "log_sigmoid_forward", "logcumsumexp", "logspace", "logsumexp", "masked_fill",
    "max_pool2d_with_indices", "max_pool3d_with_indices", "median", "mm", "mode", "mse_loss", "mv",
    "nanmedian", "native_batch_norm", "native_dropout", "native_group_norm", "native_layer_norm",
    "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros", "ones", "ones_like",
    "pixel_shuffle", "pixel_unshuffle", "polar", "rand", "rand_like", "randn", "randn_like",
    "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "renorm", "repeat", "replication_pad1d",
    "replication_pad2d", "replication_pad3d", "roll", "rot90", "scalar_tensor", "select_scatter",
    "slice_scatter", "smooth_l1_loss", "soft_margin_loss", "sort", "stack", "std", "std_mean", "topk",
    "trace", "tril", "triu", "upsample_bicubic2d", "upsample_bilinear2d", "upsample_linear1d",
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_trilinear3d", "var",
    "var_mean", "vdot", "zero", "zeros", "zeros_like",
))  # fmt: skip
#: elementwise operators that raise for some integers
OF_INTEGERS = frozenset(["div", "floor_divide", "fmod", "gcd", "lcm", "pow", "remainder"])
#: functions that check values themselves, which they can't on fake tensors
CHECKING = frozenset(("one_hot", "quantile", "nanquantile"))
SAFE_DRAWS = (
    torch.ops.aten.bernoulli_.float,
    torch.ops.aten.normal_.default,
    torch.ops.aten.uniform_.default,
)
SAFE_TAGS = (torch.Tag.pointwise, torch.Tag.reduction)


class LateErrors:
    """`breaks`: False where the graph has to stay whole, or changes nothing if it raises."""

    def __init__(self, output: OutputGraph, breaks: bool) -> None:
        self.output = output
        self.breaks = breaks
        self.matters = False  # for some operation, more than its error has to be eager's
        self._seen: Operators | None = None

    def before(self, tx: Interpreter) -> None:
        self._seen = None
        if self.breaks or not self.matters:
            matters = bool(self.output.side_effects) or may_catch(tx)
            self.matters |= matters
            if self.breaks and matters and self.output.inputs.are_written():
                self._seen = Operators()

    def watching(self) -> contextlib.AbstractContextManager[Any]:
        """For the time in which the operation runs on fake tensors."""
        return contextlib.nullcontext() if self._seen is None else self._seen

    def after(self, name: str) -> None:
        """Raises GraphBreak where the operation may raise."""
        if self._seen is not None and (self._seen.may_raise or name in CHECKING):
            signal = GraphBreak("late_error", name=name)
            signal.breaks_callees = False  # it depends on what was before
            raise signal


class Operators(TorchDispatchMode):
    """`may_raise`: one of the operators that ran may do so for some values of its arguments."""

    may_raise = False

    def __torch_dispatch__(self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        safe = is_safe(func, args, args[:1] if result is None else [result])
        self.may_raise |= not safe or may_be_refused(func, args, kwargs or {})
        return result


def is_safe(operator: OpOverload, args: Sequence[Any], results: Sequence[Any]) -> bool:
    """`results`: tensors and lists of tensors."""
    name = operator._schema.name.removeprefix("aten::").removeprefix("_foreach_")
    if operator.namespace == "prim" or operator in SAFE_DRAWS:  # prim: questions about a tensor
        return True
    if name.removesuffix("_") in OF_INTEGERS:
        return all(tensor.is_floating_point() or tensor.is_complex() for tensor in tensors_in(results))
    if name.removesuffix("_") == "index_put":
        return is_masked_fill(*args[:3])
    names = name, name.removesuffix("_")
    return operator.is_view or not SAFE.isdisjoint(names) or any(map(has_safe_tag, names))


def may_be_refused(operator: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether eager may refuse a write because two elements share a place, which fake tensors do not see."""
    if not operator._schema.is_mutable:
        return False
    arguments = operator._schema.arguments
    held = [args[i] if i < len(args) else kwargs.get(a.name) for i, a in enumerate(arguments)]
    written = tensors_in([value for a, value in zip(arguments, held) if a.is_write])
    return any(_is_spread(t) or any(_is_part(other, t) for other in tensors_in(held)) for t in written)


def _is_spread(tensor: torch.Tensor) -> bool:
    """Whether it has elements of an expanded tensor."""
    return any(stride == 0 and size != 1 for stride, size in zip(tensor.stride(), tensor.shape))


def _is_part(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one is not other and one.untyped_storage()._cdata == other.untyped_storage()._cdata


def is_masked_fill(tensor: torch.Tensor, indices: Sequence[Any], value: torch.Tensor) -> bool:
    """Whether a mask of the tensor's leading sizes gets one value for all its elements."""
    mask = indices[0]
    if len(indices) != 1 or mask is None or mask.dtype != torch.bool or value.numel() != 1:
        return False
    return bool(mask.shape == tensor.shape[: mask.dim()])


@functools.cache
def has_safe_tag(name: str) -> bool:
    """Whether torch says of an operator of ATen that it works element by element, or reduces."""
    packet = getattr(torch.ops.aten, name, None)
    overloads = [getattr(packet, overload) for overload in packet.overloads()] if packet is not None else []
    return any(tag in overload.tags for overload in overloads for tag in SAFE_TAGS)
