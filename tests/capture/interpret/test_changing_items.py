"""Items of another kind in each call: Python runs the statements that read them, the rest is one capture."""

from __future__ import annotations

import random
import weakref
from collections import namedtuple

import pytest
import torch
import torch.nn.functional as F

import capture
from capture.report.counters import counters
from tests.capture.test_cases import same

CALLS = 12
Record = namedtuple("Record", ("state", "following", "reward"))


@pytest.fixture(autouse=True)
def afresh():
    capture.reset()
    with capture.config.patch(raise_on_error=True):
        yield
    capture.reset()


def records(draw: random.Random, count: int) -> list[Record]:
    """Some have no following state."""
    return [
        Record(torch.rand(1, 3), None if draw.random() < 0.4 else torch.rand(1, 3), torch.rand(1))
        for _ in range(count)
    ]


def compare(function, arguments, most, backend="eager"):
    """`function` gives what eager gives. It is captured `most` times at most, all in the first half."""
    fast, captured = capture.compile(function, backend=backend), []
    for i in range(CALLS):
        args = arguments(i)
        expected, got = function(*args), fast(*args)
        torch.testing.assert_close(got, expected)
        captured.append(counters["frames"]["captured"])
    assert captured[-1] <= most and captured[-1] == captured[CALLS // 2], captured


def of_items(items, x):
    mask = torch.tensor(tuple(item is not None for item in items), dtype=torch.bool)
    scale = 2.0
    there = torch.cat([item for item in items if item is not None])
    y = F.relu(x) * scale
    return y + there.sum() + mask.sum(), there


def with_words(items, x, *, offset=1.0):
    y = x * 2
    there = torch.stack(tensors=[item for item in items if item is not None], dim=0)
    y = y.add(there.mean(), alpha=offset)
    return y, there.shape[0]


def on_cells(items, x):
    total = x.sum()
    there = [item * total for item in items if item is not None]
    y = torch.cat(there) * 3
    return (lambda: y + total)()


@pytest.mark.parametrize("function", [of_items, with_words, on_cells])
@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_missing_items_of_a_long_list(function, backend):
    draw = random.Random(0)

    def arguments(i):
        return [torch.rand(2) if draw.random() < 0.6 else None for _ in range(12)], torch.rand(3)

    compare(function, arguments, 10, backend)


def test_a_batch_of_records_is_captured_once():
    """The first batch shows that records lack a field: no entry is made for the arrangement."""
    memory, draw = records(random.Random(0), 100), random.Random(1)

    def update(weight):
        batch = Record(*zip(*draw.sample(memory, 32)))
        mask = torch.tensor([item is not None for item in batch.following])
        following = torch.cat([item for item in batch.following if item is not None])
        values = torch.cat(batch.state) @ weight
        expected = torch.zeros(32)
        expected[mask] = (following @ weight).max(1).values
        return F.mse_loss(values.max(1).values, expected + torch.cat(batch.reward))

    weight = torch.rand(3, 4)
    fast = capture.compile(update)
    for i in range(CALLS):
        draw.seed(i)
        expected = update(weight)
        draw.seed(i)
        torch.testing.assert_close(fast(weight), expected)
    assert counters["frames"]["captured"] == 3  # before the draw, behind it, behind the list


def test_few_items_keep_to_few_kinds():
    """A short list is captured for two arrangements, whole."""

    def either(items, x):
        return sum(item.sum() for item in items if item is not None) + x * 2

    compare(either, lambda i: ([torch.ones(2), None] if i % 2 else [None, torch.rand(2)], torch.rand(2)), 2)
    assert not counters["graph_breaks"]


def test_booleans_of_a_long_list():
    draw = random.Random(0)

    def flagged(flags, x):
        weights = torch.tensor([1.0 if flag else 0.5 for flag in flags])
        return x * 2 * weights

    compare(flagged, lambda i: ([draw.random() < 0.5 for _ in range(16)], torch.rand(16)), 4)


def test_fullgraph_captures_each_arrangement():
    fast = capture.compile(of_items, backend="eager", fullgraph=True)
    for i in range(4):
        items = [None if k % (i + 2) else torch.rand(2) for k in range(12)]
        x = torch.rand(3)
        assert same(fast(items, x), of_items(items, x))


def test_jumps_among_the_statements_keep_the_frame_whole():
    """Python can't run a loop or a `try` of the frame: each arrangement has its entry, up to the limit."""
    draw = random.Random(0)

    def in_a_loop(items, x):
        for item in items:
            if item is not None:
                x = x + item
        try:
            return x * len([item for item in items if item is not None])
        finally:
            x = None

    def arguments(i):
        return [torch.rand(2) if draw.random() < 0.6 else None for _ in range(10)], torch.rand(2)

    fast = capture.compile(in_a_loop, backend="eager")
    for i in range(CALLS):
        args = arguments(i)
        assert same(fast(*args), in_a_loop(*args))


def test_objects_live_to_the_end_of_the_frame():
    class Held:
        pass

    def weakly(items, x):
        held = Held()
        ref = weakref.ref(held)
        there = [item for item in items if item is not None]
        y = torch.cat(there) + x.sum()
        return y, ref() is not None

    draw = random.Random(0)
    compare(
        weakly,
        lambda i: ([torch.rand(2) if draw.random() < 0.6 else None for _ in range(12)], torch.rand(3)),
        8,
    )


def test_an_error_of_the_statements_is_the_programs():
    fast = capture.compile(of_items, backend="eager")
    draw = random.Random(0)
    for _ in range(4):
        items = [torch.rand(2) if draw.random() < 0.6 else None for _ in range(12)]
        fast(items, torch.rand(3))
    with pytest.raises(ValueError, match="non-empty"):
        fast([None] * 12, torch.rand(3))
    with pytest.raises(TypeError):
        fast([1] * 12, torch.rand(3))
