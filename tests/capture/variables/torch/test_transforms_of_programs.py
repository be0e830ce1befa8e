"""What the program's own loop calls: functions that `vmap` and `grad` made outside of captured frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, grad_and_value, vmap

import capture

pytest.importorskip("_capture")

net = nn.Linear(3, 2)
scale = 2.0


@pytest.fixture(autouse=True)
def first() -> Iterator[None]:
    torch.manual_seed(0)
    capture.reset()
    with capture.config.patch(when="first"):
        yield
    capture.reset()


def loss(parameters: Any, x: Tensor, y: Tensor) -> Tensor:
    return (functional_call(net, parameters, (x,)) * scale - y).pow(2).sum()


def plain(x: Tensor, y: Tensor) -> Tensor:
    return (x * y).sin().sum()


def with_more(x: Tensor, y: Tensor) -> Any:
    return plain(x, y), {"twice": x * 2}


def loop(call: Callable[[], Any]) -> Any:
    """A frame of the program that is left to Python; what it calls is captured."""
    return capture.disable(call, recursive=False)()


def three_times(call: Callable[[], Any], graphs: int | None = None) -> None:
    """The same results as in eager, from so many new graphs."""
    expected = call()
    compiled = capture.counters["graphs"]["compiled"]
    with capture.enable():
        found = [loop(call) for _ in range(3)]
    for each in found:
        torch.testing.assert_close(each, expected)
    if graphs is not None:
        assert capture.counters["graphs"]["compiled"] - compiled == graphs


def values() -> tuple[Tensor, Tensor]:
    return torch.randn(4, 3), torch.randn(4, 3)


def test_gradients_of_samples() -> None:
    made = vmap(grad_and_value(loss), in_dims=(None, 0, 0))
    parameters = {name: value.detach() for name, value in net.named_parameters()}
    x, y = torch.randn(5, 3), torch.randn(5, 2)
    three_times(lambda: made(parameters, x, y), 1)


@pytest.mark.parametrize(
    "made",
    [
        vmap(plain),
        vmap(plain, in_dims=1),
        vmap(plain, in_dims=(0, None), chunk_size=2),
        grad(plain),
        grad(plain, argnums=(0, 1)),
        grad(with_more, has_aux=True),
        grad_and_value(plain, argnums=1),
        grad_and_value(with_more, has_aux=True),
        vmap(grad(plain)),
        grad(lambda x, y: vmap(plain)(x, y).sum()),
        grad(lambda x, y: grad(plain)(x, y).sum()),
    ],
)
def test_each(made: Any) -> None:
    x, y = values()
    three_times(lambda: made(x, y), 1)


def test_named_arguments() -> None:
    x, y = values()
    made = grad(plain), grad_and_value(plain), vmap(plain)
    three_times(lambda: [each(x, y=y) for each in made], 3)


def test_autograd_around_them() -> None:
    made = vmap(plain)
    x, y = values()

    def call() -> Tensor:
        leaf = x.clone().requires_grad_()
        made(leaf, y).pow(2).sum().backward()
        assert leaf.grad is not None
        return leaf.grad

    three_times(call, 1)


def test_another_function_and_another_global() -> None:
    global scale
    x, y = torch.randn(3), torch.randn(2)
    parameters = dict(net.named_parameters())
    try:
        for scale in (2.0, 3.0):
            three_times(lambda: grad(loss)(parameters, x, y))
        three_times(lambda: grad(plain)(x, x), 1)
    finally:
        scale = 2.0


def test_errors_are_eagers() -> None:
    made = grad(lambda x: x * 2)  # no scalar
    with pytest.raises(RuntimeError) as expected:
        made(torch.ones(3))
    with capture.enable(), pytest.raises(RuntimeError) as found:
        made(torch.ones(3))
    assert str(found.value) == str(expected.value)


def test_values_decide_inside() -> None:
    """The wrapper is left to Python where its body can't be a graph."""
    made = grad(lambda x: x.sin().sum() if x.sum() > 0 else x.sum())
    x = torch.ones(3)
    expected = made(x), made(-x)
    with capture.enable():
        for _ in range(2):
            torch.testing.assert_close((made(x), made(-x)), expected)


def test_random_numbers() -> None:
    made = vmap(lambda x: x + torch.rand(3), randomness="different")
    x, found = torch.randn(4, 3), []
    for captured in (False, True):
        torch.manual_seed(1)
        if captured:
            with capture.enable():
                found.append([made(x), made(x)])
        else:
            found.append([made(x), made(x)])
    torch.testing.assert_close(*found)
