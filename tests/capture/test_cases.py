"""Every case, eager against captured.

Compared: values, printed text, exceptions, changed arguments, graphs and operations.
"""

from __future__ import annotations

import collections
import enum
import importlib
import io
import types
import weakref
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import _capture
import numpy as np
import pytest
import torch

from capture.hooks.converters import converter_for
from capture.policy.settings import CaptureSettings
from capture.report.config import config
from capture.report.counters import counters
from tests.capture.cases.registry import CASES, Case

# The import of a module of cases adds them to the table; those of dynamic sizes have their own table and
# test.
for _path in sorted((Path(__file__).parent / "cases").glob("*/*.py")):
    if _path.stem not in ("__init__", "dynamic_registry", "unbacked_registry") and not _path.stem.startswith(
        "dynamic"
    ):
        importlib.import_module(f"tests.capture.cases.{_path.parent.stem}.{_path.stem}")


def outcome(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    printed = io.StringIO()
    value, error = None, None
    torch.manual_seed(1)
    with redirect_stdout(printed):
        try:
            value = function(*args)
        except Exception as raised:
            error = raised
    return value, type(error), str(error), printed.getvalue()


_capture.skip_code(outcome.__code__)


def same(left: Any, right: Any, seen: frozenset[tuple[int, int]] = frozenset()) -> bool:
    """Whether both are equal in type and contents, at any depth; `seen`: pairs under comparison further
    up.
    """
    if type(left) is not type(right) or (id(left), id(right)) in seen:
        return type(left) is type(right)
    if isinstance(left, torch.Tensor):
        attributes = same(vars(left), vars(right), seen | {(id(left), id(right))})
        left, right = (torch.Tensor.as_subclass(t, torch.Tensor) for t in (left, right))
        alike = left.dtype == right.dtype and left.shape == right.shape and left.stride() == right.stride()
        alike = alike and left.requires_grad == right.requires_grad and torch.equal(left, right)
        return alike and attributes
    if isinstance(left, (np.ndarray, np.generic)):
        alike = left.dtype == right.dtype and left.shape == right.shape
        alike = alike and all(n == 1 or a == b for n, a, b in zip(left.shape, left.strides, right.strides))
        if left.dtype.kind not in "fc":
            return alike and bool(np.all(left == right))
        # sums and sines of another library
        return alike and np.allclose(left, right, rtol=1e-5, equal_nan=True)
    if isinstance(left, (type, enum.Enum, types.ModuleType)):
        return left is right
    if isinstance(left, weakref.ReferenceType):
        return same(left(), right())
    if isinstance(left, float):
        return left == right or (left != left and right != right)
    return all(same(a, b, seen | {(id(left), id(right))}) for a, b in pairs(left, right)) and (
        has_parts(left) or left == right
    )


def pairs(left: Any, right: Any) -> list[tuple[Any, Any]]:
    one, two = parts(left), parts(right)
    return list(zip(one, two)) if len(one) == len(two) else [(1, 2)]


#: compared item by item, not by `==`
VIEWS = (type({}.keys()), type({}.values()), type({}.items()), collections.deque)


def has_parts(value: Any) -> bool:
    return isinstance(value, (*VIEWS, dict, list, tuple, types.FunctionType, types.MethodType)) or (
        type(value).__eq__ is object.__eq__ or bool(attributes(value))
    )


def parts(value: Any) -> list[Any]:
    """The parts of an object: items, then attributes."""
    if isinstance(value, types.FunctionType):
        return [value.__name__]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    items: list[Any] = [*value.keys(), *value.values()] if isinstance(value, dict) else []
    if isinstance(value, (*VIEWS, list, tuple)):
        items = [*value, getattr(value, "maxlen", None)]
    return [len(items), *items, *attributes(value).items()]


def attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object, in its dict and its slots."""
    state = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                state[name] = getattr(value, name)
    return state


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
    arguments = case.arguments()
    eager_args, captured_args, later_args = arguments(), arguments(), arguments()
    expected = outcome(case.function, eager_args)
    backend = Counting()
    settings = CaptureSettings(backend, "counting")
    _capture.skip_code(outcome.__code__)  # `capture.reset()` of another test takes the mark away
    counters.clear()
    with config.patch(raise_on_error=True):
        _capture.set_callback(*converter_for(settings))
        try:
            first = outcome(case.function, captured_args)
            counted = backend.graphs, backend.operations
            again = outcome(case.function, later_args)
        finally:
            _capture.set_callback(None, None)
            _capture.clear_entries(case.function.__code__)
            _capture.unskip_code(case.function.__code__)
    assert first[1:] == expected[1:]
    if expected[1] is type(None):
        assert bool(counters["graphs"]["failed_calls"]) == case.falls_back, (
            "a graph raised: Python ran the frame"
        )
    assert same(first[0], expected[0]), (first[0], expected[0])
    assert again[1:] == expected[1:]
    assert same(again[0], expected[0]), (again[0], expected[0])
    assert same(captured_args, eager_args)
    if case.graphs is not None:
        assert counted[0] == case.graphs
        assert backend.graphs == counted[0], "the second call was captured again"
    if case.ops is not None:
        assert counted[1] == case.ops
