"""Every case, eager against captured: values, printed text, exceptions, changed arguments, graphs and operations."""

from __future__ import annotations

import copy
import io
from contextlib import redirect_stdout
from typing import Any

import pytest
import torch

import _capture
from capture.config import config
from capture.convert_frame import Converter
from capture.protocols import CaptureSettings
from tests.capture import cases_language, cases_values
from tests.capture.registry import CASES, Case

MODULES = (cases_language, cases_values)


def outcome(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    printed = io.StringIO()
    value, error = None, None
    with redirect_stdout(printed):
        try:
            value = function(*args)
        except Exception as raised:
            error = raised
    return value, type(error), str(error), printed.getvalue()


def same(left: Any, right: Any) -> bool:
    if isinstance(left, torch.Tensor):
        return (
            isinstance(right, torch.Tensor) and left.dtype == right.dtype and left.shape == right.shape
            and left.stride() == right.stride() and torch.equal(left, right)
        )
    if isinstance(left, dict):
        return type(left) is type(right) and list(left) == list(right) and all(same(left[k], right[k]) for k in left)
    if isinstance(left, (list, tuple)):
        return type(left) is type(right) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, torch.nn.Module):
        return type(left) is type(right) and same(left.state_dict(), right.state_dict()) and left.training == right.training
    if hasattr(left, "__dict__") and not callable(left):
        return type(left) is type(right) and same(vars(left), vars(right))
    return type(left) is type(right) and (left == right or left is right)


class Counting:
    def __init__(self) -> None:
        self.graphs = 0
        self.operations = 0

    def __call__(self, module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        self.graphs += 1
        self.operations += sum(1 for n in module.graph.nodes if n.op.startswith("call_"))
        return module.forward


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_case(case: Case) -> None:
    args = case.args()
    eager_args, captured_args = copy.deepcopy(args), copy.deepcopy(args)
    expected = outcome(case.function, eager_args)
    backend = Counting()
    settings = CaptureSettings(backend, "counting")
    with config.patch(raise_on_error=True):
        _capture.set_callback(Converter(settings), settings)
        try:
            first = outcome(case.function, captured_args)
            counted = backend.graphs, backend.operations
            again = outcome(case.function, copy.deepcopy(args))
        finally:
            _capture.set_callback(None, None)
            _capture.clear_entries(case.function.__code__)
            _capture.unskip_code(case.function.__code__)
    assert first[1:] == expected[1:]
    assert same(first[0], expected[0]), (first[0], expected[0])
    assert again[1:] == expected[1:]
    assert same(again[0], expected[0]), (again[0], expected[0])
    assert same(captured_args, eager_args)
    if case.graphs is not None:
        assert counted[0] == case.graphs
        assert backend.graphs == counted[0], "the second call was captured again"
    if case.ops is not None:
        assert counted[1] == case.ops
