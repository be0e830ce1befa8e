"""Sizes with too many terms for sympy are numbers: each combination is captured by itself."""

from __future__ import annotations

import warnings

import torch
import torch.nn.functional as F

import capture
from codegen.fake import size_node


def windows(x):
    for size in (4, 3, 5):
        n, h, w = x.shape
        x = F.pad(x, (0, -w % size, 0, -h % size))
        n, h, w = x.shape
        rows = x.view(n, h // size, size, w // size, size).transpose(2, 3).reshape(-1, size * size)
        x = rows.softmax(1).view(n, h // size, w // size, size, size).transpose(2, 3).reshape(n, h, w)
    return x


def repeated_padding(x):
    """The number itself gets too large, before an operation of torch sees it."""
    n = x.shape[0]
    for i in range(2, 7):
        n = n + -n % i
    return F.pad(x, (0, n - x.shape[0]))


def test_each_combination_of_sizes_is_captured(monkeypatch):
    monkeypatch.setattr(size_node, "MOST_TERMS", 30)
    captured = capture.compile(windows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for h, w in ((8, 8), (12, 16), (6, 20), (8, 8)):
            x = torch.randn(4, h, w)
            torch.testing.assert_close(captured(x), windows(x))
    assert capture.counters["recompiles"]["windows"] == 2
    assert not capture.counters["graph_breaks"]


def test_a_number_of_the_program(monkeypatch):
    monkeypatch.setattr(size_node, "MOST_TERMS", 12)
    captured = capture.compile(repeated_padding)
    for n in (7, 9, 13, 22):
        x = torch.randn(n)
        assert torch.equal(captured(x), repeated_padding(x))
    assert capture.counters["recompiles"]["repeated_padding"] == 3
    assert not capture.counters["graph_breaks"]
