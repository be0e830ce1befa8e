"""Functions of a joined result are computed on its parts: values against eager's, and the buffers left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import capture
from codegen.kernel.program import Program
from tests.codegen.lowering_check import check


def randn(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator).to(dtype)


def between(program: Program) -> list[str]:
    """Buffers that are neither inputs nor results."""
    return [name for name, buffer in program.buffers.items() if buffer.kind == "temp"]


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat([-high, low], -1) * sin


def two_readers(x: Tensor, y: Tensor) -> Any:
    both = torch.cat([x, y], 1)
    return both + 1, both * 2


def dear_readers(x: Tensor, y: Tensor) -> Any:
    """The exponentials are computed once."""
    exponentials = torch.cat([x, y], 1).exp()
    return exponentials.sin(), exponentials.cos()


def squared(x: Tensor, y: Tensor) -> Tensor:
    both = torch.cat([x, y], 1)
    return both * both


def nested(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([torch.cat([x, y], 1).relu(), x], 1) * 2


def in_another_order(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x, y], 1) + y.repeat(1, 2).t().contiguous().t()


Case = tuple[str, Callable[..., Any], tuple[Tensor, ...]]
DIVIDED: list[Case] = [
    ("one operation", lambda x, y: torch.cat([x, y], 1).relu(), (randn(4, 8), randn(4, 3))),
    ("along rows", lambda x, y: torch.cat([x, y], 0) + 1, (randn(4, 8), randn(2, 8))),
    ("rotary", rotary, (randn(2, 3, 5, 32), randn(5, 32), randn(5, 32))),
    ("a bias", lambda x, y, b: F.gelu(torch.cat([x, y], 1) + b), (randn(4, 8), randn(4, 8), randn(16))),
    ("a column", lambda x, y, b: torch.cat([x, y], 1) * b, (randn(4, 8), randn(4, 8), randn(4, 1))),
    ("of itself", squared, (randn(4, 8), randn(4, 8))),
    ("two readers", two_readers, (randn(4, 8), randn(4, 3))),
    ("dear readers", dear_readers, (randn(4, 8), randn(4, 3))),
    ("nested", nested, (randn(4, 8), randn(4, 3))),
    ("a transposed operand", in_another_order, (randn(4, 8), randn(4, 8))),
    ("stacked", lambda x, y: torch.stack([x, y], -1) - 1, (randn(4, 8), randn(4, 8))),
    ("unlike dtypes", lambda x, y: torch.cat([x, y], 1) > 0.5,
     (randn(4, 8, dtype=torch.float64), randn(4, 3))),
    ("positions", lambda x, y: torch.cat([x, y], 1) + torch.arange(11.0), (randn(4, 8), randn(4, 3))),
    ("half", lambda x, y: torch.cat([x, y], 1).sigmoid(),
     tuple(randn(4, n, dtype=torch.bfloat16) for n in (8, 3))),
    ("cast", lambda x, y: torch.cat([x, y], 1).double() * 2, (randn(4, 8), randn(4, 3))),
]  # fmt: skip


@pytest.mark.parametrize(("function", "inputs"), [case[1:] for case in DIVIDED], ids=[c[0] for c in DIVIDED])
def test_the_join_is_never_in_memory(function: Callable[..., Any], inputs: tuple[Tensor, ...]) -> None:
    assert between(check(function, *inputs)) == []


WHOLE: list[Case] = [
    ("a sum", lambda x, y: torch.cat([x, y], 1).sum(1), (randn(4, 8), randn(4, 3))),
    ("a softmax", lambda x, y: torch.cat([x, y], 1).softmax(1) * 2, (randn(4, 8), randn(4, 3))),
    ("another join", lambda x, y: torch.cat([x, y], 1) * torch.cat([y, x], 1), (randn(4, 8), randn(4, 3))),
    ("a transposed reader", lambda x, y: torch.cat([x, y], 1).t() + 1, (randn(4, 8), randn(4, 3))),
    ("a product of two views", lambda x, y: torch.cat([x, y], 1) * torch.cat([x, y], 1).t(),
     (randn(8, 4), randn(8, 4))),
    ("a lookup", lambda x, y: torch.cat([x, y], 1)[:, torch.tensor([3, 9, 3])] + 1,
     (randn(4, 8), randn(4, 3))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "inputs"), [case[1:] for case in WHOLE], ids=[case[0] for case in WHOLE]
)
def test_what_needs_the_whole_reads_it(function: Callable[..., Any], inputs: tuple[Tensor, ...]) -> None:
    assert between(check(function, *inputs))


def test_a_join_that_is_a_result_too() -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        both = torch.cat([x, y], 1)
        return both, both + 1

    check(function, randn(4, 8), randn(4, 3))


def test_a_join_that_a_call_reads_too() -> None:
    def function(x: Tensor, y: Tensor, w: Tensor) -> Any:
        both = torch.cat([x, y], 1)
        return both @ w, both + 1

    check(function, randn(4, 8), randn(4, 3), randn(11, 2), no_calls=False)


def test_a_reader_that_changes_an_input() -> None:
    def function(x: Tensor, y: Tensor, z: Tensor) -> None:
        z.copy_(torch.cat([y, x], 1) + z)

    x, y = randn(4, 8), randn(4, 3)
    expected, actual = randn(4, 11), randn(4, 11)
    function(x, y, expected)
    capture.compile(function)(x, y, actual)
    assert torch.equal(actual, expected)


def test_parts_of_the_input_that_is_changed() -> None:
    def function(x: Tensor) -> None:
        x.copy_(torch.cat([x[:, 4:], x[:, :4]], 1) * 2)

    expected, actual = randn(4, 8), randn(4, 8)
    function(expected)
    capture.compile(function)(actual)
    assert torch.equal(actual, expected)


@pytest.mark.parametrize("dynamic", [False, True])
def test_gradients(dynamic: bool) -> None:
    capture.reset()
    compiled = capture.compile(rotary, dynamic=dynamic)
    for length in (5, 3, 9):
        inputs = [randn(2, 3, length, 32), randn(length, 32), randn(length, 32)]
        grads = []
        for run in (rotary, compiled):
            own = [value.clone().requires_grad_() for value in inputs]
            result = run(*own)
            result.square().sum().backward()
            grads.append((result.detach(), *(value.grad for value in own)))
        torch.testing.assert_close(grads[1], grads[0])
