"""torch.cond and map: only captured, since eager mode runs them through torch.compile.

Plain Python gives the expected results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from functorch.experimental.control_flow import map as map_slices

import capture

Program = Callable[[torch.Tensor], Any]


def simple(x: torch.Tensor) -> Any:
    return torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,))


def plain_simple(x: torch.Tensor) -> Any:
    return x + 1 if x.sum() > 0 else x - 1


def with_free_tensors(x: torch.Tensor) -> Any:
    y, z = x * 3, x.sin()
    return torch.cond(x.sum() > 0, lambda: y + 1, lambda: z - y) * 2


def plain_with_free_tensors(x: torch.Tensor) -> Any:
    return (x * 3 + 1 if x.sum() > 0 else x.sin() - x * 3) * 2


def nested(x: torch.Tensor) -> Any:
    def inner(a: torch.Tensor) -> torch.Tensor:
        return torch.cond(a[0, 0] > 0, lambda b: b + 1, lambda b: b * 5, (a,))

    return torch.cond(x.sum() > 0, inner, lambda a: a * 2, (x,))


def plain_nested(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        return x + 1 if x[0, 0] > 0 else x * 5
    return x * 2


def structured(x: torch.Tensor) -> Any:
    left, right = x + 1, x * 2
    return torch.cond(
        x.sum() > 0, lambda a, b: (a + b, {"k": a * 1}), lambda a, b: (a - b, {"k": b * 2}), (left, right)
    )


def plain_structured(x: torch.Tensor) -> Any:
    a, b = x + 1, x * 2
    return (a + b, {"k": a * 1}) if x.sum() > 0 else (a - b, {"k": b * 2})


def mapped(x: torch.Tensor) -> Any:
    return map_slices(lambda row, scale: (row.sin() * scale, row.sum()), x, x[0] + 1)


def plain_mapped(x: torch.Tensor) -> Any:
    return torch.stack([row.sin() * (x[0] + 1) for row in x]), torch.stack([row.sum() for row in x])


def by_number(x: torch.Tensor) -> Any:
    return torch.cond(x[0, 0].round(), lambda a: a + 1, lambda a: a - 1, (x,))


def plain_by_number(x: torch.Tensor) -> Any:
    return x + 1 if x[0, 0].round() else x - 1


PROGRAMS = [
    (simple, plain_simple),
    (with_free_tensors, plain_with_free_tensors),
    (nested, plain_nested),
    (structured, plain_structured),
    (mapped, plain_mapped),
    (by_number, plain_by_number),
]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize(("program", "plain"), PROGRAMS, ids=lambda f: f.__name__)
def test_as_plain_python(program: Program, plain: Program, backend: str) -> None:
    fast = capture.compile(program, backend=backend, fullgraph=True)
    torch.manual_seed(0)
    x = torch.randn(3, 4)
    for given in (x, -x, x + 2, x - 2, x * 0):
        torch.testing.assert_close(fast(given), plain(given))


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize(("program", "plain"), [*PROGRAMS[:3]], ids=lambda f: f.__name__)
def test_gradients(program: Program, plain: Program, backend: str) -> None:
    fast = capture.compile(program, backend=backend, fullgraph=True)
    for sign in (1, -1):
        gradients = []
        for function in (fast, plain):
            x = (torch.arange(12.0).reshape(3, 4) * sign).requires_grad_()
            function(x).square().sum().backward()
            gradients.append(x.grad)
        torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_map_in_map_of_changing_sizes(backend: str) -> None:
    def program(x: torch.Tensor) -> Any:
        return map_slices(lambda row: map_slices(lambda item: item.sin() + row.sum(), row), x)

    fast = capture.compile(program, backend=backend, fullgraph=True, dynamic=True)
    for sizes in ((2, 3, 4), (5, 2, 3), (3, 4, 4)):
        x = torch.rand(sizes)
        torch.testing.assert_close(fast(x), x.sin() + x.sum((1, 2), keepdim=True))


def test_bodies_have_torchs_names() -> None:
    names: list[list[str]] = []

    def backend(module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        names.append([name for name, _ in module.named_modules()])
        assert all(isinstance(body, torch.fx.GraphModule) for body in module.children())
        return module.forward

    torch.testing.assert_close(
        capture.compile(nested, backend=backend, fullgraph=True)(torch.ones(3, 4)), torch.full((3, 4), 2.0)
    )
    capture.compile(mapped, backend=backend, fullgraph=True)(torch.ones(3, 4))
    inside = ["cond_true_1.cond_true_0", "cond_true_1.cond_false_0"]
    assert names == [["", "cond_true_1", *inside, "cond_false_1"], ["", "map_body_0"]]


def test_branches_of_different_shapes_are_left_to_python() -> None:
    def program(x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a[0] + 1, (x,))

    with pytest.raises(capture.Unsupported, match="do not match"):
        capture.compile(program, fullgraph=True)(torch.ones(3, 4))


kept: dict[str, Any] = {}


def writes_to_a_global(x: torch.Tensor) -> Any:
    def branch(a: torch.Tensor) -> torch.Tensor:
        kept["a"] = 1
        return a + 1

    return torch.cond(x.sum() > 0, branch, lambda a: a - 1, (x,))


def writes_to_a_list_of_the_frame(x: torch.Tensor) -> Any:
    calls: list[int] = []

    def branch(a: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return a + 1

    return torch.cond(x.sum() > 0, branch, lambda a: a - 1, (x,)), len(calls)


def writes_to_a_variable_of_the_frame(x: torch.Tensor) -> Any:
    calls = 0

    def branch(a: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        calls += 1
        return a + 1

    return torch.cond(x.sum() > 0, branch, lambda a: a - 1, (x,)), calls


first, second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_the_other_branch_has_gradients_of_zero(backend: str) -> None:
    """As in torch, where both branches are compiled: an optimizer distinguishes zeros from None."""
    fast = capture.compile(
        lambda x: torch.cond(x.sum() > 0, lambda a: (first(a), a * 2), lambda a: (second(a), a * 3), (x,)),
        backend=backend,
        fullgraph=True,
    )
    for x, used, other in ((torch.ones(3, 4), first, second), (-torch.ones(3, 4), second, first)):
        first.zero_grad(), second.zero_grad()
        out, free = fast(x)
        assert out.requires_grad and not free.requires_grad
        out.sum().backward()
        assert other.weight.grad is not None and not other.weight.grad.any()
        torch.testing.assert_close(used.weight.grad, x.sum(0).expand(4, 4))


@pytest.mark.parametrize(
    "program",
    [
        lambda x: torch.cond(x.sum() > 0, lambda a: a.view(-1), lambda a: a.view(-1) + 1, (x,)),
        lambda x: torch.cond(x.sum() > 0, lambda a, n: a + n, lambda a, n: a - n, (x, 3)),
        lambda x: torch.cond(x.sum() > 0, lambda a: (a + 1, None), lambda a: (a - 1, None), (x,)),
        lambda x: map_slices(lambda row, other: row + other, x, x[0]),
    ],
)
def test_what_torch_refuses_is_left_to_it(program: Program) -> None:
    with pytest.raises(capture.Unsupported):
        capture.compile(program, fullgraph=True)(torch.ones(3, 4))


statistics = torch.nn.BatchNorm1d(4)


def writes_to_buffers(x: torch.Tensor) -> Any:
    return torch.cond(x.sum() > 0, lambda a: statistics(a), lambda a: a - 1, (x,))


@pytest.mark.parametrize(
    "program",
    [
        writes_to_a_global,
        writes_to_a_list_of_the_frame,
        writes_to_a_variable_of_the_frame,
        writes_to_buffers,
    ],
)
def test_writes_in_a_branch_are_left_to_python(program: Program) -> None:
    with pytest.raises(capture.Unsupported, match="change of"):
        capture.compile(program, fullgraph=True)(torch.ones(3, 4))


def test_a_list_made_and_filled_in_a_branch() -> None:
    def program(x: torch.Tensor) -> Any:
        def branch(a: torch.Tensor) -> torch.Tensor:
            parts = []
            for row in a:
                parts.append(row * 2)
            return torch.stack(parts)

        return torch.cond(x.sum() > 0, branch, lambda a: a - 1, (x,))

    fast = capture.compile(program, fullgraph=True)
    assert fast(torch.ones(3, 4)).sum() == 24 and fast(-torch.ones(3, 4)).sum() == -24
