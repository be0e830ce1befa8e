"""Views of memory that was written through other views: each shows what was written there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import capture
from tests.codegen.trace.test_trace import calls, traced


def chunks(x):
    a, b, c = (x + 1).unsafe_chunk(3, 1)
    a.sigmoid_(), b.tanh_(), c.mul_(2)
    return a * b + c


def rows(x):
    y = x * 2
    first, last = y[0], y[-1]
    first.add_(1)
    last.sub_(last.sum())
    return first + last, y[1]


def overlapping(x):
    y = x * 2
    a, b = y[:, :3], y[:, 2:]
    a.add_(1)
    b.mul_(3)
    return a.sum(), b.sum(), a


def nested(x):
    y = x * 2
    left = y[:, :3]
    corner = left[1]
    corner.zero_()
    left[0].fill_(5)
    return left.sum(), corner + 1, y[1]


def through_a_transposed_view(x):
    y = x * 2
    y.t()[1].add_(1)
    return y[:, 1] * y[:, 2]


def in_another_dim(x):
    y = x * 2
    y[0].add_(1)
    return y[:, 0] + 1, y[0]


def with_steps(x):
    y = x * 2
    y[:, ::2].add_(1)
    return y[:, 1] * 1, y[:, ::2] * 1


def to_another_dtype(x):
    y = x * 2
    part = y[:, :2]
    part.copy_(torch.ones(3, 2, dtype=torch.float64) * 0.1)
    return part.sin()


def empty_parts(x):
    y = x * 2
    y[5:].add_(1)
    y[:, :0].mul_(3)
    return y[0], y[:, 1:1]


def negative_and_far(x):
    y = x * 2
    y[:, -2:].add_(1)
    return y[:, 4:100] * 1, y[:, -6:-2] * 1


def of_an_input(x):
    z = x.clone()
    z[:, 0].add_(1)
    return z[:, 1] * 2


def unbound(x):
    y = x * 2
    a, b, c = y.unbind(0)
    y[1].add_(y[0])
    return a + b + c, y.select(0, 1)


def split_by_sizes(x):
    y = x * 2
    a, b = y.split([2, 4], 1)
    y[:, :2].mul_(3)
    y[:, 2:].exp_()
    return a, b


PROGRAMS = [
    chunks, rows, overlapping, nested, through_a_transposed_view, in_another_dim, with_steps,
    to_another_dtype, empty_parts, negative_and_far, of_an_input, unbound, split_by_sizes,
]  # fmt: skip


def outcomes(f: Callable[..., Any], x: torch.Tensor, with_gradient: bool) -> list[Any]:
    """Results, their layouts, and the gradient of the input."""
    x = x.clone().requires_grad_(with_gradient)
    found = f(x)
    results = list(found) if isinstance(found, tuple) else [found]
    layouts = [(r.stride(), r.storage_offset()) for r in results]
    if with_gradient:
        sum(r.square().sum() for r in results).backward()
        results.append(x.grad)
    return [*results, layouts]


#: autograd refuses writes to one of several views
WITHOUT_GRADIENT = (unbound, split_by_sizes)
CASES = [(f, grad) for f in PROGRAMS for grad in (False, True) if not (grad and f in WITHOUT_GRADIENT)]


@pytest.mark.parametrize(("f", "with_gradient"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_results_and_layouts_are_those_of_eager(f: Callable[..., Any], with_gradient: bool) -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 6)
    *expected, layouts = outcomes(f, x, with_gradient)
    *found, own = outcomes(capture.compile(f, fullgraph=True), x, with_gradient)
    torch.testing.assert_close(found, expected)
    assert own == layouts


def of_a_scatter_of_the_program(x, s):
    y = torch.slice_scatter(x, s, 0, 0, 2)
    v, w = y[3], y[0:2]
    y[4].add_(1)
    x.add_(1), s.mul_(2)
    return v, w


def of_a_scatter_of_a_view(x, s):
    y = torch.slice_scatter(x[:1].expand(6, 6), s, 0, 0, 2)
    v = y[3:]
    y[0].add_(1)
    return v


def of_a_result(x, s):
    t = s + 1
    y = torch.slice_scatter(x * 2, t, 0, 0, 2)
    v = y[0:2]
    y[3].add_(1)
    return t, v


def of_a_copy(x, s):
    y = x * 3
    w = y[0:2]
    y[0:2] = s
    s.mul_(2)
    return w


def of_an_operator_that_changes_nothing(x, s):
    y, t = (x * 3).int(), s.int()
    w = y[0:2]
    torch.floor(t, out=y[0:2])
    return w, t


SHARING = [
    of_a_scatter_of_the_program, of_a_scatter_of_a_view, of_a_result, of_a_copy,
    of_an_operator_that_changes_nothing,
]  # fmt: skip


@pytest.mark.parametrize("f", SHARING, ids=lambda f: f.__name__)
def test_results_share_no_memory_of_what_was_written(f: Callable[..., Any]) -> None:
    def run(g: Callable[..., Any]) -> tuple[Any, ...]:
        torch.manual_seed(0)
        arguments = torch.randn(6, 6), torch.randn(2, 6)
        found = g(*arguments)
        results = found if isinstance(found, tuple) else (found,)
        memories = [t.untyped_storage().data_ptr() for t in (*arguments, *results)]
        return (
            [*arguments, *results],
            [memories.index(memory) for memory in memories],
            [*map(layout, results)],
        )

    def layout(tensor: torch.Tensor) -> tuple[int, ...]:
        return tensor.stride()

    (expected, *others), (found, *own) = run(f), run(capture.compile(f, fullgraph=True))
    torch.testing.assert_close(found, expected)
    assert own == others


def test_parts_are_read_where_they_were_written() -> None:
    _, graph = traced(chunks, torch.randn(3, 6))
    names = [str(call) for call in calls(graph)]
    assert not [name for name in names if "scatter" in name]


def test_no_copy_is_saved_for_its_layout(tmp_path: Path) -> None:
    """What is written to a part of a memory has gaps there. No kernel leaves any: torch would copy it."""
    cell = torch.nn.LSTMCell(5, 5)
    x = torch.randn(3, 5, requires_grad=True)
    with capture.trace(str(tmp_path), show=["calls"]):
        capture.compile(cell)(x)[0].sum().backward()
    (written,) = tmp_path.glob("trace-*.jsonl")
    events = [json.loads(line) for line in written.read_text().splitlines()]
    names = [step["name"] for event in events if event["event"] == "calls" for step in event["steps"]]
    assert any(name.startswith("k") for name in names)
    assert "aten.copy.default" not in names
