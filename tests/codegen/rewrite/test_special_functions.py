"""Special functions and basic rewritings against eager, at special values too."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import capture
from codegen.rewrite.table import OPERATORS
from tests.opinfo.runner import called_as_they_are, reasons_of, recording

aten = torch.ops.aten
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    10.0,
    9.999,
    math.inf,
    -math.inf,
    math.nan,
    -3.0,
    -2.5,
    1e-30,
    1e30,
    0.7,
    -0.999,
]


def native(function: Any, *inputs: torch.Tensor) -> Any:
    """The captured function, with no ATen operator in the graph and nothing that Python runs."""
    capture.reset()
    with recording() as made:
        result = capture.compile(lambda *given: function(*given), fullgraph=True)(*inputs)
    assert made.graphs and not reasons_of(made) and not called_as_they_are(made)
    return result


FUNCTIONS = {
    "digamma": torch.digamma,
    "trigamma": lambda x: torch.polygamma(1, x),
    "polygamma 0": lambda x: torch.polygamma(0, x),
    "erfinv": torch.erfinv,
    "angle": torch.angle,
    "round up": lambda x: torch.round(x, decimals=2),
    "round down": lambda x: torch.round(x * 100, decimals=-2),
    "hypot": lambda x: torch.hypot(x, x.flip(0)),
    "nextafter": lambda x: torch.nextafter(x, x.flip(0)),
    "aminmax": lambda x: torch.aminmax(x, dim=0)[1],
    "ldexp": lambda x: torch.ldexp(x, torch.arange(len(x)) - 8),
    "dist": lambda x: torch.dist(x, x.flip(0), 3),
    "i0": torch.i0,
    "i0e": torch.special.i0e,
    "i1": torch.special.i1,
    "i1e": torch.special.i1e,
    "mvlgamma": lambda x: torch.mvlgamma(x.abs() + 3, 3),
}


CALLED_IN_FLOAT64 = {"ldexp": "the product is not exact", "erfinv": "torch's own is quicker"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str, dtype: torch.dtype) -> None:
    if dtype is torch.float64 and name in CALLED_IN_FLOAT64:
        pytest.skip(f"called as it is: {CALLED_IN_FLOAT64[name]}")
    function = FUNCTIONS[name]
    near = torch.linspace(-4.3, 12.7, 199, dtype=torch.float64).to(dtype)
    for values in (torch.tensor(SPECIAL, dtype=dtype), near, near / 13, near[5])[
        : 4 if name not in ("hypot", "nextafter", "ldexp", "aminmax", "dist") else 3
    ]:
        torch.testing.assert_close(native(function, values), function(values), equal_nan=True)


def test_infinite_ends_have_their_sign() -> None:
    poles = torch.tensor([0.0, -0.0])
    assert native(torch.digamma, poles).tolist() == [-math.inf, math.inf]
    assert native(torch.erfinv, torch.tensor([1.0, -1.0])).tolist() == [math.inf, -math.inf]


def test_every_own_form_is_of_an_operator() -> None:
    assert aten.digamma.default in OPERATORS and all(
        isinstance(op, torch._ops.OpOverload) for op in OPERATORS.all()
    )


@pytest.mark.parametrize("step", [2, 3])
@pytest.mark.parametrize("start", [0, 1])
def test_slices_with_steps(start: int, step: int) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        x[start::step] = y[: len(range(start, 7, step))]
        x[:, start::step] *= 2
        return x

    x, y = torch.randn(7, 6), torch.randn(7, 6)
    assert torch.equal(native(function, x, y), function(x, y))


@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_diagonals(offset: int) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        d = x.diagonal(offset)
        d.copy_(y[: len(d)])
        return x + x.diagonal(offset).sum()

    x, y = torch.randn(5, 6), torch.randn(6)
    torch.testing.assert_close(native(function, x, y), function(x, y))


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", ["std", "std_mean"])
def test_equal_numbers_have_no_deviation(name: str, dynamic: bool) -> None:
    """There is not even a rounding error: the gradient depends on whether it is 0."""
    function = getattr(torch, name)

    def deviation(x: torch.Tensor) -> torch.Tensor:
        found = function(x, 0)
        return found if name == "std" else found[0]

    x = torch.tensor([0.1, 0.7, 3.3]).expand(7, 3).clone()
    x[:, 0] += torch.arange(7)
    results = []
    for run in (deviation, capture.compile(deviation, dynamic=dynamic)):
        leaf = x.clone().requires_grad_()
        out = run(leaf)
        results.append((out, *torch.autograd.grad(out.sum(), leaf)))
    torch.testing.assert_close(results[1], results[0])
    assert torch.equal(results[1][1][:, 1:], torch.zeros(7, 2))


def test_angles_keep_their_dtype_whatever_the_default_is() -> None:
    x = torch.tensor([0.0, -0.0, float("nan"), -float("inf"), 2, -3])
    torch.set_default_dtype(torch.float64)
    try:
        found = capture.compile(torch.angle)(x)
    finally:
        torch.set_default_dtype(torch.float32)
    torch.testing.assert_close(found, torch.angle(x), equal_nan=True)
