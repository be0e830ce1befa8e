"""Writes to inputs: at the end, after all readers of the old values."""

from __future__ import annotations

import torch

import capture
from codegen.kernel.printer import print_kernel
from tests.codegen.lowering_check import check, kernels


def test_sgd_step_writes_in_place():
    def step(p, g, m):
        m2 = m * 0.9 + g
        p.copy_(p - 0.1 * m2)
        m.copy_(m2)

    program = check(step, torch.randn(30), torch.randn(30), torch.randn(30))
    assert len(kernels(program)) == 1
    assert not [info for info in program.buffers.values() if info.kind == "temp"]


def test_a_shifted_read_of_the_written_input_goes_through_a_temporary():
    program = check(lambda x: x.copy_(torch.flip(x, (0,)) + x), torch.randn(50))
    assert len(kernels(program)) == 2


def test_the_old_value_is_returned():
    check(lambda x, y: (x * 2 + y, x.copy_(y))[:1], torch.randn(20), torch.randn(20))


def test_the_old_value_is_reduced_first():
    def function(x):
        mean = x.mean(1, keepdim=True)
        x.copy_(x - mean)
        return mean

    check(function, torch.randn(6, 40))


def test_a_call_reads_the_old_value():
    def function(x, w):
        product = x @ w
        x.copy_(x + product)
        return product

    check(function, torch.randn(6, 6), torch.randn(6, 6), no_calls=False)


def test_a_call_reads_a_view_of_the_old_value():
    def function(x, w):
        product = x.t() @ w
        x.copy_(torch.relu(w))
        return product

    check(function, torch.randn(6, 6), torch.randn(6, 6), no_calls=False)


def test_swap():
    def function(x, y):
        new_x, new_y = y * 1.0, x * 1.0
        x.copy_(new_x)
        y.copy_(new_y)

    check(function, torch.randn(64), torch.randn(64))


def test_swap_transposed():
    def function(x, y):
        new_x, new_y = y.t() + 0.0, x.t() + 0.0
        x.copy_(new_x)
        y.copy_(new_y)

    check(function, torch.randn(17, 17), torch.randn(17, 17))


def test_strided_input_is_written():
    check(lambda x, y: x.copy_(y + 1), torch.randn(8, 10)[:, ::2], torch.randn(8, 5))


def test_written_from_a_broadcast():
    check(lambda x, y: x.copy_(y), torch.randn(8, 10), torch.randn(10))


def test_what_was_overwritten_is_not_read_again_at_another_element():
    """exp waits in the output's memory; gather computes atan again at an index, where it needs exp."""

    def f(x):
        y = torch.atan(torch.softmax(x, 0) + 1)
        return y, y.gather(0, (y * 0).long())

    check(f, torch.rand(64))


def adam(p, g, m, v):
    """The distance to the gradient is needed twice, once before the mean is overwritten."""
    distance = g - m
    mean, square = m + distance * 0.1, v * 0.99 + g * g * 0.01
    m.copy_(mean)
    v.copy_(square)
    p.copy_(p - 0.1 * mean * distance.tanh() / (square.sqrt() + 1e-8))


def test_a_step_that_reads_and_overwrites_is_one_kernel():
    program = check(adam, *(torch.rand(5, 7) for _ in range(4)))
    assert len(kernels(program)) == 1
    assert not [info for info in program.buffers.values() if info.kind == "temp"]


def test_what_is_read_elsewhere_is_not_overwritten_first():
    def flipped(x, y):
        turned = torch.exp(x.flip(0))
        x.copy_(x + turned * y)
        return turned.sin()

    def of_a_row(x, y):
        scaled = torch.exp(x - x.mean(1, keepdim=True))
        x.copy_(x * scaled)
        return scaled * y

    for function in (flipped, of_a_row):
        check(function, torch.rand(6, 9), torch.rand(6, 9))


def test_a_mean_with_a_constant_weight_is_one_formula():
    program = check(lambda m, g: m.copy_(m.lerp(g, 0.1)), torch.rand(40), torch.rand(40))
    assert "where" not in print_kernel(kernels(program)[0])
    check(lambda m, g: m.lerp(g, 0.5), torch.rand(40), torch.rand(40))


def test_a_write_by_an_operator_call_waits_for_those_who_read_the_old_value():
    """Complex numbers have no kernels: beside the call that writes to `x` there is a kernel that needs
    another call on `x`.
    """

    def signs(x):
        length = x.abs()
        x.copy_(torch.where(length == 0, 0, x / length))
        return (length + 1).sin()

    for function in (signs, lambda x: x.sgn_()):
        x = torch.randn(30, dtype=torch.complex64)
        twin = x.clone()
        torch.testing.assert_close(capture.compile(function)(twin), function(x))
        torch.testing.assert_close(twin, x)
