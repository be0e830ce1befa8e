"""`inspect.signature` is translated as the Python code that it is: one graph, but for a `partial`."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any

import pytest
import torch

import capture


def function(a: Any, b: Any = 2, *rest: Any, c: Any = 3) -> None: ...


@functools.wraps(function)
def wrapper(*args: Any) -> None: ...


class Callee:
    def __init__(self, size: int) -> None: ...

    def __call__(self, x: Any) -> None: ...

    def method(self, x: Any, *, y: Any) -> None: ...


ASKED = {
    "function": function,
    "wrapper": wrapper,
    "partial": functools.partial(function, 1, c=5),
    "class": Callee,
    "object": Callee(1),
    "method": Callee(1).method,
}


@pytest.mark.parametrize("name", ASKED)
def test_signatures(name: str) -> None:
    def program(x: torch.Tensor) -> Any:
        parameters = inspect.signature(ASKED[name]).parameters
        defaults = [p.default for p in parameters.values() if p.default is not p.empty]
        return x * len(parameters), list(parameters), defaults

    x = torch.ones(2)
    found, expected = capture.compile(program, fullgraph=name != "partial")(x), program(x)
    assert torch.equal(found[0], expected[0]) and found[1:] == expected[1:]


def test_what_has_no_signature() -> None:
    def program(x: torch.Tensor) -> Any:
        try:
            return x * len(inspect.signature(3).parameters)  # type: ignore[arg-type]
        except TypeError as error:
            return x * 2, str(error)

    found, expected = capture.compile(program, fullgraph=True)(torch.ones(2)), program(torch.ones(2))
    assert torch.equal(found[0], expected[0]) and found[1] == expected[1]


def test_the_limit_of_recursion() -> None:
    fast = capture.compile(lambda x: x + sys.getrecursionlimit(), fullgraph=True)
    before, x = sys.getrecursionlimit(), torch.zeros(2)
    try:
        for more in (0, 50):
            sys.setrecursionlimit(before + more)
            assert fast(x).tolist() == [before + more] * 2
    finally:
        sys.setrecursionlimit(before)
