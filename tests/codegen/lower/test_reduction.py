"""Reductions against eager."""

from __future__ import annotations

import math

import pytest
import torch

import capture
from tests.codegen.loop_interpreter import run_program
from tests.codegen.lowering_check import calls, check, kernels, lowered
from tests.codegen.native_programs import run_native

REDUCTIONS = {
    "sum": torch.sum,
    "mean": torch.mean,
    "amax": torch.amax,
    "amin": torch.amin,
    "prod": torch.prod,
    "any": lambda x, d=None, **k: torch.any(x > 1.5, d, **k) if d is not None else torch.any(x > 9),
    "all": lambda x, d=None, **k: torch.all(x > -9, d, **k) if d is not None else torch.all(x > 0),
    "argmax": torch.argmax,
    "argmin": torch.argmin,
    "var": torch.var,
    "std": torch.std,
    "max": torch.max,
    "min": torch.min,
    "logsumexp": torch.logsumexp,
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_one_dimension(name, dim, keepdim):
    check(lambda x: REDUCTIONS[name](x, dim, keepdim=keepdim), torch.randn(3, 20, 9))


@pytest.mark.parametrize(
    "name", ["sum", "mean", "amax", "any", "all", "argmax", "argmin", "var", "std", "max", "min", "prod"]
)
def test_everything(name):
    def function(x):
        return REDUCTIONS[name](x) if name != "amax" else torch.amax(x)

    check(function, torch.randn(7, 33))
    check(function, torch.randn(33, 7).t())


@pytest.mark.parametrize("dims", [(0, 1), (0, 2), (1, 2), (0, 1, 2), (0, 2, 3), (1, 3)])
def test_several_dimensions(dims):
    x = torch.randn(3, 4, 5, 6)
    check(lambda x: (x.sum(dims), x.mean(dims, keepdim=True), x.amax(dims), torch.var(x, dims)), x)


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int32, torch.int64, torch.bfloat16, torch.float16, torch.float64]
)
def test_types(dtype):
    x = (torch.rand(6, 40) * 3).to(dtype)
    check(lambda x: (x.sum(1), x.sum(0), x.amax(1), x.amin(0), torch.any(x, 1), torch.all(x, 0)), x)
    if dtype is not torch.bool:
        check(lambda x: x.argmax(1), x)
    if dtype.is_floating_point:
        check(lambda x: (x.mean(1), torch.var(x, 1), x.sum()), x)
    check(lambda x: x.sum(1, dtype=torch.float32), x)


def test_nan_and_infinity():
    x = torch.randn(4, 50)
    x[0, 7] = math.nan
    x[1, 3], x[1, 9] = math.inf, -math.inf
    x[2] = -math.inf
    check(lambda x: (x.amax(1), x.amin(1), x.argmax(1), x.argmin(1), x.sum(1), x.max(0)), x)


def test_first_of_equals_wins():
    x = torch.randint(0, 3, (5, 100)).float()
    check(lambda x: (x.argmax(1), x.argmin(1), x.max(0), x.argmax(), x.argmin(0)), x)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3)])
def test_empty(shape):
    check(lambda x: (x.sum(), x.sum(-1), x.prod(-1), x.sum(0)), torch.randn(shape))


def test_zero_dimensional():
    check(
        lambda x: (x.sum(), x.mean(), x.amax(), x.argmax(), x.sum(0), torch.softmax(x, 0)), torch.tensor(2.5)
    )


def test_size_one():
    check(lambda x: (x.sum(1), x.argmax(1), torch.var(x, 1, correction=0), x.amax(0)), torch.randn(5, 1))


@pytest.mark.parametrize("n", [100_000, 65537, 16384 * 3])
def test_long_sums_are_as_exact_as_eager(n):
    """An element takes part in a few additions for each halving of the length; in n of one running sum."""

    def function(x):
        return x.sum(), x.mean(), (x * x).sum()

    x = torch.full((n,), 0.1)
    program, eager = lowered(function, x)
    assert not calls(program)
    bound = 3 * math.log2(n) * torch.finfo(torch.float32).eps / 2
    for results in (eager, run_program(program, [x]), run_native(program, [x])):
        for found, exact in zip(results, function(x.double()), strict=True):
            assert (found.shape, found.dtype) == ((), torch.float32)
            assert abs(found.item() - exact.item()) <= bound * exact.item()


LONG = {
    "row variance": (lambda x: torch.var(x, 1), (3, 9001)),
    "row softmax": (lambda x: torch.softmax(x, 1), (2, 8192)),
    "column sum": (lambda x: (x.sum(0), torch.var(x, 0)), (5000, 9)),
    "planes": (lambda x: (x.sum((0, 2)), x.mean((0, 2))), (12, 5, 1000)),
}


@pytest.mark.parametrize("name", LONG)
def test_long_reductions_in_blocks(name):
    function, shape = LONG[name]
    check(function, torch.rand(shape) + 0.5)
    check(function, torch.rand(shape).double())


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("shape", [(6, 40), (40, 6), (16, 64), (5, 3), (100, 4)])
def test_softmax_is_one_kernel(dim, shape):
    program = check(lambda x: torch.softmax(x, dim), torch.randn(shape))
    assert len(kernels(program)) == 1


ONE_KERNEL = {
    "log_softmax": lambda x, w, b: torch.log_softmax(x, -1),
    "layer_norm": lambda x, w, b: torch.layer_norm(x, (32,), w, b),
    "rms_norm": lambda x, w, b: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w,
    "normalise": lambda x, w, b: x / (torch.linalg.vector_norm(x, dim=-1, keepdim=True) + 1e-6) * w,
    "residual layer_norm": lambda x, w, b: (y := x + b, torch.layer_norm(y, (32,), w, b)),
    "two sums": lambda x, w, b: (x.sum(-1), (x * x).sum(-1)),
    "sum and epilogue": lambda x, w, b: torch.relu(x.sum(-1) * 2 + 1),
    "max and values": lambda x, w, b: x.max(-1),
}


@pytest.mark.parametrize("name", ONE_KERNEL)
@pytest.mark.parametrize("lead", [(8,), (3, 5)])
def test_rows_fuse(name, lead):
    program = check(ONE_KERNEL[name], torch.randn(*lead, 32), torch.randn(32), torch.randn(32))
    assert len(kernels(program)) == 1


def test_group_norm_is_one_kernel():
    program = check(
        lambda x, w, b: torch.nn.functional.group_norm(x, 4, w, b),
        torch.randn(2, 8, 5, 5),
        torch.randn(8),
        torch.randn(8),
    )
    assert len(kernels(program)) == 1


def test_batch_norm_in_training():
    def function(x, w, b):
        out, mean, rstd = torch.ops.aten.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-5)
        return torch.relu(out), mean, rstd

    check(function, torch.randn(4, 6, 5, 5), torch.randn(6), torch.randn(6))


def test_running_statistics_are_updated_in_place():
    def function(x, running):
        mean = x.mean((0, 2, 3))
        running.copy_(running * 0.9 + mean * 0.1)
        return (x - mean[:, None, None]) * 2

    check(function, torch.randn(4, 6, 5, 5), torch.randn(6))


def test_softmax_backward():
    check(
        lambda g, y: torch.ops.aten._softmax_backward_data(g, y, -1, torch.float32),
        torch.randn(5, 20),
        torch.rand(5, 20),
    )


def test_layer_norm_backward():
    def function(g, x, w, b):
        out, mean, rstd = torch.ops.aten.native_layer_norm(x, (24,), w, b, 1e-5)
        return torch.ops.aten.native_layer_norm_backward(g, x, (24,), mean, rstd, w, b, [True, True, True])

    check(function, torch.randn(6, 24), torch.randn(6, 24), torch.randn(24), torch.randn(24))


def test_cross_entropy():
    check(
        lambda x, t: torch.nn.functional.cross_entropy(x, t),
        torch.randn(9, 17),
        torch.randint(0, 17, (9,)),
        no_calls=False,
    )


def test_column_sums_of_products():
    check(lambda x, y: ((x * y).sum(0), (x + y).mean(0)), torch.randn(64, 48), torch.randn(64, 48))


def one_hot(x, place, *more):
    hit = torch.arange(x.shape[1]) == place[:, None]
    for condition in more:
        hit = hit & condition[:, None]
    return torch.where(hit, x[:, :1], 0.0)


def loops(program):
    return sum(str(kernel).count("Loop(") for kernel in kernels(program))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_no_sum_is_negative_zero(dtype, dynamic):
    """Also where there is one element to add."""

    def function(x, y):
        return x.sum(), x.sum(1), x.mean(0), y.sum(1), y.sum((0, 1)), y.sum(0), y[0, 0].sum(), y.nansum(1)

    x, y = torch.zeros(3, 5, dtype=dtype).neg(), torch.zeros(5, 1, dtype=dtype).neg()
    for found, expected in zip(capture.compile(function, dynamic=dynamic)(x, y), function(x, y)):
        assert found.shape == expected.shape
        assert not found.signbit().any() and not expected.signbit().any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_sum_of_a_row_with_one_element_walks_over_no_row(dtype):
    x = torch.randn(30, 40, dtype=dtype)
    x[4, 0], x[5, 0], x[6, 0] = float("nan"), float("inf"), -0.0
    place = torch.arange(-3, 57, 2)  # some of them are outside
    for program in (
        check(lambda x, p: one_hot(x, p).sum(1), x, place),
        check(lambda x, p: one_hot(x, p, p != 5).sum(-1, keepdim=True), x, place),
    ):
        assert loops(program) == 1
    assert loops(check(lambda x, p: one_hot(x, p).sum(0), x, place)) > 1
    assert loops(check(lambda x, p: torch.where(torch.arange(40) == p[:, None], x, 0.0).sum(1), x, place)) > 1


def test_the_backward_of_a_cross_entropy():
    def function(g, scores, target):
        out = torch.log_softmax(scores, 1)
        grad = torch.ops.aten.nll_loss_backward(g, out, target, None, 1, 3, torch.tensor(28.0))
        return torch.ops.aten._log_softmax_backward_data(grad, out, 1, torch.float32)

    target = torch.arange(30) % 7
    check(function, torch.tensor(0.7), torch.randn(30, 50), target)
