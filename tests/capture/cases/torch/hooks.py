"""Hooks on the gradients of a frame's values: in the graph if they are plain functions of their argument."""

from __future__ import annotations

import functools

import torch

from tests.capture.cases.registry import case, show

FACTOR = 3
LOG = []


def leaf():
    torch.manual_seed(0)
    return (torch.randn(3, 4, requires_grad=True),)


def double(grad):
    return grad * 2


def by_global(grad):
    return grad * FACTOR


def logs(grad):
    LOG.append(1)


def gradient(y, x):
    return torch.autograd.grad(y.sum(), x)


@case(None, None, leaf)
def hook_of_module_level(x):
    y = x * 2
    y.register_hook(double)
    return gradient(y, x)


@case(1, 3, leaf)
def hook_without_gradient(x):
    y = x * 2
    y.register_hook(double)
    return y.sum()


@case(1, 3, leaf)
def hook_that_reads_a_global(x):
    y = x * 2
    y.register_hook(by_global)
    return y.sum()


@case(1, 3, leaf)
def hook_lambda_with_default(x):
    y = x * 2
    y.register_hook(lambda grad, k=4: torch.where(grad > 0, grad, grad * k))
    return y.sum()


@case(1, 2, leaf)
def hook_removed_in_the_frame(x):
    y = x * 2
    handle = y.register_hook(double)
    handle.remove()
    return y.sum()


@case(1, 4, leaf)
def two_hooks_on_one_tensor(x):
    y = x * 2
    y.register_hook(double)
    y.register_hook(by_global)
    return y.sum()


@case(2, 2, leaf)
def hook_with_a_side_effect(x):
    y = x * 2
    y.register_hook(logs)
    return y.sum()


@case(2, 2, leaf)
def hook_that_closes_over_what_may_change(x):
    k = 2
    y = x * 2
    y.register_hook(lambda grad: grad * k)
    k = 3
    return y.sum()


@case(2, 2, leaf)
def hook_of_wrong_shape(x):
    y = x * 2
    y.register_hook(lambda grad: grad.sum())
    return y.sum()


@case(1, 1)
def hook_where_nothing_is_recorded(x):
    y = x * 2
    try:
        y.register_hook(double)
    except RuntimeError as error:
        return y, str(error)


class Refusing(torch.nn.Module):
    def forward(self, x):
        raise ValueError("refused")


def note(module, args, output):
    module.noted = str(output)


def with_an_always_called_hook():
    module = Refusing()
    module.register_forward_hook(note, always_call=True)
    return torch.ones(3), module


@case(graphs=1, ops=1, args=with_an_always_called_hook)
def hook_called_behind_an_exception(x, module):
    try:
        return module(x)
    except ValueError:
        return x + 1, module.noted


def scaled(factor, grad, shift=0):
    return grad * factor + shift


@case(1, 3, leaf)
def hook_of_a_partial(x):
    y = x * 2
    y.register_hook(functools.partial(scaled, 3, shift=1))
    return y.sum()


def with_partial():
    return (*leaf(), functools.partial(scaled, 5))


@case(1, 3, with_partial)
def hook_of_an_existing_partial(x, hook):
    y = x * 2
    y.register_hook(hook)
    return y.sum()


@case(1, 3, leaf)
def hook_that_closes_over_a_constant(x):
    k = 5
    y = x * 2
    y.register_hook(lambda grad: grad * k)
    return y.sum()


@case(1, 3, lambda: (*leaf(), 7))
def hook_that_closes_over_an_argument(x, k):
    y = x * 2
    y.register_hook(functools.partial(lambda shift, grad: grad * k + shift, 1))
    return y.sum()


@case(2, 2, leaf)
def hook_that_closes_over_a_loop_variable(x):
    y = x * 2
    for k in (2, 3):
        if k == 2:
            y.register_hook(lambda grad: grad * k)
    return y.sum()


@case(2, 2, leaf)
def hook_whose_variable_another_function_stores(x):
    k = 2

    def change():
        nonlocal k
        k = 3

    y = x * 2
    y.register_hook(lambda grad: grad * k)
    change()
    return y.sum()


@case(2, 2, leaf)
def hook_that_closes_over_a_list(x):
    factors = [2]
    y = x * 2
    y.register_hook(lambda grad: grad * factors[0])
    factors[0] = 3
    return y.sum()


@case(1, 4, leaf)
def hook_of_a_partial_on_a_tensor(x):
    y = x * 2
    y.register_hook(functools.partial(scaled, x.detach()))
    return y.sum()


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    def scaled(self, grad):
        return grad * self.factor

    def __call__(self, grad):
        return grad + self.factor


SCALER = Scaler(torch.full((4,), 3.0))


@case(1, 3, leaf)
def hook_is_a_method(x):
    y = x * 2
    y.register_hook(SCALER.scaled)
    return y.sum()


@case(1, 3, leaf)
def hook_is_a_callable_object(x):
    y = x * 2
    y.register_hook(SCALER)
    return y.sum()


@case(2, 2, leaf)
def hook_is_a_method_of_a_new_object(x):
    y = x * 2
    y.register_hook(Scaler(5).scaled)
    return y.sum()


@case(2, 2, lambda: (*leaf(), Scaler(2)))
def hook_whose_object_changes_later(x, scaler):
    y = x * 2
    y.register_hook(scaler.scaled)
    scaler.factor = 4
    return y.sum()


@case(1, 3, leaf)
def hook_is_an_operation(x):
    y = x * 2
    y.register_hook(torch.sin)
    return y.sum()


@case(1, 4, leaf)
def hook_is_a_partial_of_an_operation(x):
    y = x * 2
    y.register_hook(functools.partial(torch.mul, other=x.detach()))
    return y.sum()


@case(1, 5, leaf)
def hook_that_closes_over_a_tensor(x):
    z = x.detach().exp()
    y = x * 2
    y.register_hook(lambda grad: grad * z)
    return y.sum()


@case(1, 1, leaf)
def hook_of_a_leaf(x):
    x.register_hook(double)
    return x * 3


@case(1, 1, leaf)
def hook_of_a_leaf_closes_over_a_variable(x):
    factor = 3
    x.register_hook(lambda grad: grad * factor)
    factor = 4
    return x * 3


@case(1, 1, leaf)
def hook_of_a_leaf_is_removed(x):
    handle = x.register_hook(double)
    handle.remove()
    return x * 3


def note_gradient(leaf):
    leaf.grad = leaf.grad * 2


@case(1, 1, leaf)
def hook_behind_the_gradient(x):
    x.register_post_accumulate_grad_hook(note_gradient)
    return x * 3


@case(2, 2, leaf)
def hook_of_a_leaf_in_front_of_a_break(x):
    x.register_hook(double)
    y = x * 3
    show("broken")
    return y * 2
