"""A backward that asks for some gradients checks and frees what their operations saved, as in eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import fx

import capture
from codegen.autograd.joint_graph import trace_joint
from codegen.autograd.partition import partition
from codegen.fake.fake import fake_mode

Tensors = list[torch.Tensor]
Program = Callable[..., Any]


def branches(x: torch.Tensor, w: torch.Tensor, c: torch.Tensor, k: torch.Tensor) -> Tensors:
    return [(x * c).sin() + w * k]


def product(x: torch.Tensor, w: torch.Tensor, c: torch.Tensor, k: torch.Tensor) -> Tensors:
    """One operation saves what two gradients need."""
    return [(x * w) * c + (w * k).exp()]


def one_after_the_other(x: torch.Tensor, w: torch.Tensor, c: torch.Tensor, k: torch.Tensor) -> Tensors:
    h = x * c
    return [h, h * w + (w * k).cos()]


def trunk(x: torch.Tensor, w: torch.Tensor, c: torch.Tensor, k: torch.Tensor) -> Tensors:
    """Two results lead to it."""
    t = torch.cat([x * c, w * k])
    return [t.sin(), t.exp()]


def computed_again(x: torch.Tensor, w: torch.Tensor, c: torch.Tensor, k: torch.Tensor) -> Tensors:
    return [(x * c.exp()).relu() * 2, (w * k.exp()).relu() + x]


PROGRAMS = [branches, product, one_after_the_other, trunk, computed_again]


def ask(results: Tensors, *wanted: torch.Tensor, retain: bool = True) -> Any:
    total = sum(result.square().sum() for result in results)
    try:
        found = torch.autograd.grad(total, wanted, retain_graph=retain, allow_unused=True)
    except RuntimeError as error:
        return next(text for text in ("modified by an inplace", "a second time") if text in str(error))
    return found


def written(number: int) -> Program:
    def use(results: Tensors, inputs: Tensors) -> list[Any]:
        with torch.no_grad():
            inputs[number].mul_(2)
        x, w = inputs[:2]
        return [ask(results, x), ask(results, w), ask(results, results[0]), ask(results, x, w)]

    use.__name__ = f"input_{number}_written"
    return use


def freed(results: Tensors, inputs: Tensors) -> list[Any]:
    x, w = inputs[:2]
    return [ask(results[-1:], x, retain=False), ask(results[-1:], w), ask(results[-1:], x)]


def freed_and_written(results: Tensors, inputs: Tensors) -> list[Any]:
    x, w, c, _ = inputs
    return [ask(results, x, retain=False), c.mul_(2).sum(), ask(results, w)]


def into_grad(results: Tensors, inputs: Tensors) -> list[Any]:
    """By `backward`: first from one leaf, then from the other one."""
    for leaf in inputs[:2]:
        inputs[3 if leaf is inputs[0] else 2].mul_(2)
        try:
            results[-1].sum().backward(inputs=[leaf])
        except RuntimeError as error:
            return [leaf.grad, type(error)]
    return [leaf.grad for leaf in inputs[:2]]


USES = [*map(written, range(4)), freed, freed_and_written, into_grad]


def outcome(program: Program, use: Program) -> list[Any]:
    torch.manual_seed(0)
    inputs = [torch.randn(3, 3, dtype=torch.float64) for _ in range(4)]
    for leaf in inputs[:2]:
        leaf.requires_grad_()
    found: list[Any] = use(program(*inputs), inputs)
    return found


def same(one: Any, other: Any) -> bool:
    """What an operation has freed may be what another one still has: not every second backward raises."""
    if isinstance(one, tuple):
        return isinstance(other, tuple) and all(map(same, one, other))
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.allclose(one, other, rtol=1e-9)
    return one in (other, "a second time")


@pytest.mark.parametrize(
    ("program", "backend"),
    [*((program, "aot_eager") for program in PROGRAMS), (product, "llvm"), (trunk, "llvm")],
)
def test_as_eager(program: Program, backend: str) -> None:
    captured = capture.compile(program, backend=backend, fullgraph=True)
    for use in USES:
        expected, found = outcome(program, use), outcome(captured, use)
        pairs = zip(expected, found, strict=True)
        assert all(same(one, other) for one, other in pairs), f"{use.__name__}: {expected} eager, {found}"


def test_the_edges_that_need_a_saved_value() -> None:
    torch.manual_seed(0)
    inputs = [torch.ones(3, requires_grad=i < 2) for i in range(4)]
    mode = fake_mode()
    joint = trace_joint(fx.symbolic_trace(product), inputs, mode)
    with mode:
        (part,) = partition(joint).backward
    leads = {edge: 1 << place for place, edge in enumerate(part.edges)}
    needed = dict(zip(part.saved_inputs, part.needed_by))
    assert needed[0] == needed[1] == needed[2] == leads[0] | leads[1]  # eager's product checks both factors
    assert needed[3] == leads[1]
