"""Errors that depend on values: a graph raises them too if eager raises them inside of an operator."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture

Make = Callable[[], tuple[Any, ...]]
HALVES, TWOS = torch.full((3, 4), 0.5), torch.full((3, 4), 2.0)
CLASSES = torch.tensor([0, 1, 2])


def asserted(x: torch.Tensor) -> torch.Tensor:
    torch._assert_async(x.sum() > 7, "too little")
    return x + 1


def asserted_only(x: torch.Tensor) -> None:
    torch._assert_async((x > 1).all())


# good arguments, bad arguments
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "quantile": (torch.quantile, (HALVES, torch.tensor([0.5])), (HALVES, torch.tensor([1.01]))),
    "Tensor.nanquantile": (lambda x, q: x.nanquantile(q), (HALVES, torch.tensor(0.5)),
                           (HALVES, torch.tensor(-0.01))),
    "input of binary_cross_entropy": (F.binary_cross_entropy, (HALVES, HALVES), (TWOS, HALVES)),
    "target of binary_cross_entropy": (F.binary_cross_entropy, (HALVES, HALVES), (HALVES, TWOS)),
    "one_hot above": (lambda x: F.one_hot(x, 3), (CLASSES,), (CLASSES + 1,)),
    "one_hot below": (lambda x: F.one_hot(x, 3), (CLASSES,), (CLASSES - 1,)),
    "cholesky": (torch.linalg.cholesky, (torch.eye(3),), (-torch.eye(3),)),
    "inv": (torch.linalg.inv, (torch.eye(3),), (torch.zeros(3, 3),)),
    "solve": (torch.linalg.solve, (torch.eye(3), torch.ones(3, 3)), (torch.zeros(3, 3), torch.ones(3, 3))),
    "_assert_async": (asserted, (TWOS,), (HALVES,)),
    "_assert_async alone": (asserted_only, (TWOS,), (HALVES,)),
}  # fmt: skip


def outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        return fn(*args)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("grad", [False, True], ids=["", "grad"])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_error_of_values(name: str, dynamic: bool, grad: bool) -> None:
    fn, *given = PROGRAMS[name]
    compiled = capture.compile(fn, dynamic=dynamic)
    for arguments in (*given, *given):  # the first call compiles; then once more
        args = tuple(item.clone().requires_grad_(grad and item.is_floating_point()) for item in arguments)
        expected, found = outcome(fn, args), outcome(compiled, args)
        if isinstance(expected, torch.Tensor):
            torch.testing.assert_close(found, expected)
        else:
            assert found == expected
    assert outcome(fn, given[1]) != outcome(fn, given[0])


def test_the_assertion_is_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs: list[Any] = []
    compiler = sys.modules["capture.backends.llvm"]
    compile_graph = compiler.compile_graph  # type: ignore[attr-defined]

    def kept(*args: Any, **settings: Any) -> Any:
        graphs.append(compile_graph(*args, **settings))
        return graphs[-1]

    monkeypatch.setattr(compiler, "compile_graph", kept)
    capture.compile(asserted)(TWOS)
    (graph,) = graphs
    assert graph.extern_calls == []
    assert "check" in graph.loops


def test_assertion_across_a_break() -> None:
    """The condition of an `assert` is checked after the graph: the error is Python's, not the graph's."""

    def program(x: torch.Tensor) -> torch.Tensor:
        assert (x > 1).all(), "too small"
        y = x * 2
        print(end="")
        return y + 1

    compiled = capture.compile(program)
    torch.testing.assert_close(compiled(TWOS), program(TWOS))
    for _ in range(2):
        with pytest.raises(AssertionError, match="too small"):
            compiled(HALVES)
