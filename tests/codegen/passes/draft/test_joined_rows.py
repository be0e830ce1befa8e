"""The parts of a joined result in one kernel, row by row.

Values against eager's, the number of kernels, and the parts that share a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import capture
from codegen.kernel.ir import Kernel, Loop, Store
from codegen.kernel.program import Program
from codegen.passes.draft.joined_rows import MOST_LOOPS
from tests.codegen.lowering_check import check, kernels


def randn(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator).to(dtype)


def loops_that_store(program: Program) -> list[list[int]]:
    """For each kernel: the number of stores in each of its innermost loops, in order."""
    return [_stores(kernel) for kernel in kernels(program)]


def _stores(block: Kernel | Loop) -> list[int]:
    own = sum(isinstance(statement, Store) for statement in block.body)
    inside = [count for loop in block.body if isinstance(loop, Loop) for count in _stores(loop)]
    return [*inside, own] if own else inside


def rotated(x: Tensor) -> Tensor:
    low, high = x.chunk(2, -1)
    return torch.cat([-high, low], -1)


def with_exponentials(x: Tensor) -> Tensor:
    exponentials = x.exp()
    return torch.cat([exponentials, exponentials + 1], 1)


def with_an_output(x: Tensor, y: Tensor) -> Any:
    double = y * 2
    return torch.cat([x, double], 1), double


JOINS: list[tuple[str, Callable[..., Any], tuple[Tensor, ...], list[list[int]]]] = [
    ("two inputs", lambda x, y: torch.cat([x, y], 1), (randn(6, 16), randn(6, 16)), [[1, 1]]),
    ("one computed", lambda x, y: torch.cat([x, y * 2], 1), (randn(6, 16), randn(6, 16)), [[1, 1]]),
    ("unlike widths", lambda x, y: torch.cat([x, y, x], 1), (randn(6, 40), randn(6, 3)), [[1, 1, 1]]),
    ("a middle dim", lambda x, y: torch.cat([x.relu(), y], 1), (randn(3, 2, 5, 4), randn(3, 4, 5, 4)),
     [[1, 1]]),
    ("the same memory", lambda x: torch.cat([x, x.sin()], -1), (randn(2, 3, 16),), [[1, 1]]),
    ("rotated", rotated, (randn(2, 5, 32),), [[1, 1]]),
    ("computed together", with_exponentials, (randn(6, 16),), [[2]]),
    ("rolled", lambda x: x.roll(9, 1), (randn(6, 20),), [[1, 1]]),
    ("an output beside", with_an_output, (randn(6, 16), randn(6, 16)), [[1, 2]]),
    ("integers and bools", lambda x, y: torch.cat([x, y], 1), (randn(6, 16).long(), randn(6, 16) > 0),
     [[1, 1]]),
    ("half", lambda x, y: torch.cat([x, y], 1), (randn(6, 16, dtype=torch.bfloat16), randn(6, 32)), [[1, 1]]),
    ("transposed parts", lambda x, y: torch.cat([x.t(), y], 1), (randn(16, 6), randn(6, 16)), [[1, 1]]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "inputs", "loops"), [j[1:] for j in JOINS], ids=[j[0] for j in JOINS])
def test_rows_are_written_from_one_end_to_the_other(
    function: Callable[..., Any], inputs: tuple[Tensor, ...], loops: list[list[int]]
) -> None:
    assert loops_that_store(check(function, *inputs)) == loops


def test_channels_last() -> None:
    x, y = (randn(2, c, 5, 3).to(memory_format=torch.channels_last) for c in (16, 8))
    assert loops_that_store(check(lambda x, y: torch.cat([x, y], 1), x, y)) == [[1, 1]]


def test_parts_without_rows_stay_apart() -> None:
    program = check(lambda x, y: torch.cat([x, y.exp()], 0), randn(6, 16), randn(8, 16))
    assert loops_that_store(program) == [[1], [1]]


def test_short_parts_stay_apart() -> None:
    assert len(kernels(check(lambda x, y: torch.cat([x, y.exp()], 1), randn(9, 3), randn(9, 4)))) == 2


def test_many_parts_stay_a_table() -> None:
    inputs = [randn(4, 16) for _ in range(MOST_LOOPS + 1)]
    assert loops_that_store(check(lambda *xs: torch.cat(xs, 1), *inputs)) == [[1]]
    assert loops_that_store(check(lambda *xs: torch.cat(xs, 1), *inputs[1:])) == [[1] * MOST_LOOPS]


def test_a_part_that_waits_for_another() -> None:
    """The second part reads a call's result on the first part."""

    def function(x: Tensor, w: Tensor) -> Any:
        first = x.relu()
        return torch.cat([first, (first @ w).tanh()], 1)

    program = check(function, randn(6, 16), randn(16, 16), no_calls=False)
    assert loops_that_store(program) == [[2], [1]]


def test_a_part_that_changes_an_input() -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        y.mul_(2)
        return torch.cat([x, y], 1)

    x, y = randn(6, 16), randn(6, 16)
    changed = y.clone()
    torch.testing.assert_close(capture.compile(function)(x, changed), function(x, y), rtol=0, atol=0)
    assert torch.equal(changed, y)


def test_two_results_of_the_same_parts() -> None:
    check(lambda x, y: (torch.cat([x, y], 1), torch.cat([y, x], 1)), randn(6, 16), randn(6, 16))


def test_sizes_known_at_run_time() -> None:
    capture.reset()
    compiled = capture.compile(lambda x, y: torch.cat([x, y * 2], 1), dynamic=True)
    for rows in (3, 8, 1000, 2):
        x, y = randn(rows, 16), randn(rows, 24)
        torch.testing.assert_close(compiled(x, y), torch.cat([x, y * 2], 1), rtol=0, atol=0)
