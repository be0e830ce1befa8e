"""Custom autograd functions (`torch.autograd.Function`)."""

from __future__ import annotations

import torch
from torch.overrides import TorchFunctionMode

from tests.capture.cases.registry import case
from tests.capture.cases.torch.autograd import leaf, one_leaf, two_leaves, value_and_gradients


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.factor + x * 0, None


class Named(torch.autograd.Function):
    """Its attribute hides the method `name` of its node."""

    @staticmethod
    def forward(ctx, x, name):
        ctx.name = name
        return x.sin()

    @staticmethod
    def backward(ctx, grad):
        return grad * len(ctx.name), None


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad.clamp(-1, 1)


class TwoResults(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x @ y, x.sum()

    @staticmethod
    def backward(ctx, grad_product, grad_sum):
        x, y = ctx.saved_tensors
        return grad_product @ y.t() + grad_sum, x.t() @ grad_product


class WithSetup(torch.autograd.Function):
    @staticmethod
    def forward(x, power):
        return x**power

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.power = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.power * x ** (ctx.power - 1), None


class InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


@case(graphs=1, ops=4, args=one_leaf)
def custom_function(x):
    return Scaled.apply(x + 1, 3.0).relu()


scale = Scaled.apply


@case(graphs=1, ops=4, args=one_leaf)
def custom_function_under_another_name(x):
    return scale(x + 1, 3.0).relu()


@case(graphs=3, ops=9, args=one_leaf)
def custom_function_gradients(x):
    return value_and_gradients(Scaled.apply(x + 1, 3.0).relu(), x)


@case(graphs=1, ops=3, args=one_leaf)
def custom_function_with_a_name(x):
    return Named.apply(x + 1, "custom")


@case(graphs=3, ops=7, args=one_leaf)
def custom_function_with_a_name_and_gradients(x):
    return value_and_gradients(Named.apply(x + 1, "custom") * 2, x)


@case(graphs=1, ops=3)
def custom_function_without_grad(x):
    return StraightThrough.apply(x * 3) + 1


@case(graphs=3, ops=6, args=one_leaf)
def custom_function_straight_through(x):
    return value_and_gradients(StraightThrough.apply(x * 3), x)


@case(graphs=3, ops=11, args=two_leaves)
def custom_function_two_results(x, y):
    product, total = TwoResults.apply(x, y)
    return value_and_gradients(product * total, x, y)


@case(graphs=3, ops=7, args=one_leaf)
def custom_function_setup_context(x):
    return value_and_gradients(WithSetup.apply(x, 3), x)


@case(graphs=3, ops=7, args=one_leaf)
def custom_function_in_place(x):
    return value_and_gradients(InPlace.apply(x * 1) + 1, x)


class WritesOneOfTwo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        x.mul_(y)
        ctx.save_for_backward(y)
        return x, y * 2

    @staticmethod
    def backward(ctx, grad_x, grad_y):
        (y,) = ctx.saved_tensors
        return grad_x * y, grad_y * 2


def square_leaves():
    return leaf(), leaf().detach().exp().requires_grad_()


@case(graphs=1, ops=6, args=square_leaves)
def written_arguments_are_the_results(x, y):
    x = x * 1
    first, second = WritesOneOfTwo.apply(x, y)
    return first + second, first is x, x + 1


class Identity(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


@case(graphs=1, ops=2)
def a_returned_argument_is_another_tensor(x):
    y = Identity.apply(x)
    return y is x, y + 1


@case(graphs=1, ops=3, args=one_leaf)
def a_returned_argument_has_the_functions_gradient(x):
    return Identity.apply(x) + 1


OUTSIDE = torch.linspace(0.0, 1.0, 12).reshape(3, 4)


class ReadsOutside(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x * OUTSIDE, y)
        return x * OUTSIDE + y, (x > 0).float()

    @staticmethod
    def backward(ctx, grad, grad_of_mask):
        scaled, _ = ctx.saved_tensors
        return grad * OUTSIDE + scaled, None


@case(graphs=1, ops=4, args=lambda: (leaf(), torch.ones(3, 4)))
def a_function_reads_a_global(x, y):
    total, mask = ReadsOutside.apply(x, y)
    return total * mask


@case(graphs=1, ops=5, args=lambda: (leaf(), torch.ones(3, 4)))
def a_function_reads_a_global_that_is_known(x, y):
    total, mask = ReadsOutside.apply(x * OUTSIDE, y)
    return total * mask


@case(graphs=1, ops=3, args=one_leaf)
def one_argument_twice(x):
    return ReadsOutside.apply(x, x)


class CosineForSine(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return args[0].cos() if func is torch.Tensor.sin else func(*args, **(kwargs or {}))


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.sin()


@case(graphs=1, ops=3, args=one_leaf)
def a_mode_sees_the_forward_alone(x):
    with CosineForSine():
        y = Sine.apply(x)
    return y * 2


@case(graphs=1, ops=2)
def a_mode_without_gradients(x):
    with CosineForSine():
        y = Sine.apply(x)
    return y * 2


class Counting(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.Tensor.sin:
            return super().__torch_function__(torch.Tensor.cos, types, args, kwargs)
        return super().__torch_function__(func, types, args, kwargs)


@case(graphs=1, ops=3, args=one_leaf)
def a_class_with_operations_of_its_own(x):
    y = Sine.apply(x.as_subclass(Counting))
    return type(y).__name__, y.as_subclass(torch.Tensor) * 2


class WithDefaults(torch.autograd.Function):
    @staticmethod
    def forward(x, factor=3, shift=None):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.factor, _ = inputs

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None, None


@case(graphs=1, ops=2, args=one_leaf)
def a_setup_context_sees_the_defaults(x):
    return WithDefaults.apply(x)


class Batched(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.cos() * 5


@case(graphs=1, ops=2, args=one_leaf)
def its_own_gradient_under_vmap(x):
    return torch.vmap(Batched.apply)(x)


class RulesOfItsOwn(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * 7

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 5

    @staticmethod
    def vmap(info, in_dims, x):
        return x * 3, in_dims[0]


@case(graphs=1, ops=2)
def its_own_batching_rule(x):
    return torch.vmap(RulesOfItsOwn.apply)(x)


@case(graphs=1, ops=4)
def its_own_forward_derivative(x):
    return torch.func.jvp(RulesOfItsOwn.apply, (x,), (torch.ones_like(x),))


class OneForBoth(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, first, second):
        return first * 10 if second is None else second


@case(graphs=1, ops=3, args=one_leaf)
def gradients_that_are_not_made(x):
    first, _ = OneForBoth.apply(x)
    return first.sin()


class Calls(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, function):
        return function(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * 5, None


@case(graphs=1, ops=8, args=one_leaf)
def functions_as_arguments(x):
    return Calls.apply(x, torch.sin) + Calls.apply(x, lambda v: v * 2) + Calls.apply(x, abs)
