"""Dtypes and numbers that eager refuses, though rules of fake tensors take them: eager's error comes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture
from codegen.fake import eager_kernels

IMAGE, ROW, FLOATS = torch.ones(1, 2, 4, 4), torch.ones(4), torch.ones(3)

REFUSED: list[tuple[Callable[..., Any], torch.Tensor]] = [
    (lambda x: F.interpolate(x, scale_factor=2), IMAGE.long()),
    (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), IMAGE.bool()),
    (lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"), IMAGE.cfloat()),
    (lambda x: F.hardshrink(x), ROW.long()),
    (lambda x: F.max_pool1d(x[None], 2), ROW.bool()),
    (lambda x: F.multi_margin_loss(x[None], torch.tensor([1])), ROW.long()),
    (lambda x: x.logcumsumexp(0), ROW.long()),
    (lambda x: torch.complex(x, x), ROW.bfloat16()),
    (lambda x: x | 1.5, ROW.long()),
    (lambda x: x - False, FLOATS),
    (lambda x: F.celu(x, 0), FLOATS),
    (lambda x: x.remainder(0), ROW.long()),
    (lambda x: torch.add(x, x, alpha=1j), ROW.long()),
    (lambda x: torch.full_like(x, float("nan")), ROW.long()),
    (lambda x: torch.lerp(x, x.double(), 2), ROW.int()),
    (lambda x: (x.sub_(1), F.hardshrink(x))[0], ROW.long()),
]


@pytest.fixture(autouse=True)
def _nothing_known() -> None:
    eager_kernels._accepted.clear()
    capture.reset()


def error_of(function: Callable[..., Any], x: torch.Tensor) -> tuple[type[Exception], str]:
    with pytest.raises(Exception, match=".") as caught:
        function(x.clone())
    return caught.type, str(caught.value)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(("function", "x"), REFUSED)
def test_errors_are_eagers(function: Callable[..., Any], x: torch.Tensor, dynamic: bool | None) -> None:
    captured = capture.compile(function, dynamic=dynamic)
    for _ in range(2):
        assert error_of(captured, x) == error_of(function, x)


def test_a_value_says_nothing() -> None:
    """Zeros and ones have no inverse and are no good divisors; the program's numbers are."""
    square, count = torch.eye(3, dtype=torch.cfloat) * 2, torch.tensor([4, 6])
    for function, x in [
        (lambda x: torch.linalg.inv(x), square),
        (lambda x: torch.linalg.cholesky(x), square),
        (lambda x: torch.div(12, x, rounding_mode="floor"), count),
        (lambda x: torch.arange(9)[x], count),
        (lambda x: F.embedding(x, torch.arange(18.0).view(9, 2)), count),
    ]:
        assert torch.equal(capture.compile(function, fullgraph=True)(x), function(x))


def test_eager_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    answer = eager_kernels._answer
    monkeypatch.setattr(eager_kernels, "_answer", lambda *call: (asked.append(call), answer(*call))[1])

    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x + 1) * (x + 2) + y.relu().sum(0) * 2

    for size in (3, 4):
        capture.reset()
        capture.compile(f)(torch.arange(size), torch.randn(2, size))
    # x + number, x * x, integers + floats
    assert len(asked) == 3


def test_no_random_number_is_drawn() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.bernoulli(x.half() * 0.5)

    torch.manual_seed(0)
    expected = f(FLOATS), torch.get_rng_state()
    torch.manual_seed(0)
    assert torch.equal(capture.compile(f)(FLOATS), expected[0])
    assert torch.equal(torch.get_rng_state(), expected[1])


def test_warnings_come_once() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(x.half(), x[:1].half()) + F.tanh(x).sum()

    F.mse_loss.__globals__.pop("__warningregistry__", None)
    globals().pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        capture.compile(f)(FLOATS)
    assert len(caught) == 1


COMPARED: list[Callable[..., Any]] = [
    lambda x: (x == 1j, x != 1j, x.ne(0j), x == 0j),
    lambda x: F.threshold(x, 1, 1j),
    lambda x: torch.where(x > 0, x, 1j),
]


@pytest.mark.parametrize("x", [torch.zeros(2), torch.tensor([0, 1]), torch.tensor([True, False])], ids=repr)
@pytest.mark.parametrize("function", COMPARED)
def test_complex_numbers_beside_real_tensors(
    function: Callable[..., Any], x: torch.Tensor, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        expected = function(x)
    except (RuntimeError, TypeError):
        assert error_of(capture.compile(function), x) == error_of(function, x)
        return
    torch.testing.assert_close(capture.compile(function)(x), expected)
    assert not caplog.records


def test_dtypes_of_mixed_floats() -> None:
    """The rule for `huber_loss` promotes, its kernel takes the dtype of the first argument."""
    for function in (F.huber_loss, F.smooth_l1_loss, F.mse_loss, torch.dist, torch.hypot, F.l1_loss):

        def f(x: torch.Tensor, y: torch.Tensor, function: Any = function) -> torch.Tensor:
            return function(x, y) + x.sum()  # type: ignore[no-any-return]

        x, y = torch.tensor([1.0, 2.0]).bfloat16(), torch.tensor([0.5, 4.0]).half()
        torch.testing.assert_close(capture.compile(f)(x, y), f(x, y), rtol=0.02, atol=0)
