"""Backwards that start from some of a graph's results.

As in eager, inputs that only lead to the other results get no gradient, and a later backward can start from
those.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import capture
from tests.codegen.autograd.in_python import python_nodes

Program = Callable[..., Any]


def two(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return a.exp(), b.sin(), a * b


def test_gradients_of_one_result() -> None:
    compiled = capture.compile(two)
    for used in ((0,), (1,), (2,), (0, 1), (1, 2)):
        grads = []
        for fn in (two, compiled):
            inputs = [torch.full((3,), 0.5, requires_grad=True) for _ in range(2)]
            results = fn(*inputs)
            sum(results[i].sum() for i in used).backward()
            grads.append([item.grad for item in inputs])
        for expected, found in zip(*grads):
            assert (expected is None) == (found is None)
            if expected is not None:
                torch.testing.assert_close(found, expected)


def layouts(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Results of several layouts and types."""
    return a.exp().t(), (a * b).sum(), b.double().sin(), b[:1].expand(3, 4) * 2, a.new_zeros(0, 4) + a[:0]


def test_all_choices_of_results_again_and_again() -> None:
    compiled = capture.compile(layouts)
    for _ in range(2):
        for used in ([i for i in range(5) if choice >> i & 1] for choice in range(1, 32)):
            grads = []
            for fn in (layouts, compiled):
                inputs = [torch.full((3, 4), 0.5, requires_grad=True) for _ in range(2)]
                results = fn(*inputs)
                torch.autograd.backward(
                    [results[i] for i in used], [torch.ones_like(results[i]) for i in used]
                )
                grads.append([item.grad for item in inputs])
            for expected, found in zip(*grads):
                assert (expected is None) == (found is None), used
                if expected is not None:
                    torch.testing.assert_close(found, expected)


def products(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return a.sin() @ b, b.exp(), a.cos()


@pytest.mark.parametrize("sizes", [(0, 5, 3), (4, 0, 3), (4, 5, 0), (2, 0, 5, 3), (2, 4, 0, 3)], ids=str)
def test_products_of_nothing_lead_to_both_factors(sizes: tuple[int, ...]) -> None:
    *batch, rows, inner, columns = sizes
    compiled = capture.compile(products, dynamic=False)
    for used in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)):
        grads = []
        for fn in (products, compiled):
            inputs = [
                torch.ones(shape, requires_grad=True)
                for shape in ((*batch, rows, inner), (*batch, inner, columns))
            ]
            results = fn(*inputs)
            torch.autograd.backward([results[i] for i in used], [torch.ones_like(results[i]) for i in used])
            grads.append([item.grad for item in inputs])
        for expected, found in zip(*grads):
            assert (expected is None) == (found is None), used
            if expected is not None:
                torch.testing.assert_close(found, expected)


def test_python_is_asked_once() -> None:
    compiled = capture.compile(two)
    a, b = (torch.ones(3, requires_grad=True) for _ in range(2))
    calls: list[str] = []

    def note(frame: types.FrameType, event: str, argument: object) -> None:
        if event == "call":
            calls.append(frame.f_code.co_name)

    for _ in range(3):
        calls.clear()
        loss = compiled(a, b)[2].sum()
        sys.setprofile(note)
        try:
            loss.backward()
        finally:
            sys.setprofile(None)
    assert calls and "run_backward" not in calls


def test_more_results_than_are_counted() -> None:
    def many(a: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
        return [a * i if i % 2 else b * i for i in range(70)]

    compiled = capture.compile(many)
    for _ in range(3):
        a, b = (torch.ones(3, requires_grad=True) for _ in range(2))
        results = compiled(a, b)
        (results[69] + results[3]).sum().backward()
        assert b.grad is None and torch.equal(a.grad, torch.full((3,), 72.0))


def test_gradients_before_a_break() -> None:
    """The value is computed before the break and not used after it."""

    def program(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        unused, y = a.exp(), b * 2
        if y.sum() > 0:
            y = y + 1
        return y.sin() if a is not None else unused

    compiled = capture.compile(program)
    for _ in range(2):
        a, b = (torch.ones(3, requires_grad=True) for _ in range(2))
        compiled(a, b).sum().backward()
        assert a.grad is None and b.grad is not None


# --- one backward after the other -------------------------------------------------------------------------


def apart(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> None:
    a, b = (x @ v).sin().sum(), (x @ w).exp().mean()
    a.backward()
    b.backward()


def detached(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> None:
    """The discriminator of a GAN reads it, then the generator."""
    fake = (x @ v).tanh()
    (fake.detach() @ w).sigmoid().sum().backward()
    (fake @ w).sigmoid().log().mean().backward()


def updated_between(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> None:
    """One optimizer steps before the other's loss is differentiated."""
    a, b = (x @ v).tanh().square().sum(), (x @ w).exp().mean()
    a.backward()
    with torch.no_grad():
        v -= 0.1 * v.grad
    b.backward()


def without_saved_values(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> None:
    """Eager frees nothing that the second backward needs."""
    y = v + w.t()
    a, b = y.sum(), y.mean()
    a.backward()
    b.backward()
    a.backward()


def retained(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> None:
    h = (x @ v).tanh()
    a, b, c = h.sin().sum(), (h @ w).exp().mean(), (x @ w).sigmoid().sum()
    a.backward(retain_graph=True)
    c.backward()
    b.backward()


def joined_then_apart(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> None:
    a, b, c = (x @ v).sin().sum(), (x @ w).exp().mean(), (v * w).square().sum()
    (a + c).backward()
    b.backward()


def concatenated(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> None:
    """One step of the backward takes gradients of both results."""
    y, z = torch.cat([v.sin(), w.exp()]).chunk(2)
    h = torch.stack([v, w]).amax(0)
    (y.square().sum() + h.sum()).backward()
    del z


def run(program: Program, fn: Program, x: torch.Tensor, view: bool = False) -> list[torch.Tensor | None]:
    torch.manual_seed(0)
    leaves = [torch.randn(3, 3, requires_grad=True) for _ in range(2)]
    fn(x, *(leaf.view(3, 3) if view else leaf for leaf in leaves))
    return [leaf.grad for leaf in leaves]


PROGRAMS = [apart, detached, updated_between, without_saved_values, retained, joined_then_apart, concatenated]


@pytest.mark.parametrize("view", [False, True], ids=["leaves", "views"])
@pytest.mark.parametrize("backend", ["llvm", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_one_after_the_other(program: Program, backend: str, view: bool) -> None:
    if view and program in (updated_between, without_saved_values):
        pytest.skip("writes to leaves; eager itself lets two leaves share one gradient")
    compiled = capture.compile(program, backend=backend)
    for rows in (4, 4, 5, 6):  # the later ones have symbolic sizes
        x = torch.randn(rows, 3)
        expected = run(program, program, x, view)
        torch.testing.assert_close(run(program, compiled, x, view), expected)


def test_nodes_in_python() -> None:
    compiled = capture.compile(detached)
    x = torch.randn(4, 3)
    with python_nodes():
        torch.testing.assert_close(run(detached, compiled, x), run(detached, detached, x))


def shared(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> None:
    h = (x @ v).tanh()
    a, b = h.sin().sum(), (h @ w).sum()
    a.backward()
    b.backward()


def twice(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> None:
    a, b = (x @ v).sin().sum(), (x @ w).exp().mean()
    b.backward()
    a.backward()
    b.backward()


def written_to(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> None:
    a, b = (x @ v).sin().sum(), (v * w).exp().mean()
    a.backward()
    with torch.no_grad():
        v.add_(1)
    b.backward()


@pytest.mark.parametrize("in_python", [False, True])
@pytest.mark.parametrize(
    ("program", "text"),
    [
        (shared, "backward through the graph a second time"),
        (twice, "backward through the graph a second time"),
        (written_to, "modified by an inplace operation"),
    ],
)
def test_refused_as_in_eager(program: Program, text: str, in_python: bool) -> None:
    x = torch.randn(4, 3)
    for fn in (program, capture.compile(program)):
        with python_nodes(in_python), pytest.raises(RuntimeError, match=text):
            run(program, fn, x)


@pytest.mark.parametrize("in_python", [False, True])
def test_what_is_kept(in_python: bool) -> None:
    """The first backward frees the values that no other result needs; the last one frees all."""

    def held(array: np.ndarray[Any, Any]) -> int:
        return sys.getrefcount(array)

    def program(
        x: torch.Tensor, y: torch.Tensor, v: torch.Tensor, w: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        product = x * v
        return product.sum(), (y * w).sum(), product.sin()

    compiled = capture.compile(program)
    with python_nodes(in_python):
        for _ in range(2):
            arrays = [np.ones(3, np.float32), np.ones(3, np.float32)]
            before = [held(array) for array in arrays]
            v, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
            results = compiled(*map(torch.from_numpy, arrays), v, w)
            assert all(held(array) > count for array, count in zip(arrays, before))
            results[0].backward()
            assert held(arrays[0]) == before[0] and held(arrays[1]) > before[1]
            results[1].backward()
            assert [held(array) for array in arrays] == before


def test_a_gan() -> None:
    """One captured step has both backwards and both optimizers."""

    def train(wrap: Callable[[Program], Program]) -> list[torch.Tensor]:
        torch.manual_seed(0)
        generator = nn.Sequential(nn.Linear(4, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
        critic = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1), nn.Sigmoid())
        optimizers = [torch.optim.Adam(net.parameters(), lr=0.01) for net in (generator, critic)]
        loss = nn.BCELoss()

        def step(real: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
            optimizers[1].zero_grad()
            label = torch.ones(6)
            of_real = loss(critic(real).view(-1), label)
            of_real.backward()
            fake = generator(noise)
            of_fake = loss(critic(fake.detach()).view(-1), label.fill_(0.0))
            of_fake.backward()
            optimizers[1].step()
            optimizers[0].zero_grad()
            of_generator = loss(critic(fake).view(-1), label.fill_(1.0))
            of_generator.backward()
            optimizers[0].step()
            return torch.stack([of_real, of_fake, of_generator]).detach()

        wrapped = wrap(step)
        losses = [wrapped(torch.randn(6, 3), torch.randn(6, 4)) for _ in range(4)]
        return [*losses, *(p.detach() for net in (generator, critic) for p in net.parameters())]

    torch.testing.assert_close(train(capture.compile), train(lambda step: step), rtol=1e-4, atol=1e-5)
