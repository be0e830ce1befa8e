"""Results whose history goes through a view that is itself a result: the view is made between two nodes."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch

import capture
from codegen.compile_fx import compile_fx
from codegen.stored.captured import captured
from codegen.stored.graphs import from_data, to_data
from tests.codegen.test_compile_fx import graph_of

Tensors = tuple[torch.Tensor, ...]


def of_result(x: torch.Tensor, w: torch.Tensor) -> Tensors:
    a = (x * w).exp()
    mean, scale = a.chunk(2)
    return a, mean, scale, (mean * scale.sin()).sum()


def of_input(x: torch.Tensor, w: torch.Tensor) -> Tensors:
    turned = x.t()
    row = turned[0]
    return turned, row, (row @ w[:, 0]).square()


def leaves() -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(4, 4, requires_grad=True) for _ in range(2)]


def gradients(function: Any, made: bool = False) -> list[torch.Tensor | None]:
    """Of the last result by all others and by the inputs; what a hook on a view sees; what it retains."""
    inputs = leaves()
    *views, result = function(*(leaf * 1 if made else leaf for leaf in inputs))
    seen: list[torch.Tensor | None] = list(torch.autograd.grad(result, views, retain_graph=True))
    views[-1].register_hook(seen.append)
    views[-1].retain_grad()
    (result + views[-1].sum() * 3).backward()
    return [*seen, views[-1].grad, *(leaf.grad for leaf in inputs)]


@pytest.mark.parametrize("made", [False, True], ids=["leaves", "made"])
@pytest.mark.parametrize("function", [of_result, of_input])
def test_as_eager(function: Any, made: bool) -> None:
    compiled = capture.compile(function, fullgraph=True)
    for _ in range(2):
        torch.testing.assert_close(gradients(compiled, made), gradients(function, made))


@pytest.mark.parametrize("function", [of_result, of_input])
def test_from_the_store(function: Any) -> None:
    module, example = graph_of(function, leaves()), leaves()
    known, compiled = captured(module, example), compile_fx(module, example)
    assert known is not None and compiled.parts.view_count
    data = to_data(compiled, known, None)
    assert data is not None
    torch.testing.assert_close(gradients(from_data(data)), gradients(function))


def test_a_view_that_lives_behind_a_break() -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> Tensors:
        flat = (x @ w).view(-1)
        norm = flat.norm()
        if norm > 100:
            return flat, norm
        return flat, norm + flat.square().sum()

    torch.testing.assert_close(gradients(capture.compile(function)), gradients(function))


def test_a_view_that_was_written_to() -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> Tensors:
        a = x * w
        row = a[0]
        row.mul_(2)
        return a, row, (row * w[0]).sum()

    torch.testing.assert_close(gradients(capture.compile(function)), gradients(function))


def test_an_input_that_is_written_to() -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> Tensors:
        memory = w.detach().clone()
        return inner(memory, x)

    def inner(memory: torch.Tensor, x: torch.Tensor) -> Tensors:
        memory.copy_(x * 2)
        row = memory[1]
        return memory, row, (row * x[0]).sum()

    compiled = capture.compile(inner)

    def captured_inner(x: torch.Tensor, w: torch.Tensor) -> Tensors:
        return compiled(w.detach().clone(), x)

    torch.testing.assert_close(gradients(captured_inner), gradients(function))


def test_the_results_of_one_call_have_one_node() -> None:
    _, mean, scale, _ = capture.compile(of_result)(*leaves())
    assert mean.grad_fn is scale.grad_fn and mean._base is scale._base


def test_nothing_is_kept() -> None:
    compiled = capture.compile(of_result)
    compiled(*leaves())
    gc.disable()
    try:
        results = compiled(*leaves())
        alive = [weakref.ref(result) for result in results]
        del results
        assert [each() for each in alive] == [None] * 4
    finally:
        gc.enable()
