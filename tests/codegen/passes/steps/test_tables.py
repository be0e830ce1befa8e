"""Equal kernels become one that runs over a table of buffers, unless one needs the result of another."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import capture
from codegen.kernel.program import KernelStep, Program
from codegen.passes.steps import tables
from tests.codegen.lowering_check import check, check_fails

SIZES = (64, 5, 64, 130, 1000, 17, 5)


def rows(program: Program) -> list[int]:
    return [step.rows for step in program.steps if isinstance(step, KernelStep)]


def vectors(count: int = len(SIZES)) -> list[torch.Tensor]:
    return [torch.randn(SIZES[i % len(SIZES)]) for i in range(count)]


def momentum(*tensors: torch.Tensor) -> None:
    third = len(tensors) // 3
    for p, g, m in zip(tensors[:third], tensors[third : 2 * third], tensors[2 * third :], strict=True):
        m2 = m * 0.9 + g
        p.copy_(p - 0.1 * m2)
        m.copy_(m2)


def check_writes(function: Any, *inputs: torch.Tensor) -> None:
    """The inputs change as in eager mode; the whole compiler runs."""
    own = [value.clone() for value in inputs]
    capture.compile(function, fullgraph=True)(*own)
    function(*inputs)
    for have, want in zip(own, inputs, strict=True):
        torch.testing.assert_close(have, want)


@pytest.mark.parametrize("count", [2, 7, 50])
def test_an_optimizer_step_is_one_kernel(count):
    program = check(momentum, *vectors(count), *vectors(count), *vectors(count))
    assert rows(program) == [count]
    assert not [info for info in program.buffers.values() if info.kind == "temp"]


def test_of_one_length_the_loop_has_a_number():
    program = check(lambda x, y: (x.exp(), y.exp()), torch.randn(40), torch.randn(40))
    (step,) = (step for step in program.steps if isinstance(step, KernelStep))
    assert (step.rows, step.kernel.sizes) == (2, ())


def test_norms_of_many_gradients_are_one_kernel():
    program = check(lambda *grads: torch.stack([g.norm() for g in grads]).norm(), *vectors())
    assert rows(program)[0] == len(SIZES) and len(rows(program)) <= 2


def test_running_sums_are_one_kernel():
    assert rows(check(lambda x, y: (x.cumsum(1), y.cumsum(1)), torch.randn(3, 9), torch.randn(7, 9))) == [2]


def test_what_reads_the_same_memory_is_one_loop():
    assert rows(check(lambda x, y, z: (x * y + 1, x * z + 1), *torch.randn(3, 50).unbind())) == [1]


def test_rows_do_not_need_each_other():
    def function(x, y):
        a = torch.tanh(x)
        b = torch.tanh(y + a.mean())
        return a, b, torch.tanh(b.flip(0))

    check(function, torch.randn(30), torch.randn(30))


def test_what_one_row_writes_another_reads():
    def function(x, y):
        x.copy_(y.flip(0) * 2)
        y.copy_(x.flip(0) * 2)

    check_writes(function, torch.randn(30), torch.randn(30))


def test_parts_of_one_memory_stay_in_order():
    def function(x):
        for part in (x[:20], x[10:30], x[20:], x):
            part.mul_(0.5).add_(1)

    check_writes(function, torch.randn(40))


@pytest.mark.parametrize(
    ("one", "other"), [(0.0, -0.0), (1.0, math.nextafter(1.0, 2)), (math.nan, 1.0), (1, True)]
)
def test_constants_count(one: Any, other: Any):
    x, y = torch.randn(9).double(), torch.randn(9).double()
    check(lambda x, y: (torch.full_like(x, one) * x, torch.full_like(y, other) * y), x, y, exact=True)


def test_dtypes_and_layouts_count():
    tensors = [
        torch.randn(8, 8),
        torch.randn(8, 8).t(),
        torch.randn(8, 16)[:, ::2],
        torch.randn(8, 8).double(),
        torch.randn(8, 8).bfloat16(),
    ]
    check(lambda *tensors: [t.copy_(t * 2) for t in tensors], *tensors)


def test_empty_and_single_elements():
    tensors = [torch.randn(shape) for shape in ((), (1,), (0,), (3, 0), (2,), (1, 1), (33,))]
    check(lambda *tensors: [t.copy_(t * 2 + 1) for t in tensors], *tensors)


def test_a_row_that_fails():
    def function(x, y, i, j):
        return x[i] + 1, y[j] + 1

    x, y, i, bad = torch.randn(7), torch.randn(7), torch.tensor([0, 4, 1]), torch.tensor([0, 7, 1])
    assert rows(check(function, x, y, i, i.clone())) == [2]
    check_fails(function, [x, y, i, i.clone()], x, y, i, bad)


def test_nothing_to_join():
    steps: list[Any] = []
    assert tables.join_tables(steps, [], []) == ([], [], [])
