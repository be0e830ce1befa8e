"""Fits the polynomials of the functions that are inline and prints `codegen/llvm/polynomials.py`.

In:  a function, an interval, a degree and the weight of an error there.
Out: coefficients with near-minimax error. The fit is weighted least squares; the weights are raised where the
     error is largest (Lawson's iteration). Each coefficient is rounded to float32 in turn, and the lower ones
     are fitted again.

    python scripts/fit_polynomials.py > codegen/llvm/polynomials.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath
import numpy as np

mpmath.mp.dps = 40
Function = Callable[[mpmath.mpf], mpmath.mpf]


@dataclass(frozen=True)
class Fit:
    """A polynomial in `variable(x)` that approximates `target(x)`; `scale(x)` turns its error into the
    relative error of the result.
    """

    name: str
    comment: str
    target: Function
    variable: Function
    scale: Function
    low: float
    high: float
    degree: int


def _exp_rest(r: mpmath.mpf) -> mpmath.mpf:
    return (mpmath.expm1(r) - r) / r**2


def _exp2_rest(r: mpmath.mpf) -> mpmath.mpf:
    return mpmath.expm1(r * mpmath.log(2)) / r


def _log_rest(f: mpmath.mpf) -> mpmath.mpf:
    return (mpmath.log1p(f) - f + f**2 / 2) / f**3


LN2_HALF = 0.34657359
FITS = (
    Fit(
        "EXP",
        "(exp(r) - 1 - r) / r**2, |r| <= log(2) / 2",
        _exp_rest,
        lambda r: r,
        lambda r: r**2 / mpmath.exp(r),
        -LN2_HALF,
        LN2_HALF,
        4,
    ),
    Fit(
        "EXP2",
        "(2**r - 1) / r, |r| <= 1/2",
        _exp2_rest,
        lambda r: r,
        lambda r: r / mpmath.power(2, r),
        -0.5,
        0.5,
        6,
    ),
    Fit(
        "LOG",
        "(log(1 + f) - f + f**2 / 2) / f**3, sqrt(1/2) <= 1 + f <= sqrt(2)",
        _log_rest,
        lambda f: f,
        lambda f: f**3 / mpmath.log1p(f),
        -0.29289323,
        0.41421357,
        8,
    ),
    Fit(
        "TANH",
        "(tanh(x) - x) / x**3 in x**2, |x| <= 0.625",
        lambda x: (mpmath.tanh(x) - x) / x**3,
        lambda x: x**2,
        lambda x: x**3 / mpmath.tanh(x),
        1e-3,
        0.625,
        4,
    ),
    Fit(
        "SIN",
        "(sin(r) - r) / r**3 in r**2, |r| <= pi / 4 and what a rounded quotient adds",
        lambda r: (mpmath.sin(r) - r) / r**3,
        lambda r: r**2,
        lambda r: r**3 / mpmath.sin(r),
        1e-3,
        0.7864,
        2,
    ),
    Fit(
        "COS",
        "(cos(r) - 1 + r**2 / 2) / r**4 in r**2, the same r",
        lambda r: (mpmath.cos(r) - 1 + r**2 / 2) / r**4,
        lambda r: r**2,
        lambda r: r**4 / mpmath.cos(r),
        1e-2,
        0.7864,
        2,
    ),
    Fit(
        "ERF_NEAR",
        "erf(x) / x - 1 in x**2, |x| <= 0.9375",
        lambda x: mpmath.erf(x) / x - 1,
        lambda x: x**2,
        lambda x: x / mpmath.erf(x),
        1e-3,
        0.9375,
        6,
    ),
    Fit(
        "ERF_FAR",
        "log(erfc(x)) / x, 0.9375 <= x <= 4",
        lambda x: mpmath.log(mpmath.erfc(x)) / x,
        lambda x: x,
        lambda x: x * mpmath.erfc(x) / mpmath.erf(x),
        0.9375,
        4.0,
        7,
    ),
    Fit(
        "ERFC_LOG2",
        "log2(erfc(x)) / x, 0 <= x <= 4.2; exact where erfc is large",
        lambda x: mpmath.log(mpmath.erfc(x), 2) / x,
        lambda x: x,
        lambda x: x * mpmath.erfc(x) * mpmath.log(2) / 2,
        1e-3,
        4.2,
        7,
    ),
    Fit(
        "EXP2_SHORT",
        "2**r, |r| <= 1/2; to 1.2e-7",
        lambda r: mpmath.power(2, r),
        lambda r: r,
        lambda r: 1 / mpmath.power(2, r),
        -0.5,
        0.5,
        5,
    ),
)


def samples(fit: Fit, count: int = 800) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Chebyshev nodes: the variable, the target, and the weight of an error."""
    nodes = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    points = [
        mpmath.mpf(float(point)) for point in (fit.low + fit.high) / 2 + nodes * (fit.high - fit.low) / 2
    ]
    columns = [[function(point) for point in points] for function in (fit.variable, fit.target, fit.scale)]
    variable, target, scale = (
        np.array([float(value) for value in column], dtype=np.float64) for column in columns
    )
    return variable, target, np.abs(scale)


def minimax(variable: np.ndarray, target: np.ndarray, weight: np.ndarray, powers: list[int]) -> np.ndarray:
    """Coefficients of `powers` whose largest weighted error is near the least possible."""
    basis = np.stack([variable**power for power in powers], axis=1)
    density = np.ones_like(variable) / len(variable)
    best, best_error = np.zeros(len(powers)), np.inf
    for _ in range(60):
        root = np.sqrt(density) * weight
        coefficients = np.linalg.lstsq(basis * root[:, None], target * root, rcond=None)[0]
        errors = np.abs(basis @ coefficients - target) * weight
        if errors.max() < best_error:
            best, best_error = coefficients, errors.max()
        density = density * (errors + 1e-3 * errors.max())
        density /= density.sum()
    return best


def coefficients_of(fit: Fit) -> list[float]:
    """From the highest power to the lowest, each a float32."""
    variable, target, weight = samples(fit)
    powers = list(range(fit.degree + 1))
    fixed: dict[int, float] = {}
    for power in range(fit.degree + 1):
        known = sum((value * variable**done for done, value in fixed.items()), np.zeros_like(variable))
        remaining = powers[power:]
        fixed[power] = float(np.float32(minimax(variable, target - known, weight, remaining)[0]))
    return [fixed[power] for power in reversed(powers)]


@dataclass(frozen=True)
class WideFit:
    """A fit in float64, by Chebyshev's interpolation in more digits: each coefficient is rounded by
    itself.
    """

    name: str
    comment: str
    target: Function
    low: float
    high: float
    degree: int

    def coefficients(self) -> list[float]:
        fitted = mpmath.chebyfit(self.target, [self.low, self.high], self.degree + 1)
        return [float(coefficient) for coefficient in fitted]


WIDE_FITS = (
    WideFit(
        "EXP_F64",
        "(exp(r) - 1 - r) / r**2, |r| <= log(2) / 2, in float64",
        lambda r: _exp_rest(r) if r else mpmath.mpf(0.5),
        -LN2_HALF,
        LN2_HALF,
        9,
    ),
)

HEADER = '''"""Coefficients of the functions in `codegen/llvm/math.py` and `codegen/llvm/sines.py`.

In:  nothing: scripts/fit_polynomials.py prints this file, do not edit it.
Out: tuples. Each coefficient is a float32 unless the name says otherwise; that of the highest power comes
     first.
"""
'''


def show(name: str, comment: str, coefficients: list[float]) -> None:
    print(f"# {comment}")
    print(f"{name} = (")
    for coefficient in coefficients:
        print(f"    {coefficient!r},")
    print(")")


def main() -> None:
    print(HEADER)
    for fit in FITS:
        show(fit.name, fit.comment, coefficients_of(fit))
    for wide in WIDE_FITS:
        show(wide.name, wide.comment, wide.coefficients())


if __name__ == "__main__":
    main()
