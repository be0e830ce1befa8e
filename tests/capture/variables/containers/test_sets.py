"""What a captured frame leaves in a set of its caller."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

import capture


def removed_and_added(x: torch.Tensor, items: set) -> torch.Tensor:
    items.discard(1.0)
    items.add(1.0)
    return x + 1


def popped_by_update(x: torch.Tensor, items: set) -> torch.Tensor:
    items -= {True}
    items |= {True, "u"}
    return x + 1


def added_alone(x: torch.Tensor, items: set) -> torch.Tensor:
    items.add(1.0)
    return x + 1


@pytest.mark.parametrize("function", [removed_and_added, popped_by_update, added_alone])
def test_an_equal_item_takes_the_place_only_of_a_removed_one(function) -> None:
    expected, found = {1, "u"}, {1, "u"}
    function(torch.ones(2), expected)
    capture.compile(function, backend="eager", fullgraph=True)(torch.ones(2), found)
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


class Item:
    weight = 2


def summed(x, items):
    return x * sum(item.weight for item in items)


def emptied(x, items):
    items = set(items)
    items.clear()
    return x + len(items)


@pytest.mark.parametrize("function", [summed, emptied])
@pytest.mark.parametrize("kind", [set, frozenset])
def test_no_item_is_kept_alive(function, kind) -> None:
    captured = capture.compile(function, backend="eager")
    item = Item()
    dies = weakref.ref(item)
    assert torch.equal(captured(torch.ones(2), kind([item])), function(torch.ones(2), kind([item])))
    del item
    gc.collect()
    assert dies() is None
