"""An input that a graph writes to is in autograd's graph where eager has it: results are made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture
from capture.report.config import config
from codegen.compile_fx import compile_fx
from codegen.launch.compiled import EagerGraph


def copied(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    w.copy_(x * 2)
    return w.sin()


def twice(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    w.mul_(x)
    y = w.exp()
    w.add_(1)
    return y * w


def partly(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    w[1:].mul_(x[1:])
    return w.square()


def grads(result: torch.Tensor, *by: torch.Tensor) -> list[torch.Tensor | None]:
    return list(torch.autograd.grad(result.sum(), by, retain_graph=True, allow_unused=True))


def of_both(result: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> list[Any]:
    return [*grads(result, x, w), *grads(w * 3, x, w), w.requires_grad, w.is_leaf]


def with_hooks(result: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> list[Any]:
    seen: list[Any] = []
    w.register_hook(lambda grad: seen.append(grad.clone()))
    w.retain_grad()
    (result + w).sum().backward(retain_graph=True)
    return [*seen, w.grad, x.grad]


def changed_by_a_hook(result: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> list[Any]:
    w.register_hook(lambda grad: grad * 10)
    result.sum().backward(retain_graph=True)
    return [x.grad]


def written_again(result: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> list[Any]:
    w.add_(x)
    return grads(w + result.detach(), x)


def outcome(program: Callable[..., torch.Tensor], use: Callable[..., list[Any]], view: bool) -> list[Any]:
    torch.manual_seed(0)
    x, base = torch.randn(3, dtype=torch.float64, requires_grad=True), torch.randn(2, 3, dtype=torch.float64)
    w = base[0] if view else base.view(-1)[:3].clone()
    alias = w[:2]
    result = program(x, w)
    return [*use(result, x, w), *grads(alias * 2, x), w.detach().clone()]


@pytest.mark.parametrize("use", [of_both, with_hooks, changed_by_a_hook, written_again])
@pytest.mark.parametrize("program", [copied, twice, partly])
def test_as_eager(program: Callable[..., torch.Tensor], use: Callable[..., list[Any]]) -> None:
    captured = capture.compile(program, backend="aot_eager", fullgraph=True)
    for _ in range(2):
        expected, found = outcome(program, use, view=False), outcome(captured, use, view=False)
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("program", [copied, twice, partly])
def test_a_view_has_its_values_and_gradients(program: Callable[..., torch.Tensor]) -> None:
    captured = capture.compile(program, backend="aot_eager", fullgraph=True)
    expected, found = outcome(program, written_again, view=True), outcome(captured, written_again, view=True)
    torch.testing.assert_close(found, expected)


# --- several written inputs, and other grad modes inside --------------------------------------------------


def two_inputs(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    v.mul_(x)
    w.add_(x.exp())
    return v * w


def beside_constants(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        factor = x.exp()
    w.mul_(x * factor)
    return w + v


def written_in_two_modes(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    w.mul_(x)
    with torch.no_grad():
        w.add_(v)
    return w.sin()


def is_compiled(module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
    graph = compile_fx(module, inputs)
    assert not isinstance(graph, EagerGraph), graph.reason
    return graph


@pytest.mark.parametrize("program", [two_inputs, beside_constants])
def test_is_native_code(program: Callable[..., torch.Tensor]) -> None:
    with config.patch(raise_on_error=True):
        found = all_of(capture.compile(program, backend=is_compiled))
    torch.testing.assert_close(found, all_of(program))


def test_writes_in_two_modes_are_as_eager() -> None:
    found = all_of(capture.compile(written_in_two_modes, fullgraph=True))
    torch.testing.assert_close(found, all_of(written_in_two_modes))


def all_of(program: Callable[..., torch.Tensor]) -> list[Any]:
    torch.manual_seed(0)
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    v, w = torch.randn(2, 3, dtype=torch.float64)
    v, w = v.clone(), w.clone()
    result = program(x, v, w)
    written = [each for each in (v, w) if each.requires_grad]
    return [result, v, w, *grads(result, x, *written), *(grads(each * 3, x) for each in written)]
