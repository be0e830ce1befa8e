"""A local that is looked at for the first time where the graph breaks: the break is the read itself."""

from __future__ import annotations

import pytest
import torch

import capture


def handed_over(items):
    capture.graph_break()
    return items


def walked(x, items):
    found = handed_over(items)
    x = x + 1
    for item in found:
        x = x + item
    return x


def counted(x, items):
    found = handed_over(items)
    x = x + 1
    return x * len(found)


def deleted(x, items):
    found = handed_over(items)
    x = x + 1
    del found
    return x * 2


def deleted_twice(x, items):
    found = handed_over(items)
    x = x + 1
    del found
    try:
        del found
    except UnboundLocalError:
        return x * 3


def starred(x, items):
    found = handed_over(items)
    x = x + 1
    return torch.stack((x, *[x] * len((*found,))))


def in_a_cell(x, items):
    found = handed_over(items)
    x = x + 1
    return (lambda: x * len(found))()


@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("program", [walked, counted, deleted, deleted_twice, starred, in_a_cell])
def test_a_local_whose_length_changes(program, kind):
    compiled = capture.compile(program)
    for length in (1, 2, 3, 4, 5, 3):
        items = kind(map(float, range(length)))
        x = torch.ones(2)
        assert torch.equal(compiled(x, items), program(x, items))
