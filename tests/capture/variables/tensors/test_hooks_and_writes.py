"""A hook belongs to the step of autograd that its tensor came from when the hook was registered.

A write, through the tensor, its base or a view of it, gives the tensor another step. The hook stays where it
was, and is called once where a gradient comes.
"""

from __future__ import annotations

import pytest
import torch

import capture


def tripled(grad):
    return grad * 3


def plus_one(grad):
    return grad + 1


def on_the_tensor(x):
    y = x * 2
    y.register_hook(tripled)
    other = y + 1
    y.mul_(2)
    return y.sin(), other


def on_a_result(x):
    y = x * 2
    y.register_hook(tripled)
    other = y * 5
    y.mul_(2)
    return y, other


def on_the_base(x):
    """The view is written."""
    y = x * 2
    view = y.t()
    y.register_hook(tripled)
    other = y + 1
    view.mul_(2)
    return y.sin(), other


def on_a_base_that_is_read_through_views(x):
    y = x + x
    diagonal, transposed = y.diagonal(), y.t()
    y.register_hook(tripled)
    column = diagonal.unsqueeze(1)
    other = column.exp() * 0.1
    transposed.sigmoid_()
    return column, column, other


def on_a_view(x):
    """Its base is written."""
    y = x * 2
    view = y.t()
    view.register_hook(tripled)
    other, another = view + 1, view * 5
    y.mul_(2)
    return y.sin(), view * 3, other, another


def on_a_written_view(x):
    y = x * 2
    view = y.t()
    view.register_hook(tripled)
    other, another = view + 1, view * 5
    view.mul_(2)
    return y.sin(), view * 3, other, another


def on_a_view_beside_the_written_one(x):
    y = x * 2
    view, written = y.t(), y.view(-1)
    view.register_hook(tripled)
    other, another = view + 1, view * 5
    written.mul_(2)
    return y.sin(), view * 3, other, another


def before_and_behind_the_write(x):
    y = x * 2
    y.register_hook(tripled)
    other = y + 1
    y.mul_(2)
    y.register_hook(plus_one)
    return y.sin(), y * 5, other


def behind_the_write_of_a_base(x):
    """Eager keeps the second hook with the first one: nothing has asked for the view's new step."""
    y = x * 2
    view = y.t()
    view.register_hook(tripled)
    other, another = view + 1, view * 5
    y.mul_(2)
    view.register_hook(plus_one)
    return view * 3, other, another


def removed_behind_the_write(x):
    y = x * 2
    handle = y.register_hook(tripled)
    other = y + 1
    y.mul_(2)
    handle.remove()
    return y.sin(), other


def with_a_tensor_of_its_own(x):
    y, factor = x * 2, x.cos()
    y.register_hook(lambda grad: grad * factor)
    other = y * 3
    y.mul_(2)
    return other, y.sin()


FUNCTIONS = [
    on_the_tensor,
    on_a_result,
    on_the_base,
    on_a_base_that_is_read_through_views,
    on_a_view,
    on_a_written_view,
    on_a_view_beside_the_written_one,
    before_and_behind_the_write,
    behind_the_write_of_a_base,
    removed_behind_the_write,
    with_a_tensor_of_its_own,
]


def gradients(function):
    """Of each result alone, then of all in a second backward through the same graph."""
    torch.manual_seed(0)
    x = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)
    results = function(x)
    found = [torch.autograd.grad(result.sum(), x, retain_graph=True)[0] for result in results]
    results[1].sum().backward(retain_graph=True)
    sum(result.square().sum() for result in results).backward()
    return [*found, x.grad]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "llvm"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_hook_stays_with_the_step_that_it_was_registered_on(function, backend):
    compiled = capture.compile(function, backend=backend, fullgraph=True)
    torch.testing.assert_close(gradients(compiled), gradients(function))


@pytest.mark.parametrize("backend", ["aot_eager", "llvm"])
@pytest.mark.parametrize("function", [on_the_tensor, on_a_view, before_and_behind_the_write])
def test_second_derivatives(function, backend):
    def second(function):
        x = torch.linspace(0, 1, 9, dtype=torch.float64).reshape(3, 3).requires_grad_()
        total = sum(result.square().sum() for result in function(x))
        (first,) = torch.autograd.grad(total, x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), x)

    torch.testing.assert_close(second(capture.compile(function, backend=backend)), second(function))


@pytest.mark.parametrize("backend", ["aot_eager", "llvm"])
def test_hooks_that_draw_random_numbers(backend):
    """They draw once for each gradient that comes, also where several results lead to the tensor."""

    def function(x):
        y = x * 2
        y.register_hook(lambda grad: grad * torch.rand_like(grad))
        return y.sin(), y.cos(), y * 3

    def drawn(function):
        x = torch.linspace(0, 1, 9).requires_grad_()
        results = function(x)
        torch.manual_seed(0)
        results[0].sum().backward(retain_graph=True)
        sum(result.sum() for result in results).backward()
        return x.grad, torch.rand(1)

    torch.testing.assert_close(drawn(capture.compile(function, backend=backend)), drawn(function))
