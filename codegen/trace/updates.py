"""What an optimizer does to one parameter, as one operation of a graph.

In:  a call of a fused operator of torch, over lists of parameters, gradients and states.
Out: for each parameter one call of a function of this file, whose results are its new contents and those of
     its states.

    _fused_adamw_([p0, p1], [g0, g1], ...)   ->   adam(p0, g0, ...); adam(p1, g1, ...)

The functions compute what the loops of `torch.optim` compute, in the same order (Loshchilov and Hutter,
Decoupled Weight Decay Regularization, 2019, for AdamW). `codegen/lower/updates.py` has them as definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._ops import OpOverload

from capture_records import dataclass
from codegen.fake.shapes.spec import is_dense
from codegen.kernel.errors import UntraceableError

aten = torch.ops.aten
Tensors = tuple[torch.Tensor, ...]
DTYPES = (torch.float32, torch.float64)  # in half precision, eager's loops round after each operation
SCALES = ("grad_scale", "found_inf")


def adam(
    param: torch.Tensor,
    grad: torch.Tensor,
    exp_avg: torch.Tensor,
    exp_avg_sq: torch.Tensor,
    max_exp_avg_sq: torch.Tensor | None,
    step: torch.Tensor,
    *,
    lr: float | torch.Tensor,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    decoupled: bool,
) -> Tensors:
    """The new parameter, averages of the gradient and its square, and the maximum of the latter, if given."""
    lr, count = float(lr), float(step)
    grad = -grad if maximize else grad
    if weight_decay != 0 and decoupled:
        param = param * (1 - lr * weight_decay)
    elif weight_decay != 0:
        grad = grad.add(param, alpha=weight_decay)
    exp_avg = exp_avg.lerp(grad, 1 - beta1)
    exp_avg_sq = (exp_avg_sq * beta2).addcmul(grad, grad, value=1 - beta2)
    largest = exp_avg_sq if max_exp_avg_sq is None else torch.maximum(max_exp_avg_sq, exp_avg_sq)
    denominator = largest.sqrt() / (1 - beta2**count) ** 0.5 + eps
    param = param.addcdiv(exp_avg, denominator, value=-lr / (1 - beta1**count))
    return (param, exp_avg, exp_avg_sq) if max_exp_avg_sq is None else (param, exp_avg, exp_avg_sq, largest)


def sgd(
    param: torch.Tensor,
    grad: torch.Tensor,
    momentum_buffer: torch.Tensor | None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float | torch.Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
) -> Tensors:
    """The new parameter and, if given, its new momentum."""
    grad = -grad if maximize else grad
    if weight_decay != 0:
        grad = grad.add(param, alpha=weight_decay)
    if momentum_buffer is None:
        return (param.add(grad, alpha=-float(lr)),)
    buffer = grad if is_first_step else (momentum_buffer * momentum).add(grad, alpha=1 - dampening)
    change = grad.add(buffer, alpha=momentum) if nesterov else buffer
    return param.add(change, alpha=-float(lr)), buffer.clone() if is_first_step else buffer


@dataclass(frozen=True, slots=True)
class Update:
    """`function` computes the update. `step`: the position of the list of step counts, which is only read, as
    the gradients are. `options`: more keywords for the function.
    """

    function: Callable[..., Tensors]
    step: int | None = None
    options: tuple[tuple[str, Any], ...] = ()


GRADS = 1  # the position of the gradients
_ROWS: dict[str, Update] = {
    "_fused_adam_": Update(adam, 5, (("decoupled", False),)),
    "_fused_adamw_": Update(adam, 5, (("decoupled", True),)),
    "_fused_sgd_": Update(sgd),
}
UPDATES: dict[OpOverload, Update] = {
    getattr(getattr(aten, name), overload): update
    for name, update in _ROWS.items()
    for overload in ("default", "tensor_lr")
}


def has_no_gaps(tensor: torch.Tensor) -> bool:
    return is_dense(tuple(tensor.shape), tensor.stride())


def calls_of(
    func: OpOverload, lists: Sequence[Any], given: dict[str, Any]
) -> Iterator[tuple[list[Any], list[Any], dict[str, Any]]]:
    """For each parameter: the tensors of the call, those that it writes, and its options.

    An empty list is one that the optimizer does not need. torch walks through the memory of all tensors at
    once, whatever their strides are: with several layouts it computes something else.
    """
    update = UPDATES[func]
    options = {name: value for name, value in given.items() if name not in SCALES} | dict(update.options)
    if options.pop("amsgrad", False) != (update.function is adam and bool(lists[4])):
        raise UntraceableError(f"a call of {func} with other states than it asks for")
    if any(given.get(name) is not None for name in SCALES):
        raise UntraceableError(f"a call of {func} that scales gradients")
    filled = [items or [None] * len(lists[0]) for items in lists]
    for tensors in zip(*filled, strict=True):
        like_param = [t for i, t in enumerate(tensors) if t is not None and i != update.step]
        kinds = {(t.dtype, t.shape, t.stride()) for t in like_param}
        if len(kinds) != 1 or tensors[0].dtype not in DTYPES or not has_no_gaps(tensors[0]):
            raise UntraceableError(f"a call of {func} with tensors of several layouts, or in half precision")
        written = [t for t in like_param if t is not tensors[GRADS]]
        yield list(tensors), written, options
