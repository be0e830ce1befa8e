"""A program replaces a tensor method of torch: captured code is not used until torch's method is back."""

from __future__ import annotations

import subprocess
import sys
from typing import Any
from unittest import mock

import _capture
import pytest
import torch

import capture
from capture.report.config import config
from capture.report.counters import counters
from guards.properties.tensor_methods import methods_are_replaced
from tests.capture.test_cases import same

X = torch.arange(12.0).reshape(3, 4)
P = torch.nn.Parameter(torch.ones(3, 4))


@pytest.fixture(autouse=True)
def nothing_captured() -> None:
    capture.reset()


#: name -> function, the replaced name, the replacement
PATCHES: dict[str, tuple[Any, str, Any]] = {
    "method": (lambda x: x.sum() + 1, "sum", lambda s: s * 0 + 7),
    "operator": (lambda x: x + 1, "__add__", lambda s, other: s * 5),
    "reflected_operator": (lambda x: 1 - x.abs(), "__rsub__", lambda s, other: s * 5),
    "constant": (lambda x: x * x.dim(), "dim", lambda s: 9),
    "iteration": (lambda x: [row * 2 for row in x], "__iter__", lambda s: iter([s * 3])),
    "length": (lambda x: x * len(x), "__len__", lambda s: 9),
    "item": (lambda x: x[0] * 2, "__getitem__", lambda s, index: s * 3),
    "property": (lambda x: x * x.shape[0], "shape", property(lambda s: (8,))),
    "view": (lambda x: x.T * 2, "T", property(lambda s: s * 3)),
    "inside_of_a_function_of_torch": (lambda x: torch.nn.functional.softsign(x) * 2, "abs", lambda s: s * 3),
    "missing_attributes": (lambda x: x * getattr(x, "scale", 2), "__getattr__",
                           lambda s, name: 5 if name == "scale" else object.__getattribute__(s, name)),
    "text": (lambda x: (x * 2, repr(x), f"{x}"), "__repr__", lambda s: "a tensor"),
}  # fmt: skip


@pytest.mark.parametrize("hook", ["pep523", "settrace"])
@pytest.mark.parametrize("cls", [torch.Tensor, torch.nn.Parameter])
@pytest.mark.parametrize("name", PATCHES)
def test_replaced_between_two_calls(name: str, cls: type, hook: str) -> None:
    function, method, replacement = PATCHES[name]
    for argument in (X, P):
        with config.patch(raise_on_error=True):
            run = capture.compile(function, hook=hook)
            assert same(run(argument), function(argument))
            with mock.patch.object(cls, method, replacement, create=True):
                expected = function(argument)
                assert same(run(argument), expected)
                assert same(run(argument), expected)
            assert same(run(argument), function(argument))


class Runs:
    """A backend that counts its graphs and their runs."""

    def __init__(self) -> None:
        self.graphs = self.runs = 0

    def __call__(self, graph: torch.fx.GraphModule, inputs: Any) -> Any:
        self.graphs += 1

        def run(*args: Any) -> Any:
            self.runs += 1
            return graph(*args)

        return run


def test_back_again() -> None:
    def total(x):
        return x.sum() + 1

    backend = Runs()
    run = capture.compile(total, backend=backend)
    with config.patch(raise_on_error=True):
        run(X)
        real = torch.Tensor.sum
        try:
            torch.Tensor.sum = lambda s: s * 3
            assert same(run(X), X * 3 + 1)
            torch.Tensor.sum = real  # now it is in a dict that did not have it, but it is the same method
            assert (backend.graphs, backend.runs) == (1, 1)
            assert same(run(X), total(X))
        finally:
            del torch.Tensor.sum
    assert same(run(X), total(X))
    assert (backend.graphs, backend.runs) == (1, 3)


def test_replaced_by_the_function_itself() -> None:
    def inside(x):
        torch.Tensor.sum = lambda s: s * 3
        first = x.sum()
        del torch.Tensor.sum
        return first + x.sum()

    run = capture.compile(inside)
    with config.patch(raise_on_error=True):
        assert same(run(X), inside(X))
        assert same(run(X), inside(X))
    assert counters["graph_breaks"]["mutation"]


def test_names_of_the_program_take_nothing_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def double(x):
        return x * 2

    backend = Runs()
    run = capture.compile(double, backend=backend)
    run(X)
    monkeypatch.setattr(torch.Tensor, "zz_own", 5, raising=False)
    monkeypatch.setattr(torch.Tensor, "__repr__", lambda s: "a tensor")
    run(X)
    assert (backend.graphs, backend.runs) == (1, 2)


@pytest.mark.parametrize("cls", [torch.Tensor, torch.nn.Parameter])
@pytest.mark.parametrize("name", ["sum", "__add__", "grad", "__getattribute__", "__call__", "__hash__"])
def test_native_code_sees_the_same(name: str, cls: type) -> None:
    _capture.calibrate()
    for _ in range(2):
        with mock.patch.object(cls, name, lambda *args: 3, create=True):
            assert (_capture.global_state()[-1], methods_are_replaced()) == (1, True)
        assert (_capture.global_state()[-1], methods_are_replaced()) == (0, False)


def test_modules_of_torch_leave_the_methods_alone() -> None:
    """A late import, pickling, reading the annotations."""
    code = """
import copy, pickle
import guards.properties.tensor_methods as methods
import torch, torch.distributed, torch.distributions, torch.export, torch.func
import torch.fx, torch.masked, torch.nested
pickle.dumps(torch.nn.Linear(2, 2)), copy.deepcopy(torch.nn.Linear(2, 2)), torch.Tensor.__annotations__
print(methods.methods_are_replaced())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_replaced_before_the_first_import() -> None:
    code = """
import torch
torch.Tensor.sum = lambda s: s * 3
torch.Tensor.own = lambda s: s * 3
import guards.properties.tensor_methods as methods
print(methods.methods_are_replaced())
del torch.Tensor.sum
print(methods.PRISTINE[torch.Tensor]["sum"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\nNone\n", done.stderr
