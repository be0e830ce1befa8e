"""Outputs that share memory may be written to as in eager: what autograd knows of views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture

Program = Callable[[torch.Tensor], Any]


def detached(x: torch.Tensor) -> Any:
    return x.detach(), x * 2


def detached_result(x: torch.Tensor) -> Any:
    y = x * 2
    return y, y.detach()


def data(x: torch.Tensor) -> Any:
    return x.data, x * 2


def detached_view(x: torch.Tensor) -> Any:
    return x.t().detach(), (x * 2).sum()


def part_of_a_detached(x: torch.Tensor) -> Any:
    return x.detach()[0], x * 2


def part(x: torch.Tensor) -> Any:
    return x[:2], x * 2


def part_of_a_result(x: torch.Tensor) -> Any:
    y = x * 2
    return y[0], y


def several(x: torch.Tensor) -> Any:
    return x.unbind(0)[1], x * 2


def without_grad_mode(x: torch.Tensor) -> Any:
    with torch.no_grad():
        v = x.view(-1)
    return v, x * 2


def part_of_zeros(x: torch.Tensor) -> Any:
    y = torch.zeros(4, 4)
    return y, y[0]


def part_of_a_copy_of_numbers(x: torch.Tensor) -> Any:
    y = torch.tensor([1.0, 2.0])
    return y[1:], y, x * 2


def part_of_zeros_beside_a_gradient(x: torch.Tensor) -> Any:
    y = torch.zeros_like(x)
    return y, y[0], x * 2


def view_before_its_base(x: torch.Tensor) -> Any:
    y = x.new_ones(4, 4)
    return y.view(4, 4), y


def detached_before_its_base(x: torch.Tensor) -> Any:
    y = x.new_ones(4, 4)
    return y.detach(), y


def parts_of_a_detached_result(x: torch.Tensor) -> Any:
    y = x.new_ones(4, 4).mul(2).detach()
    return y[0], y[0:2]


def part_of_a_detached_base(x: torch.Tensor) -> Any:
    y = x.new_ones(4, 4).mul(2).detach()
    return y[0], y


def view_behind_a_hidden_write(x: torch.Tensor) -> Any:
    y = x.new_ones(16)
    v = y.view(4, 4)
    v.data[1, 1] = 7
    return v, y


def detached_beside_a_detached_input(x: torch.Tensor) -> Any:
    y = x.detach().clone()
    return y[1], y, y.detach(), x.detach()


def detached_beside_a_part_of_it(x: torch.Tensor) -> Any:
    y = x * 2
    d = y.detach()
    return d[0], y, d


def detached_input_beside_a_part_of_it(x: torch.Tensor) -> Any:
    d = x.detach()
    return d[0], d, x * 2


PROGRAMS = [
    detached_beside_a_part_of_it,
    detached_input_beside_a_part_of_it,
    part_of_zeros,
    parts_of_a_detached_result,
    part_of_a_detached_base,
    view_behind_a_hidden_write,
    detached_beside_a_detached_input,
    part_of_a_copy_of_numbers,
    part_of_zeros_beside_a_gradient,
    view_before_its_base,
    detached_before_its_base,
    detached,
    detached_result,
    data,
    detached_view,
    part_of_a_detached,
    part,
    part_of_a_result,
    several,
    without_grad_mode,
]


def outcome(fn: Program, position: int, requires_grad: bool, grad_mode: bool) -> list[Any]:
    x = torch.arange(16.0).view(4, 4).clone().requires_grad_(requires_grad)
    w = torch.ones((), requires_grad=True)
    with torch.set_grad_enabled(grad_mode):
        results = fn(x)
    try:
        results[position].mul_(w)
        total = sum(result.sum() for result in results if result.requires_grad)
        grads = torch.autograd.grad(total, w, allow_unused=True)
    except RuntimeError:
        return ["refused"]
    return [grads[0], x.requires_grad, *((result.detach(), result.requires_grad) for result in results)]


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "symbolic"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_write_in_grad_mode(program: Program, dynamic: bool) -> None:
    compiled = capture.compile(program, dynamic=dynamic)
    for requires_grad in (False, True):
        for grad_mode in (True, False):
            if program is part_of_a_detached and not grad_mode:
                continue  # eager refuses the write; here the part is detached itself
            for position in (0, 1):
                arguments = position, requires_grad, grad_mode
                expected = outcome(program, *arguments)
                for _ in range(2):
                    found = outcome(compiled, *arguments)
                    assert len(found) == len(expected), arguments
                    if expected != ["refused"]:
                        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("shape", [(4, 4), (2, 8)], ids=str)
def test_a_view_of_a_factory_follows_its_base(shape: tuple[int, ...]) -> None:
    def program(w: torch.Tensor) -> Any:
        buffer = torch.zeros(4, 4)
        part = buffer.view(shape)
        capture.graph_break()
        part.mul_(0).add_(w)
        return (buffer * 2).sum(), part.requires_grad

    w = torch.ones((), requires_grad=True)
    result, requires_grad = capture.compile(program)(w)
    assert requires_grad
    assert torch.autograd.grad(result, w)[0] == 32


def test_each_write_through_a_detached_input_reaches_it() -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.data.mul_(2).add_(1)
        detached = y.detach()
        detached += 1
        detached *= 3
        return x + y

    for _ in range(2):
        x, y = torch.ones(3), torch.ones(3)
        result = capture.compile(program)(x, y)
        assert (x.tolist(), y.tolist(), result.tolist()) == ([3.0] * 3, [6.0] * 3, [9.0] * 3)


def test_a_detached_result_may_be_detached_in_place() -> None:
    for program in (detached, detached_result, data, detached_view):
        results = capture.compile(program)(torch.ones(4, 4))
        for result in results:
            result.detach_()
            assert not result._is_view()
