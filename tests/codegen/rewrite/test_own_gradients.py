"""Gradients by formulas that eager chooses by the values: NaN, infinities, zeros; and their derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture

NAN, INF = float("nan"), float("inf")
VALUES = {
    "plain": [[1.0, -2.0], [3.0, 0.5]],
    "nan": [[1.0, NAN], [3.0, 2.0]],
    "inf": [[1.0, INF], [3.0, 2.0]],
    "one zero": [[1.0, 0.0], [3.0, 2.0]],
    "zeros": [[0.0, 0.0], [3.0, 2.0]],
    "zeros and nan": [[0.0, 0.0], [NAN, 2.0]],
}
PRODUCTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "all": lambda x: x.prod(),
    "a dim": lambda x: torch.prod(x, 0),
    "a dim kept": lambda x: x.prod(dim=-1, keepdim=True),
    "another dtype": lambda x: torch.prod(x, 1, dtype=torch.float64),
    "one element": lambda x: x[:1].prod(0),
    "no dims": lambda x: x[0, 1].prod() * 2,
    "masked": lambda x: torch.masked.prod(x, 0, mask=torch.tensor([[True, True], [True, False]])),
}


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, values: str, dynamic: bool) -> None:
    fn = PRODUCTS[name]
    results = []
    for run in (fn, capture.compile(fn, dynamic=dynamic)):
        x = torch.tensor(VALUES[values], requires_grad=True)
        out = run(x)
        weights = torch.arange(1, 1 + out.numel(), dtype=out.dtype).view(out.shape)
        results.append((out, *torch.autograd.grad((out * weights).sum(), x)))
    torch.testing.assert_close(results[1], results[0], equal_nan=True)


@pytest.mark.parametrize("values", ["plain", "one zero"])
@pytest.mark.parametrize("name", ["all", "a dim", "a dim kept", "another dtype", "masked"])
def test_second_derivatives_of_products(name: str, values: str) -> None:
    fn = PRODUCTS[name]
    results = []
    for run in (fn, capture.compile(fn)):
        x = torch.tensor(VALUES[values], requires_grad=True)
        (first,) = torch.autograd.grad(run(x).sum(), x, create_graph=True)
        results.append(torch.autograd.grad(first.cos().sum(), x, allow_unused=True))
    torch.testing.assert_close(results[1], results[0])


def test_products_in_forward_mode() -> None:
    def fn(x: torch.Tensor, t: torch.Tensor) -> Any:
        return torch.func.jvp(lambda x: x.prod(0), (x,), (t,))

    x, t = torch.tensor([[1.0, 0.0], [3.0, 2.0]]), torch.ones(2, 2)
    torch.testing.assert_close(capture.compile(fn)(x, t), fn(x, t))


SCATTERED: dict[str, Callable[..., torch.Tensor]] = {
    "scatter_reduce": lambda x, source, index: x.scatter_reduce(0, index, source, "prod"),
    "torch.scatter_reduce": lambda x, source, index: torch.scatter_reduce(
        x, 0, index, source, reduce="prod", include_self=False
    ),
    "scatter_reduce_": lambda x, source, index: x.mul(1).scatter_reduce_(0, index, source, reduce="prod"),
    "index_reduce": lambda x, source, index: x.index_reduce(0, index, source, "prod"),
}


@pytest.mark.parametrize("values", [[1.0, 2.0, 0.0, 4.0], [0.0, 0.0, 2.0, 4.0]], ids=["one zero", "zeros"])
@pytest.mark.parametrize("name", SCATTERED)
def test_second_derivatives_of_scattered_products(name: str, values: list[float]) -> None:
    fn, index = SCATTERED[name], torch.tensor([0, 0, 1, 2])
    results: list[Any] = []
    for run in (fn, capture.compile(fn)):
        leaves = [torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor(values, requires_grad=True)]
        first = torch.autograd.grad(run(*leaves, index).cos().sum(), leaves, create_graph=True)
        try:
            second = torch.autograd.grad(sum(grad.sin().sum() for grad in first), leaves)
            results.append((*first, *second))
        except RuntimeError as error:
            results.append(str(error))
    if isinstance(results[0], str):
        assert results[0] == results[1]
    else:
        torch.testing.assert_close(results[1], results[0])


class Checked(torch.autograd.Function):
    """A gradient that has to be below 1."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        torch._assert_async((grad < 1).all(), "a large gradient")
        return grad * 2


def test_checks_in_a_backward() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return Checked.apply(x * 2).sin()

    fast = capture.compile(fn)
    x = torch.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a large gradient"):
        fast(x).backward(torch.ones(3))
    fast(x).backward(torch.full((3,), 0.5))
    assert x.grad is not None and torch.equal(x.grad, torch.full((3,), 2.0))


DECOMPOSED: dict[str, Callable[[torch.Tensor], Any]] = {
    "eig": lambda x: torch.linalg.eig(x).eigenvectors,
    "eigh": lambda x: torch.linalg.eigh(x + x.mH)[1],
}


@pytest.mark.parametrize("name", DECOMPOSED)
def test_gradients_that_depend_on_phases_are_refused(name: str) -> None:
    fn = DECOMPOSED[name]
    start = torch.randn(3, 3, dtype=torch.complex128, generator=torch.Generator().manual_seed(1))
    for loss in (lambda v: v.abs().sum(), lambda v: torch.view_as_real(v).sum()):
        results: list[Any] = []
        for run in (fn, capture.compile(fn)):
            x = start.clone().requires_grad_()
            try:
                loss(run(x)).backward()
                results.append(x.grad)
            except RuntimeError as error:
                results.append(str(error))
        if isinstance(results[0], str):
            assert "ill-defined" in results[0] and results[0] == results[1]
        else:
            torch.testing.assert_close(results[1], results[0])


@pytest.mark.parametrize("function", [torch.scatter_reduce, torch.index_reduce])
def test_scattered_products_into_a_given_tensor(function: Callable[..., torch.Tensor]) -> None:
    def fn(x: torch.Tensor, source: torch.Tensor, index: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return function(x, 0, index, source, "prod", out=out)

    x, source, index = torch.ones(3), torch.arange(4.0), torch.tensor([0, 0, 1, 2])
    assert torch.equal(
        capture.compile(fn)(x, source, index, torch.empty(3)), fn(x, source, index, torch.empty(3))
    )


def test_a_product_called_by_name() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return torch.prod(input=x, dim=0)

    results = []
    for run in (fn, capture.compile(fn)):
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        results.append(torch.autograd.grad(run(x), x))
    torch.testing.assert_close(*results)


NOTHING = {
    "row": torch.ones(0),
    "rows": torch.ones(0, 3),
    "columns": torch.ones(3, 0),
    "transposed": torch.ones(3, 0).t(),
    "permuted": torch.ones(0, 2, 3).permute(2, 0, 1),
}


@pytest.mark.parametrize("dynamic", [False, True], ids=["", "dynamic"])
@pytest.mark.parametrize("name", NOTHING)
def test_products_of_nothing(name: str, dynamic: bool) -> None:
    x = NOTHING[name].clone().requires_grad_()
    for dim in (None, *range(x.dim())):
        function = torch.prod if dim is None else functools.partial(torch.prod, dim=dim)
        captured = capture.compile(lambda x, function=function: function(x), dynamic=dynamic)
        expected, found = (run(x) for run in (function, captured))
        torch.testing.assert_close(found, expected)
        grads = [torch.autograd.grad(y, x, torch.ones_like(y))[0] for y in (expected, found)]
        assert grads[0].shape == grads[1].shape
        assert grads[0].stride() == grads[1].stride()


def test_a_product_along_a_dim_that_changes() -> None:
    """Division by NaN as in eager, also if the dim is a symbol."""

    def function(x: torch.Tensor, dim: int) -> torch.Tensor:
        return x.prod(dim % 2)

    captured = capture.compile(function, dynamic=True)
    for dim in (2, 3):
        x = torch.tensor([[float("nan"), 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
        expected, found = (torch.autograd.grad(run(x, dim).sum(), x)[0] for run in (function, captured))
        torch.testing.assert_close(found, expected, equal_nan=True)


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian"])
@pytest.mark.parametrize("gradient", [2.0, INF, NAN])
def test_the_gradient_of_a_chosen_element_stays_there(name: str, gradient: float) -> None:
    def run(function: Any) -> torch.Tensor:
        x = torch.tensor([[1.0, 3.0, 3.0], [0.0, -1.0, -1.0]], requires_grad=True)
        function(x).backward(torch.tensor(gradient))
        assert x.grad is not None
        return x.grad

    function = getattr(torch, name)
    torch.testing.assert_close(
        run(capture.compile(lambda x: function(x))), run(function), equal_nan=True, rtol=0, atol=0
    )


def test_second_derivatives_of_chosen_elements() -> None:
    def run(function: Any) -> torch.Tensor:
        x = torch.tensor([4.0, 1.0, 4.0, 2.0], requires_grad=True)
        (first,) = torch.autograd.grad(function(x), x, create_graph=True)
        (second,) = torch.autograd.grad((first * first).sum(), x)
        return second

    def products(x: torch.Tensor) -> torch.Tensor:
        return x.max() * x.sum() + x.median() ** 3

    torch.testing.assert_close(run(capture.compile(products)), run(products))
