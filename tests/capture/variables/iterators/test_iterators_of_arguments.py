"""Iterators of the program over containers that captured code changes: they advance as in eager."""

from __future__ import annotations

import collections

import torch

import capture


def changes_items(queue, x):
    queue[0] = 7
    queue[2] = 9
    return x + 1


def test_a_deque_whose_items_change():
    queue = collections.deque([1, 2, 3])
    iterator = iter(queue)
    assert next(iterator) == 1
    capture.compile(changes_items, backend="eager")(queue, torch.ones(2))
    assert list(iterator) == [2, 9]
