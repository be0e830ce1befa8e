"""Special functions by eager's own algorithms, as elementwise operators that fuse.

In:  a call of a special function, such as `digamma` or `i0`.
Out: elementwise operators.

    digamma(x)   ->   the recurrence up to 10 and the asymptotic series, selected by masks

Eager leaves some loops early. Here they are unrolled to their longest form; an element that is done keeps its
value.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from codegen.rewrite.chebyshev_tables import I0_FAR, I0_NEAR, I1_FAR, I1_NEAR
from codegen.rewrite.rows import rewriting, row_major

aten = torch.ops.aten
PSI_10 = 2.25175258906672110764
DIGAMMA_SERIES = (
    8.33333333333333333333e-2,
    -2.10927960927960927961e-2,
    7.57575757575757575758e-3,
    -4.16666666666666666667e-3,
    3.96825396825396825397e-3,
    -8.33333333333333333333e-3,
    8.33333333333333333333e-2,
)


def polynomial(argument: torch.Tensor, coefficients: tuple[float, ...]) -> torch.Tensor:
    """Horner's rule; the coefficient of the highest power comes first."""
    total: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        total = aten.add(aten.mul(argument, total), coefficient)
    return total


@rewriting(aten.digamma.default, any_size=True)
def digamma(tensor: torch.Tensor) -> torch.Tensor:
    positive = aten.where(aten.lt(tensor, 0), aten.rsub(tensor, 1), tensor)
    found = digamma_of_positive(positive)
    fraction = aten.sub(tensor, aten.trunc(tensor))
    wide = aten._to_copy(fraction, dtype=torch.float64)
    cotangent = aten._to_copy(aten.div(math.pi, aten.tan(aten.mul(wide, math.pi))), dtype=tensor.dtype)
    reflected = aten.where(aten.eq(fraction, 0), math.nan, aten.sub(found, cotangent))
    found = aten.where(aten.lt(tensor, 0), reflected, found)
    pole = aten.copysign(aten.full_like(tensor, math.inf), aten.neg(tensor))
    return aten.where(aten.eq(tensor, 0), pole, found)


def digamma_of_positive(tensor: torch.Tensor) -> torch.Tensor:
    total: Any = aten.zeros_like(tensor)
    for _ in range(10):
        small = aten.lt(tensor, 10)
        total = aten.where(small, aten.sub(total, aten.reciprocal(tensor)), total)
        tensor = aten.where(small, aten.add(tensor, 1), tensor)
    square = aten.reciprocal(aten.mul(tensor, tensor))
    series = aten.mul(square, polynomial(square, DIGAMMA_SERIES))
    far = aten.sub(aten.sub(aten.log(tensor), aten.div(0.5, tensor)), series)
    return aten.add(aten.where(aten.eq(tensor, 10), PSI_10, far), total)


@rewriting(aten.polygamma.default, probe=1, any_size=True)
def polygamma(order: int, tensor: torch.Tensor) -> Any:
    if order == 0:
        return digamma(tensor)
    return trigamma(tensor) if order == 1 else NotImplemented


def trigamma(tensor: torch.Tensor) -> torch.Tensor:
    mirrored = aten.lt(tensor, 0.5)
    sine = aten.sin(aten.mul(tensor, math.pi))
    total = aten.where(mirrored, aten.div(-math.pi * math.pi, aten.mul(sine, sine)), 0.0)
    argument = aten.where(mirrored, aten.rsub(tensor, 1), tensor)
    for _ in range(6):
        total = aten.add(total, aten.reciprocal(aten.mul(argument, argument)))
        argument = aten.add(argument, 1)
    square = aten.reciprocal(aten.mul(argument, argument))
    series = polynomial(square, (1 / 42, -1 / 30, 1 / 6))
    tail = aten.add(aten.add(aten.div(0.5, argument), aten.mul(square, series)), 1)
    total = aten.add(total, aten.div(tail, argument))
    return aten.where(mirrored, aten.neg(total), total)


@rewriting(aten.mvlgamma.default, any_size=True)
def mvlgamma(tensor: torch.Tensor, p: int) -> torch.Tensor:
    total: Any = aten.lgamma(tensor)
    for i in range(1, p):
        total = aten.add(total, aten.lgamma(aten.sub(tensor, i / 2)))
    return row_major(aten.add(total, p * (p - 1) * math.log(math.pi) / 4))


# --- inverse error function -------------------------------------------------------------------------------

INNER = (
    (-0.140543331, 0.914624893, -1.645349621, 0.886226899),
    (
        0.012229801,
        -0.329097515,
        1.442710462,
        -2.118377725,
        1.0,
    ),
)
OUTER = (1.641345311, 3.429567803, -1.624906493, -1.970840454), (1.637067800, 3.543889200, 1.0)


@rewriting(aten.erfinv.default, any_size=True)
def erfinv(tensor: torch.Tensor) -> Any:
    """A rational start value and two steps of Newton's method.

    In float64 eager's own kernel is twice as fast.
    """
    if tensor.dtype is torch.float64:
        return NotImplemented
    square = aten.mul(tensor, tensor)
    inner = aten.div(aten.mul(tensor, polynomial(square, INNER[0])), polynomial(square, INNER[1]))
    magnitude = aten.abs(tensor)
    root = aten.sqrt(aten.neg(aten.log(aten.div(aten.rsub(magnitude, 1), 2))))
    outer = aten.div(aten.copysign(polynomial(root, OUTER[0]), tensor), polynomial(root, OUTER[1]))
    found = aten.where(aten.le(magnitude, 0.7), inner, outer)
    for _ in range(2):
        slope = aten.mul(aten.exp(aten.neg(aten.mul(found, found))), 2 / math.sqrt(math.pi))
        found = aten.sub(found, aten.div(aten.sub(aten.erf(found), tensor), slope))
    ends = aten.copysign(aten.full_like(tensor, math.inf), tensor)
    found = aten.where(aten.eq(magnitude, 1), ends, found)
    return aten.where(aten.gt(magnitude, 1), math.nan, found)


# --- modified Bessel functions ----------------------------------------------------------------------------


def chebyshev(argument: torch.Tensor, coefficients: tuple[float, ...]) -> torch.Tensor:
    """Clenshaw's recurrence as in Cephes: half the difference of the last two terms.

    In float32 the coefficients that are too small to change the result are left out.
    """
    if argument.dtype is torch.float32:
        least = 1e-9 * max(map(abs, coefficients))
        first = next(i for i, coefficient in enumerate(coefficients) if abs(coefficient) > least)
        coefficients = coefficients[first:]
    newest: Any = coefficients[0]
    last: Any = 0.0
    before: Any = 0.0
    for coefficient in coefficients[1:]:
        before, last = last, newest
        newest = aten.add(aten.sub(aten.mul(argument, last), before), coefficient)
    return aten.mul(aten.sub(newest, before), 0.5)


def scaled_bessel(magnitude: torch.Tensor, near: tuple[float, ...], far: tuple[float, ...]) -> torch.Tensor:
    """exp(-x) I(x) for x >= 0; near 0, I1 is without its factor x."""
    inner = chebyshev(aten.sub(aten.div(magnitude, 2), 2), near)
    outer = aten.div(chebyshev(aten.sub(aten.div(32.0, magnitude), 2), far), aten.sqrt(magnitude))
    return aten.where(aten.le(magnitude, 8), inner, outer)


@rewriting(aten.special_i0e.default, any_size=True)
def i0e(tensor: torch.Tensor) -> torch.Tensor:
    return scaled_bessel(aten.abs(tensor), I0_NEAR, I0_FAR)


@rewriting(aten.i0.default, aten.special_modified_bessel_i0.default, any_size=True)
def i0(tensor: torch.Tensor) -> torch.Tensor:
    return aten.mul(aten.exp(aten.abs(tensor)), i0e(tensor))


@rewriting(aten.special_i1e.default, any_size=True)
def i1e(tensor: torch.Tensor) -> torch.Tensor:
    magnitude = aten.abs(tensor)
    scaled = scaled_bessel(magnitude, I1_NEAR, I1_FAR)
    found = aten.where(aten.le(magnitude, 8), aten.mul(scaled, magnitude), scaled)
    return aten.where(aten.lt(tensor, 0), aten.neg(found), found)


@rewriting(aten.special_i1.default, aten.special_modified_bessel_i1.default, any_size=True)
def i1(tensor: torch.Tensor) -> torch.Tensor:
    return aten.mul(aten.exp(aten.abs(tensor)), i1e(tensor))
