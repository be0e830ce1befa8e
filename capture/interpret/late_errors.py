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

#: operators that raise for no value of their arguments, beside views and those that torch has tags for
SAFE = frozenset(
    [
        "_amp_foreach_non_finite_check_and_unscale_",
        "_amp_update_scale_",
        "_adaptive_avg_pool2d",
        "_fft_c2c",
        "_fft_c2r",
        "_fft_r2c",
        "_log_softmax",
        "_softmax",
        "_to_copy",
        "_unsafe_view",
        "addmm",
        "addmv",
        "arange",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "baddbmm",
        "bmm",
        "cat",
        "constant_pad_nd",
        "convolution",
        "copy_",
        "cummax",
        "cummin",
        "cumprod",
        "cumsum",
        "dot",
        "empty",
        "eye",
        "fill_",
        "flip",
        "full",
        "glu",
        "huber_loss",
        "im2col",
        "col2im",
        "l1_loss",
        "linspace",
        "lift_fresh",
        "logcumsumexp",
        "masked_fill_",
        "max_pool2d_with_indices",
        "mm",
        "mse_loss",
        "mv",
        "native_batch_norm",
        "native_dropout",
        "native_group_norm",
        "native_layer_norm",
        "ones",
        "rand",
        "rand_like",
        "randn",
        "randn_like",
        "repeat",
        "roll",
        "scalar_tensor",
        "smooth_l1_loss",
        "sort",
        "stack",
        "topk",
        "tril",
        "triu",
        "upsample_bilinear2d",
        "upsample_nearest2d",
        "zero_",
        "zeros",
        "_native_batch_norm_legit",
        "empty_like",
        "full_like",
        "ones_like",
        "zeros_like",
        "new_empty",
        "new_full",
        "new_ones",
        "new_zeros",
        "empty_strided",
        "new_empty_strided",
        "fill",
        "detach",
        "detach_",
        "logsumexp",
        "std",
        "var",
        "std_mean",
        "var_mean",
    ]
)
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
        self.may_raise |= not is_safe(func, args[:1] if result is None else [result])
        return result


def is_safe(operator: OpOverload, results: Sequence[Any]) -> bool:
    """`results`: tensors and lists of tensors."""
    name = operator._schema.name.removeprefix("aten::").removeprefix("_foreach_")
    if operator.namespace == "prim" or operator in SAFE_DRAWS:  # prim: questions about a tensor
        return True
    if name.removesuffix("_") in OF_INTEGERS:
        return all(tensor.is_floating_point() or tensor.is_complex() for tensor in tensors_in(results))
    return name in SAFE or operator.is_view or has_safe_tag(name.removesuffix("_")) or has_safe_tag(name)


@functools.cache
def has_safe_tag(name: str) -> bool:
    """Whether torch says of an operator of ATen that it works element by element, or reduces."""
    packet = getattr(torch.ops.aten, name, None)
    overloads = [getattr(packet, overload) for overload in packet.overloads()] if packet is not None else []
    return any(tag in overload.tags for overload in overloads for tag in SAFE_TAGS)
