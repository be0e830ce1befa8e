"""Operators of the program and of libraries: one call in a graph, with any code inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture
from capture.report.counters import counters


@torch.library.custom_op("capture_models::by_parts", mutates_args=())
def by_parts(x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    parts, start = [], 0
    for end in ends.tolist():
        parts.append(x[start:end] * end)
        start = end
    return torch.cat(parts)


@by_parts.register_fake
def _(x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def scaled(x, ends):
    return by_parts(x.sin(), ends).sum(0) * 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "llvm"])
def test_what_it_does_is_no_graph(backend):
    capture.reset()
    x = torch.randn(6, 4)
    compiled = capture.compile(scaled, backend=backend)
    for ends in ([2, 6], [1, 6], [5, 6]):
        ends = torch.tensor(ends)
        torch.testing.assert_close(compiled(x, ends), scaled(x, ends))
    assert counters["graphs"]["compiled"] == 1


# --- what the schema and the fake rule do not tell --------------------------------------------------------

library = torch.library.Library("capture_foreign", "FRAGMENT")
calls: list[str] = []


def define(schema: str, kernel: Callable[..., Any], meta: Callable[..., Any], key: str = "CPU") -> None:
    name = schema.partition("(")[0]

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return kernel(*args, **kwargs)

    library.define(schema)
    library.impl(name, counted, key)
    library.impl(name, meta, "Meta")


define("shift(Tensor x, float by=2.) -> Tensor", lambda x, by=2.0: x + by,
       lambda x, by=2.0: x.new_empty(x.shape))  # fmt: skip
define("shift_(Tensor(a!) x) -> Tensor(a!)", lambda x: x.mul_(5), lambda x: x)
define("total(Tensor x) -> float", lambda x: float(x.sum()), lambda x: 1.0)
define("parts(Tensor x, Tensor(a!)? out=None) -> Tensor[]", lambda x, out=None: [x * 2, out.add_(1) * 1],
       lambda x, out=None: [torch.empty_like(x), torch.empty_like(x)])  # fmt: skip
define("order(Tensor x) -> Tensor", lambda x: x.argsort(), lambda x: torch.empty_like(x, dtype=torch.int64))
ops = torch.ops.capture_foreign


@torch.library.custom_op("capture_foreign::positive", mutates_args=())
def positive(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0]


@positive.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty([torch.library.get_ctx().new_dynamic_size()])


def written(x):
    y = x + 1
    z = ops.shift_(y)
    return y, z * 2, z is y


def written_input(x):
    ops.shift_(x)
    return x + 1


def written_option(x):
    y = x.clone()
    return ops.parts(x, y), y


def number(x):
    return x * ops.total(x)


def number_in_a_branch(x):
    return x + 1 if ops.total(x) == 1.0 else x - 1


def unread(x):
    ops.shift(x)
    return x * 3


def twice(x):
    return ops.shift(x) * ops.shift(x)


def of_unknown_size(x):
    return positive(x * 2) + 1


FOREIGN = [written, written_input, written_option, number, number_in_a_branch, unread, twice, of_unknown_size]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "llvm"])
@pytest.mark.parametrize("function", FOREIGN, ids=lambda f: f.__name__)
def test_operators_of_a_library(function, backend, dynamic):
    capture.reset()
    compiled = capture.compile(function, backend=backend, dynamic=dynamic)
    for seed in range(2):
        torch.manual_seed(seed)
        x = torch.randn(3, 4)
        y = x.clone()
        calls.clear()
        expected, expected_calls = function(x), list(calls)
        calls.clear()
        torch.testing.assert_close(compiled(y), expected)
        torch.testing.assert_close(y, x)
        assert calls == expected_calls


def test_unknown_sizes_stay_in_the_graph():
    x = torch.randn(3, 4)
    found = capture.compile(of_unknown_size, fullgraph=True)(x)
    torch.testing.assert_close(found, of_unknown_size(x))


def gradient_of(function: Callable[..., Any], scale: torch.Tensor) -> torch.Tensor | None:
    x = torch.full((3, 4), 0.5, requires_grad=True)
    function(x, scale).sum().backward()
    return x.grad


@pytest.mark.filterwarnings("ignore:.*autograd kernel was not registered")
@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_gradients_that_only_the_kernel_records(backend):
    """Without a derivative of its own, the operator's kernel is differentiated through in eager."""

    def shifted(x, scale):
        return ops.shift(x * scale) * 2

    capture.reset()
    scale = torch.tensor(3.0)
    found = gradient_of(capture.compile(shifted, backend=backend), scale)
    assert found is not None
    torch.testing.assert_close(found, gradient_of(shifted, scale))
    x = torch.randn(3, 4, requires_grad=True)
    by_order = capture.compile(lambda x: x.gather(1, ops.order(x)), backend=backend, fullgraph=True)
    torch.testing.assert_close(by_order(x), x.sort()[0])  # whole numbers have no gradients
    with torch.no_grad():  # without gradients it is a node
        capture.compile(shifted, backend=backend, fullgraph=True)(torch.ones(3), scale)
