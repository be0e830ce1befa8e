"""Gradients of tensors that are read part by part: values, and work that grows with the length only."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import capture
from codegen.compile_fx import compile_fx
from codegen.kernel.arithmetic import cycles_of
from tests.codegen.lowering_check import check


def randn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def recurrence(x: Tensor, decay: Tensor) -> Tensor:
    """Reads step after step of both, as a state space does."""
    state = torch.zeros(x.shape[0], x.shape[2])
    found = []
    for i in range(x.shape[1]):
        state = state * decay[:, i].exp() + x[:, i]
        found.append(state.sum(1))
    return torch.stack(found, 1)


READERS: list[tuple[str, Callable[[Tensor], Tensor]]] = [
    ("steps", lambda x: recurrence(x, x)),
    ("from the end", lambda x: sum(x[:, -i - 1].sin() * i for i in range(6))),
    ("some are not read", lambda x: sum(x[:, i].sin() for i in (1, 3, 4, 6))),
    ("slices", lambda x: torch.stack([x[:, i : i + 2].exp().sum(1) for i in range(0, 8, 2)])),
    ("over each other", lambda x: torch.stack([x[:, i : i + 2].exp().sum(1) for i in range(7)])),
    ("open ends", lambda x: x[:2].exp().sum() + x[2:3].sum() + x[3:].sin().sum() + x[-2:].cos().sum()),
    ("the last dim", lambda x: sum(x[..., i].exp() for i in range(5))),
    ("one part twice", lambda x: sum(x[:, i].exp() * x[:, i] for i in (0, 1, 2, 3, 3))),
    ("parts of parts", lambda x: sum(x[:, i, j].exp() for i in range(4) for j in range(4))),
    ("beside the whole", lambda x: sum(x[:, i].exp() for i in range(5)).sum() + x.sin().sum()),
]


@pytest.mark.parametrize("function", [case[1] for case in READERS], ids=[case[0] for case in READERS])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_gradients(function: Callable[[Tensor], Tensor], dtype: torch.dtype) -> None:
    x = randn(5, 8, 7).to(dtype)
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    capture.compile(function, fullgraph=True)(ours).sum().backward()
    function(theirs).sum().backward()
    assert ours.grad is not None and theirs.grad is not None
    torch.testing.assert_close(ours.grad, theirs.grad)
    assert ours.grad.stride() == theirs.grad.stride()


def test_symbolic_sizes_beside_the_parts() -> None:
    compiled = capture.compile(lambda x: recurrence(x, x), fullgraph=True, dynamic=True)
    for rows in (5, 9, 6):
        ours = randn(rows, 8, 7).requires_grad_()
        theirs = ours.detach().clone().requires_grad_()
        compiled(ours).sum().backward()
        recurrence(theirs, theirs).sum().backward()
        torch.testing.assert_close(ours.grad, theirs.grad)


def placed(x: Tensor, zeros: Callable[[], Tensor]) -> Tensor:
    parts = [torch.select_scatter(zeros(), x[i], 1, i) for i in range(4)]
    return parts[0] + parts[1] + parts[2] + parts[3]


def test_eager_adds_zeros_so_no_element_is_minus_zero() -> None:
    x = torch.full((4, 3), -0.0)
    (found,) = capture.compile(lambda x: (placed(x, lambda: torch.zeros(3, 4)),))(x)
    assert not found.signbit().any()


def test_a_sum_inside_is_read_elsewhere() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        parts = [torch.select_scatter(torch.zeros(3, 6), x[i], 1, i) for i in range(6)]
        first = parts[0] + parts[1] + parts[2] + parts[3]
        return first, first + parts[4] + parts[5]

    check(function, randn(6, 3))


def cycles_of_training(length: int) -> int:
    def function(x: Tensor, decay: Tensor) -> Tensor:
        state = x[:, 0]
        for i in range(length):
            state = state * decay[:, i].exp() + x[:, i]
        return state

    x, decay = randn(2, length, 16).requires_grad_(), randn(2, length, 16).requires_grad_()
    graph = compile_fx(torch.fx.symbolic_trace(function), [x, decay])
    graph(x, decay)[0].sum().backward()
    return sum(map(cycles_of, graph.kernels))


def test_the_work_grows_with_the_length() -> None:
    assert cycles_of_training(40) < 6 * cycles_of_training(10)
