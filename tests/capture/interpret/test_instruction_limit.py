"""The limit of instructions: wherever it ends the graph, the program continues with the same state."""

from __future__ import annotations

import collections

import pytest
import torch

import capture
from capture.report.config import config


def counts(x):
    total = x + 1
    queue = collections.deque()
    append, pop = queue.append, queue.popleft
    for i in range(20):
        append(i)
    for i in range(20):
        value = pop()
        if value != i:
            raise ValueError((value, i))
    number = 0
    while number < 10:
        number += 1
        first, second = number, number + 1
        total = total + (second - first)
    return total, len(queue), number


@pytest.mark.parametrize("limit", range(40, 240, 7))
def test_the_limit_may_fall_on_any_instruction(limit):
    capture.reset()
    with config.patch(max_instructions=limit, raise_on_error=True, recompile_limit=100):
        total, left, number = capture.compile(counts, backend="eager")(torch.ones(2))
    assert (left, number) == (0, 10)
    assert torch.equal(total, torch.full((2,), 12.0))
