"""What the program drops dies when it dies in eager: gradients, states of optimizers, parameters, inputs."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import capture

#: what runs the parts of a step: eager, or captured
Runner = Callable[[Callable[..., Any]], Callable[..., Any]]
OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.1),
}


@pytest.fixture(autouse=True)
def without_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive(references: list[weakref.ref[Any]]) -> list[bool]:
    return [reference() is not None for reference in references]


def watched(tensors: Any) -> list[weakref.ref[Any]]:
    return [weakref.ref(tensor) for tensor in tensors]


def dropped_gradients(run: Runner) -> list[list[bool]]:
    net, x, found = torch.nn.Linear(3, 3), torch.ones(2, 3), []

    def forward(x: torch.Tensor) -> torch.Tensor:
        net.zero_grad()
        return net(x).sum()

    fast = run(forward)
    for _ in range(3):
        fast(x).backward()
        gradients = watched(p.grad for p in net.parameters())
        fast(x)
        found.append(alive(gradients))
    return found


def gradients_dropped_outside(run: Runner) -> list[list[bool]]:
    net, found = torch.nn.Linear(3, 3), []
    optimizer = torch.optim.Adam(net.parameters())

    def step(x: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = net(x).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    fast = run(step)
    for _ in range(3):
        fast(torch.ones(2, 3))
        gradients = watched(p.grad for p in net.parameters())
        optimizer.zero_grad()
        found.append(alive(gradients))
    return found


def clipped_gradients(run: Runner) -> list[list[bool]]:
    net, found = torch.nn.Linear(3, 3), []
    clip = run(lambda: torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0))
    for _ in range(3):
        net(torch.ones(2, 3)).sum().backward()
        clip()
        gradients = watched(p.grad for p in net.parameters())
        net.zero_grad()
        found.append(alive(gradients))
    return found


def state_of_an_optimizer(run: Runner, name: str) -> list[bool]:
    net = torch.nn.Linear(3, 3)
    optimizer = OPTIMIZERS[name](net.parameters())
    step = run(optimizer.step)
    for _ in range(3):
        net(torch.ones(2, 3)).sum().backward()
        step()
    state = [value for values in optimizer.state.values() for value in values.values()]
    references = [weakref.ref(optimizer), *watched(v for v in state if isinstance(v, torch.Tensor))]
    del optimizer, step, state
    gc.collect()
    return alive(references)


def replaced_tensors(run: Runner) -> list[bool]:
    class Holder:
        tensor = torch.ones(3)

    holder, found = Holder(), []
    fast = run(lambda x: x + holder.tensor if x is not holder.tensor else x)
    for _ in range(3):
        holder.tensor = torch.randn(3)
        fast(torch.ones(3))
        reference = weakref.ref(holder.tensor)
        holder.tensor = None  # type: ignore[assignment]
        found.append(reference() is None)
    return found


def inputs(run: Runner) -> list[bool]:
    weight, x, popped = torch.randn(3, requires_grad=True), torch.randn(3), [torch.randn(3)]
    references = watched([x, popped[0]])
    results = run(lambda x: x + weight * 2)(x), run(lambda values: values.pop() + 1)(popped)
    del x
    assert results[0].requires_grad
    return alive(references)


def networks(run: Runner) -> list[bool]:
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    call = run(lambda net, x: net(x))
    for _ in range(2):
        call(net, torch.ones(2, 3)).sum().backward()
    references = watched([*net.parameters(), *(p.grad for p in net.parameters())])
    del net
    return alive(references)


PROGRAMS: list[Callable[[Runner], Any]] = [
    dropped_gradients, gradients_dropped_outside, clipped_gradients, replaced_tensors, inputs, networks,
    *(lambda run, name=name: state_of_an_optimizer(run, name) for name in OPTIMIZERS),
]  # fmt: skip


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_dies_when_it_dies_in_eager(program: Callable[[Runner], Any], backend: str) -> None:
    expected = program(lambda fn: fn)
    assert program(lambda fn: capture.compile(fn, backend=backend)) == expected
