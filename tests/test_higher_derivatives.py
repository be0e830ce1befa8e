"""Programs that take gradients of gradients, captured and compiled, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn as nn
from torch.autograd import functional, grad
from torch.func import functional_call

import capture


def critic() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def gradient_penalty(model: nn.Module) -> Any:
    torch.manual_seed(1)
    real, made, share = torch.randn(5, 4), torch.randn(5, 4), torch.rand(5, 1)
    between = (share * real + (1 - share) * made).requires_grad_()
    score = model(between)
    (slope,) = grad(score, between, torch.ones_like(score), create_graph=True)
    loss = model(made).mean() - model(real).mean() + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()
    loss.backward()
    return loss.detach(), [p.grad for p in model.parameters()]


def inner_step(model: nn.Module) -> Any:
    """Gradients through a step of gradient descent."""
    torch.manual_seed(1)
    x, y = torch.randn(5, 4), torch.randn(5, 1)
    weights = dict(model.named_parameters())
    loss = (functional_call(model, weights, (x,)) - y).square().mean()
    grads = grad(loss, list(weights.values()), create_graph=True)
    stepped = {name: w - 0.1 * g for (name, w), g in zip(weights.items(), grads)}
    after = (functional_call(model, stepped, (x,)) - y).square().mean()
    after.backward()
    return after.detach(), [p.grad for p in model.parameters()]


def curvature(model: nn.Module) -> Any:
    """A product with the Hessian, by two backwards."""
    torch.manual_seed(1)
    loss = model(torch.randn(5, 4)).square().mean()
    weights = list(model.parameters())
    grads = grad(loss, weights, create_graph=True)
    direction = [torch.randn_like(w) for w in weights]
    return grad(sum((g * d).sum() for g, d in zip(grads, direction)), weights)


def of_torch(model: nn.Module) -> Any:
    x = torch.linspace(-1, 1, 4)

    def score(x: torch.Tensor) -> torch.Tensor:
        return model(x).sum()

    return (
        functional.hessian(score, x),
        functional.hvp(score, x, x + 1),
        functional.jvp(score, x, x + 1),
        functional.jacobian(score, x, vectorize=True),
    )


@pytest.mark.parametrize("program", [gradient_penalty, inner_step, curvature, of_torch])
def test_as_eager(program: Callable[[nn.Module], Any]) -> None:
    expected = program(critic())
    fast = capture.compile(program)
    for _ in range(2):
        torch.testing.assert_close(fast(critic()), expected)
    torch.testing.assert_close(program(capture.compile(critic())), expected)


def test_hooks_of_what_a_second_backward_does_not_reach() -> None:
    """The gradient of `amax` depends on where the largest element is, which has no derivative."""

    def largest(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.stack([x.sin(), w]).amax(0)

    def calls(function: Callable[..., torch.Tensor]) -> list[Any]:
        log: list[Any] = []
        x, w = torch.tensor([0.5, 2.0], requires_grad=True), torch.tensor([1.0, 0.0], requires_grad=True)
        w.register_hook(lambda tangent: log.append(("w", tangent)))
        result = function(x, w)
        result.register_hook(lambda tangent: log.append(("result", tangent)))
        first = grad(result.sum(), [x, w], create_graph=True)
        log.append(first[0].detach())
        log.append(grad(first[0].sum(), [x, w], allow_unused=True))
        return log

    assert repr(calls(capture.compile(largest))) == repr(calls(largest))


@pytest.mark.filterwarnings("error::capture.CaptureWarning")
@pytest.mark.parametrize("needs_grad", [False, True])
def test_leaves_that_the_graph_makes(needs_grad: bool) -> None:
    def weighted(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        own = torch.ones(3, requires_grad=True)
        return (own * x).sum() + own.exp().sum() * x.sum(), own

    def gradients(function: Callable[..., Any]) -> list[Any]:
        x = torch.arange(3.0, requires_grad=needs_grad)
        result, own = function(x)
        result.backward()
        return [result.detach(), own.grad, x.grad]

    assert repr(gradients(capture.compile(weighted))) == repr(gradients(weighted))


def quotient(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x / w


def root(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x * w.sqrt()


def in_two_segments(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    divisor = w * 1.0
    return x / divisor, divisor


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("program", [quotient, root, in_two_segments])
def test_one_of_several_gradients_is_differentiated(
    program: Callable[..., Any], hooked: bool, dynamic: bool
) -> None:
    """The gradients that nobody asked for have infinite derivatives: times zero, that would be NaN."""

    def gradients(function: Callable[..., Any]) -> list[Any]:
        x, w = (torch.arange(3.0, requires_grad=True) for _ in range(2))
        if hooked:
            x.register_hook(lambda tangent: tangent * 2)
        result = function(x, w)
        result = result[0] if isinstance(result, tuple) else result
        (slope,) = grad(result.sum(), x, create_graph=True)
        slope.sum().backward()
        return [slope.detach(), w.grad, None if hooked else x.grad]

    torch.testing.assert_close(gradients(capture.compile(program, dynamic=dynamic)), gradients(program))
