"""Hooks change gradients as in eager, with a backend that runs the hook and with one that compiles it."""

from __future__ import annotations

import functools

import pytest
import torch

import capture

pytestmark = pytest.mark.filterwarnings("error::capture.CaptureWarning")  # no compiler of ours fails


def scaled(factor, grad, shift=0):
    return grad * factor + shift


def nothing(factor, grad):
    return None


def partials(x, k):
    y = x * 2
    y.register_hook(functools.partial(scaled, 3, shift=1))
    y.register_hook(functools.partial(nothing, 3))
    y.register_hook(functools.partial(scaled, k))
    return (y * y).sum()


def closures(x, k):
    factor = 5
    y = x * 2
    y.register_hook(lambda grad: grad + factor)
    y.register_hook(lambda grad: grad * k)
    return (y * y).sum()


def removed(x, k):
    y = x * 2
    handle = y.register_hook(functools.partial(scaled, 3))
    y.register_hook(lambda grad: grad * k)
    handle.remove()
    return (y * y).sum()


def bound_late(x, k):
    y = x * 2
    for factor in (2, k):
        y.register_hook(lambda grad: grad + factor)
    return (y * y).sum()


def stored_behind(x, k):
    y = x * 2
    y.register_hook(lambda grad: grad * k)
    k = k + 1
    return (y * y).sum()


def stored_by_another(x, k):
    def change():
        nonlocal k
        k = k + 3

    y = x * 2
    y.register_hook(lambda grad: grad * k)
    change()
    return (y * y).sum()


def stored_in_a_loop(x, k):
    y = x * 2
    while k < 20:
        factor = k
        y.register_hook(lambda grad: grad * factor)
        k = k * 3
    return (y * y).sum()


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    def scaled(self, grad):
        return grad * self.factor


def method(x, k):
    y = x * 2
    y.register_hook(Scaler(k).scaled)
    return (y * y).sum()


def changed_object(x, k):
    scaler = Scaler(k)
    y = x * 2
    y.register_hook(scaler.scaled)
    scaler.factor = k + 3
    return (y * y).sum()


def tensors(x, k):
    factors = x.detach() * k
    y = x * 2
    y.register_hook(lambda grad: grad * factors)
    y.register_hook(functools.partial(torch.add, x, alpha=k))
    y.register_hook(torch.sin)
    return (y * y).sum()


def written_later(x, k):
    factors = x.detach() * k
    y = x * 2
    y.register_hook(lambda grad: grad * factors)
    factors.add_(1)
    return (y * y).sum()


def of_the_leaf(x, k):
    x.register_hook(lambda grad: grad * k)
    x.register_hook(torch.sin).remove()
    x.register_hook(Scaler(k).scaled)
    return (x * x).sum()


def behind_the_gradient(x, k):
    def scale(leaf):
        leaf.grad.mul_(k)

    x.register_post_accumulate_grad_hook(scale)
    return (x * x).sum()


IN_THE_GRAPH = [partials, closures, removed, tensors, written_later, of_the_leaf, behind_the_gradient]
FUNCTIONS = [
    *IN_THE_GRAPH,
    method,
    changed_object,
    bound_late,
    stored_behind,
    stored_by_another,
    stored_in_a_loop,
]


def gradient(function, k):
    """In float64: the sine of a gradient of 50 has lost five digits of float32."""
    torch.manual_seed(0)
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    function(x, k).backward()
    return x.grad


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_gradients_are_those_of_eager(function, backend):
    compiled = capture.compile(function, backend=backend)
    for k in (3, 3, 7, 2):
        torch.testing.assert_close(gradient(compiled, k), gradient(function, k))


@pytest.mark.parametrize("function", IN_THE_GRAPH, ids=lambda function: function.__name__)
def test_hooks_stay_in_the_graph(function):
    compiled = capture.compile(function, backend="eager", fullgraph=True, dynamic=False)
    for k in (3, 3, 7):
        torch.testing.assert_close(gradient(compiled, k), gradient(function, k))


OBJECT_HOOKS = {
    "method": lambda scaler: scaler.scaled,
    "object": lambda scaler: scaler,
    "partial": lambda scaler: functools.partial(scaled_by, scaler),
    "closure": lambda scaler: lambda grad: grad * scaler.factor,
}


def scaled_by(scaler, grad):
    return grad * scaler.factor


class CallableScaler(Scaler):
    def __call__(self, grad):
        return grad + self.factor


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("kind", OBJECT_HOOKS)
def test_objects_that_change_between_forward_and_backward(kind, backend):
    make, scaler = OBJECT_HOOKS[kind], CallableScaler(2.0)

    def function(x):
        y = x * 3
        y.register_hook(make(scaler))
        return (y * y).sum()

    compiled = capture.compile(function, backend=backend)
    for factor in (2.0, 2.0, 5.0, 7.0):
        gradients = []
        for run in (function, compiled):
            scaler.factor = 2.0
            x = torch.ones(3, requires_grad=True)
            loss = run(x)
            scaler.factor = factor
            loss.backward()
            gradients.append(x.grad)
        torch.testing.assert_close(*gradients)


FACTOR = 2


def by_global(x):
    y = x * 2
    y.register_hook(lambda grad: grad * FACTOR)
    return (y * y).sum()


def times_factor(grad):
    return grad * FACTOR


def by_function_that_reads_a_global(x):
    y = x * 2
    y.register_hook(lambda grad: times_factor(grad))
    return (y * y).sum()


def closed_over():
    factor = 2

    def set_factor(value):
        nonlocal factor
        factor = value

    def function(x):
        y = x * 2
        y.register_hook(hook)
        return (y * y).sum()

    def hook(grad):
        return grad * factor

    return function, set_factor


def set_global(value):
    global FACTOR
    FACTOR = value


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "llvm"])
@pytest.mark.parametrize("where", ["global", "called", "cell"])
def test_hooks_see_what_changes_before_the_backward(where, backend):
    function, change = {
        "global": (by_global, set_global),
        "called": (by_function_that_reads_a_global, set_global),
        "cell": closed_over(),
    }[where]
    change(2)
    compiled = capture.compile(function, backend=backend, fullgraph=True, dynamic=False)
    x = torch.arange(3.0, requires_grad=True)
    for before, after in ((2, 2), (2, 5), (5, 3)):
        change(before)
        loss = compiled(x)
        change(after)
        (grad,) = torch.autograd.grad(loss, x)
        assert torch.equal(grad, 8 * after * x.detach())


def by_a_tensor(x, w):
    h, factor = x * 2, x.sin()
    h.register_hook(lambda grad: grad * factor)
    return (h * w).sum()


def by_an_input(x, w):
    h = x + 1
    h.register_hook(lambda grad: grad * w)
    return h.relu().sum()


def squared(x, w):
    h = x.sin()
    h.register_hook(lambda grad: grad * grad)
    return (h * x).tanh().sum() * w.sum()


@pytest.mark.parametrize("backend", ["aot_eager", "llvm"])
@pytest.mark.parametrize("function", [by_a_tensor, by_an_input, squared])
def test_derivatives_of_gradients_that_hooks_change(function, backend):
    found = []
    for called in (function, capture.compile(function, backend=backend)):
        x = torch.tensor([0.3, 0.7], requires_grad=True)
        w = torch.tensor([1.1, 0.4], requires_grad=True)
        (first,) = torch.autograd.grad(called(x, w), x, create_graph=True)
        found.append(torch.autograd.grad(first.square().sum(), (x, w)))
    for expected, ours in zip(*found):
        assert torch.allclose(ours, expected)


def apart(x, w):
    return (x**3).sum() + (w**3).sum()


@pytest.mark.parametrize("backend", ["aot_eager", "llvm"])
def test_a_gradient_leads_only_to_what_it_depends_on(backend):
    x = torch.tensor([0.3, 0.7], requires_grad=True) * 1.0
    w = torch.tensor([1.1, 0.4], requires_grad=True) * 1.0
    seen = []
    w.register_hook(seen.append)
    total = capture.compile(apart, backend=backend)(x, w)
    of_x, of_w = torch.autograd.grad(total, (x, w), create_graph=True)
    seen.clear()
    of_x, of_w = torch.autograd.grad(of_x.sum(), (x, w), allow_unused=True)
    assert torch.allclose(of_x, 6 * x) and of_w is None and not seen
