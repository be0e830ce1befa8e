"""What compilers trace of operators whose numbers can't be tensors.

In:  the arguments of the operator, with 0-d tensors in the dtype of `dtype_of_numbers` for its floats.
Out: other operations on tensors with the same result and the same derivative. Where the operator would raise,
     or has another result for the number, the graph fails: eager's operator runs.

    F.leaky_relu(x, slope)   ->   where(x > 0, x, x * slope)
    torch.addcmul(p, x, y, value=v)   ->   p + x * v * y
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def _scaled(name: str) -> Callable[..., torch.Tensor]:
    def form(tensor: torch.Tensor, other: Any, *old: torch.Tensor, alpha: Any = 1) -> torch.Tensor:
        scaled = other * (old[0] if old else alpha)  # an old form is `add(tensor, alpha, other)`
        return getattr(tensor, name)(scaled)

    return form


def _fused(name: str, combine: Callable[[Any, Any], Any]) -> Callable[..., torch.Tensor]:
    def form(tensor: torch.Tensor, first: Any, second: Any, *, value: Any = 1) -> torch.Tensor:
        return getattr(tensor, name)(combine(first * value, second))

    return form


def _reversed_sub(input: torch.Tensor, other: Any, *, alpha: Any = 1) -> torch.Tensor:
    _check_finite(alpha)
    return other - input * alpha


def _product(multiply: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A factor that is zero hides NaN and infinities of what it multiplies."""

    def form(input: torch.Tensor, *matrices: torch.Tensor, beta: Any = 1, alpha: Any = 1) -> torch.Tensor:
        for factor in map(torch.as_tensor, (beta, alpha)):
            torch._assert_async(torch.isfinite(factor) & (factor != 0), "a factor of other rules")
        return input * beta + multiply(*matrices) * alpha

    return form


def _filled(empty: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def form(shape: Any, fill_value: torch.Tensor, **options: Any) -> torch.Tensor:
        return empty(shape, **options).fill_(fill_value)

    return form


def _new_full(tensor: torch.Tensor, size: Any, fill_value: torch.Tensor, **options: Any) -> torch.Tensor:
    return tensor.new_empty(size, **options).fill_(fill_value)


def _batch_norm(
    input: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: Any = 0.1,
    eps: float = 1e-5,
) -> torch.Tensor:
    """With a momentum of 1, the operator stores the statistics of the batch."""
    if not training or running_mean is None or running_var is None:
        return F.batch_norm(input, running_mean, running_var, weight, bias, training, 0.0, eps)
    mean, var = torch.zeros_like(running_mean), torch.zeros_like(running_var)
    result = F.batch_norm(input, mean, var, weight, bias, training, 1.0, eps)
    for running, of_batch in ((running_mean, mean), (running_var, var)):
        running.copy_(of_batch * momentum + running * (1 - momentum))
    return result


def _exponential(tensor: torch.Tensor, base: torch.Tensor) -> torch.Tensor:
    """Eager's derivative has the logarithm of the number itself, not of what float32 makes of it."""
    torch._assert_async((base != 0) & torch.isfinite(base), "a base that may be another one in float32")
    return torch.pow(base, tensor)


def _xlogy(input: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    if other.ndim == 0:
        torch._assert_async(other != 0, "a number that may be another one in float32")
    return torch.xlogy(input, other)


def _power(name: str) -> Callable[..., torch.Tensor]:
    """Eager takes a square root, with other results for -0.0 and -inf. What is 0 in float32 may be none."""

    def form(tensor: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
        torch._assert_async((exponent.abs() != 0.5) & (exponent != 0), "an exponent of other rules")
        return getattr(tensor, name)(exponent)

    return form


# --- activations ------------------------------------------------------------------------------------------


def _leaky_relu(input: torch.Tensor, negative_slope: Any = 0.01, inplace: bool = False) -> torch.Tensor:
    _check_finite(negative_slope)
    result = torch.where(input > 0, input, input * negative_slope)
    return _in_place(input, result, negative_slope) if inplace else result


def _celu(input: torch.Tensor, alpha: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    for factor in (alpha, 1 / alpha):
        _check_finite(factor.float())  # eager has them in float32 for all dtypes
    below = torch.where(input > 0, 0.0, input)
    result = torch.where(input > 0, input, torch.expm1(below * (1 / alpha)) * alpha)
    return _in_place(input, result, alpha) if inplace else result


def _elu(input: torch.Tensor, alpha: Any = 1.0, inplace: bool = False) -> torch.Tensor:
    _check_finite(alpha)
    below = torch.where(input > 0, 0.0, input)  # else the derivative is infinite where nobody asks for it
    result = torch.where(input > 0, input, torch.expm1(below) * alpha)
    return _in_place(input, result, alpha) if inplace else result


def _hardtanh(
    input: torch.Tensor, min_val: Any = -1.0, max_val: Any = 1.0, inplace: bool = False
) -> torch.Tensor:
    """At its bounds, and for NaN, it has no slope; `clamp` has."""
    torch._assert_async(torch.as_tensor(min_val <= max_val), "min_val cannot be greater than max_val")
    inside = (input > min_val) & (input < max_val)
    result = torch.where(inside, input, input.detach().clamp(min_val, max_val))
    return input.copy_(result) if inplace else result


def _check_finite(number: Any) -> None:
    """Else there are products of zero and infinity where nobody reads the result."""
    torch._assert_async(torch.isfinite(torch.as_tensor(number)), "a number is not finite")


def _in_place(input: torch.Tensor, result: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    torch._assert_async(slope >= 0, "the derivative needs the old elements")
    return input.copy_(result)


def _softplus(input: torch.Tensor, beta: Any = 1.0, threshold: Any = 20.0) -> torch.Tensor:
    _check_finite(beta)
    torch._assert_async(torch.as_tensor(beta != 0), "a division by zero")
    scaled = input * beta
    below = torch.where(scaled > threshold, 0.0, scaled)
    return torch.where(scaled > threshold, input, torch.log1p(torch.exp(below)) / beta)


def _softshrink(input: torch.Tensor, lambd: torch.Tensor) -> torch.Tensor:
    _check_finite(lambd)
    torch._assert_async(lambd >= 0, "lambda is out of range")
    return torch.where(
        input > lambd, input - lambd, torch.where(input < -lambd, input + lambd, _nan_of(input))
    )


def _hardshrink(input: torch.Tensor, lambd: torch.Tensor) -> torch.Tensor:
    _check_finite(lambd)
    return torch.where((input > lambd) | (input < -lambd), input, _nan_of(input))


def _nan_of(input: torch.Tensor) -> torch.Tensor:
    """NaN where the input has it, else zero. There is no slope."""
    return torch.where(input.isnan(), input.detach(), 0.0)


def _threshold(input: torch.Tensor, threshold: Any, value: Any) -> torch.Tensor:
    return torch.where(input <= threshold, value, input)


TRACED_FORMS: dict[str, Callable[..., torch.Tensor]] = {
    "__pow__": _power("__pow__"),
    "__rpow__": _exponential,
    "add": _scaled("add"),
    "add_": _scaled("add_"),
    "addcdiv": _fused("add", operator.truediv),
    "addcdiv_": _fused("add_", operator.truediv),
    "addcmul": _fused("add", operator.mul),
    "addcmul_": _fused("add_", operator.mul),
    "addbmm": _product(lambda one, other: torch.bmm(one, other).sum(0)),
    "addmm": _product(torch.mm),
    "addmv": _product(torch.mv),
    "addr": _product(torch.outer),
    "baddbmm": _product(torch.bmm),
    "functional.batch_norm": _batch_norm,
    "functional.celu": _celu,
    "functional.elu": _elu,
    "functional.hardtanh": _hardtanh,
    "functional.leaky_relu": _leaky_relu,
    "functional.softplus": _softplus,
    "functional.softshrink": _softshrink,
    "hardshrink": _hardshrink,
    "new_full": _new_full,
    "pow": _power("pow"),
    "pow_": _power("pow_"),
    "rsub": _reversed_sub,
    "sub": _scaled("sub"),
    "sub_": _scaled("sub_"),
    "threshold": _threshold,
    "torch.full": _filled(torch.empty),
    "torch.full_like": _filled(torch.empty_like),
    "xlogy": _xlogy,
}
