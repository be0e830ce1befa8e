"""Sets of the same elements in another order are iterated in their own order."""

from __future__ import annotations

import pytest
import torch

import capture

x = torch.ones(2)


def walked(x, s):
    for item in s:
        x = x * 2 + item
    return x


def walked_with_more(x, s):
    for item in s | {16}:
        x = x * 2 + item
    return x


def asked(x, s):
    return x + len(s) + (8 in s)


def test_the_capture_of_one_order_does_not_serve_another():
    compiled = capture.compile(walked, fullgraph=True)
    for s in ({8, 0}, {0, 8}, {8, 0}):
        assert torch.equal(compiled(x, s), walked(x, s))


def test_orders_that_come_from_existing_sets_are_theirs():
    compiled = capture.compile(walked_with_more, fullgraph=True)
    large = {8, 0, *range(20, 40)}.difference(range(20, 40))
    for s in ({8, 0}, {0, 8}, large, {8, 0}):
        assert torch.equal(compiled(x, s), walked_with_more(x, s))


def test_what_does_not_walk_over_a_set_is_captured_once():
    capture.counters.clear()
    compiled = capture.compile(asked, fullgraph=True)
    for s in ({8, 0}, {0, 8}):
        assert torch.equal(compiled(x, s), asked(x, s))
    assert capture.counters["graphs"]["compiled"] == 1


@pytest.mark.parametrize("elements", [{-1, -2}, {-2, -1}])
def test_elements_of_one_hash_are_left_to_python(elements):
    assert torch.equal(capture.compile(walked)(x, elements), walked(x, elements))
