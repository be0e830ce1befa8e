"""Which definitions become one kernel and which do not."""

from __future__ import annotations

import pytest
import torch

from codegen.kernel.form import KernelForm
from codegen.kernel.program import ExternStep, KernelStep
from tests.codegen.lowering_check import check, kernels

ONE = {
    "several results": lambda x, y, v: (x + y, torch.exp(x + 1), (x * y).t()),
    "a value and what is made of it": lambda x, y, v: (z := torch.exp(x) * y, z + 1, z * z),
    "shared dear value": lambda x, y, v: (torch.tanh(x) * y, torch.tanh(x) + 1),
    "independent of one shape": lambda x, y, v: (torch.exp(x), torch.sin(y)),
    "through a reshape": lambda x, y, v: torch.exp(x).view(-1) + y.view(-1),
    "stored, then transposed": lambda x, y, v: (z := torch.exp(x), z.t() * 2),
    "reduction of a stored value": lambda x, y, v: (z := x * y, z.sum(1)),
    "two reductions one after the other": lambda x, y, v: ((x - x.mean(1, keepdim=True)) ** 2).sum(1),
    "row values": lambda x, y, v: (torch.exp(v)[None, :] * x).sum(1),
    "sum, then row arithmetic": lambda x, y, v: torch.sqrt(x.sum(1) + 1) * 2,
    "full sum and its epilogue": lambda x, y, v: torch.sqrt((x * x).sum()) * 3,
    "small full sum and normalisation": lambda x, y, v: x / x.sum(),
}


@pytest.mark.parametrize("name", ONE)
def test_one_kernel(name):
    assert len(kernels(check(ONE[name], torch.rand(12, 20), torch.rand(12, 20), torch.rand(20)))) == 1


def test_long_work_after_a_full_sum_can_be_divided_between_threads():
    program = check(lambda x: x / x.sum(), torch.rand(2000, 1000))
    # sums of parts, their sum, the rest
    assert [kernel.split is not None for kernel in kernels(program)] == [
        True,
        False,
        True,
    ]


def test_long_columns_get_a_kernel_of_their_own():
    program = check(lambda x: x - x.mean(0), torch.rand(3000, 20))
    assert len(kernels(program)) == 2


def test_short_columns_are_fused():
    program = check(lambda x: (x - x.mean(0)) / x.std(0), torch.rand(100, 20))
    assert len(kernels(program)) == 1


def test_a_call_between_separates():
    def function(x, w):
        y = torch.relu(x)
        return (y @ w) + y

    program = check(function, torch.randn(6, 6), torch.randn(6, 6), no_calls=False)
    assert [type(step) for step in program.steps] == [KernelStep, ExternStep, KernelStep]


def test_a_call_beside_does_not():
    def function(x, w):
        y = torch.relu(x)
        return x @ w, y + 1, y * 2

    assert len(kernels(check(function, torch.randn(6, 6), torch.randn(6, 6), no_calls=False))) == 1


def test_cheap_values_are_computed_again_instead_of_stored():
    program = check(
        lambda x, w: ((x + 1) @ w, (x + 1).sum(0)), torch.randn(3000, 4), torch.randn(4, 4), no_calls=False
    )
    temporaries = {name for name, info in program.buffers.items() if info.kind == "temp"}
    assert all(name.startswith(("add", "mm")) or name.endswith("_part") for name in temporaries)


def test_layer_norm_backward_reads_rows_once_and_columns_once():
    def function(g, x, w, b):
        out, mean, rstd = torch.ops.aten.native_layer_norm(x, (24,), w, b, 1e-5)
        return torch.ops.aten.native_layer_norm_backward(g, x, (24,), mean, rstd, w, b, [True, True, True])

    program = check(function, torch.randn(60, 24), torch.randn(60, 24), torch.randn(24), torch.randn(24))
    assert len(kernels(program)) <= 2


def test_deep_chains_do_not_exhaust_the_stack():
    def function(x):
        for _ in range(400):
            x = torch.sin(x) + 1
        return x

    check(function, torch.randn(8), native=False)


def test_shared_values_do_not_explode():
    def function(x):
        for _ in range(40):
            x = x * 0.5 + x.flip(0) * 0.5
        return x

    program = check(function, torch.randn(16), native=False)
    assert sum(len(str(kernel)) for kernel in kernels(program)) < 400_000


def test_the_number_of_layers_does_not_change_their_kernels():
    def layers(count):
        def function(g, w, v, *inputs):
            sums = []
            for x in inputs:
                row = (x.mean(1, keepdim=True), x.square().mean(1, keepdim=True), v, v)
                g, *columns = torch.ops.aten.native_layer_norm_backward(g, x, (40,), *row, [True] * 3)
                sums += columns  # each layer computes them from what the one before has stored
                g = g + g @ w
            return (g, *sums)

        inputs = [torch.rand(300, 40) for _ in range(count)]
        weights = torch.rand(40, 40) / 20, torch.rand(40)
        program = check(function, torch.rand(300, 40), *weights, *inputs, no_calls=False)
        return {KernelForm(kernel).whole for kernel in kernels(program)}

    assert layers(5) == layers(2)


def test_a_number_is_stored_beside_an_empty_loop():
    check(lambda x, y: (torch.minimum(x * 2, y.exp()), y.exp()), torch.empty(0, 3), torch.tensor(0.5))
