"""Numbers that change beside tensors in an index: `scores[step, rows, labels]` is captured for all steps."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture
from capture.report.counters import counters

PLACES = torch.tensor([2, 0, 3])
TWO_DIMS = torch.tensor([[0, 1], [3, 2]])
KEYS: dict[str, Any] = {
    "in front": lambda i: (i, PLACES),
    "behind": lambda i: (PLACES, i),
    "between": lambda i: (PLACES, i, PLACES - 1),
    "in front of two": lambda i: (i, PLACES, PLACES.int() - 1),
    "two numbers": lambda i: (i, PLACES, i - 1),
    "behind a slice": lambda i: (slice(None), PLACES, i),
    "in front of a slice": lambda i: (i, slice(1, 3), PLACES - 1),
    "slice between": lambda i: (PLACES, slice(None), PLACES - 1, i - 1),
    "behind an ellipsis": lambda i: (..., PLACES - 1, i),
    "in front of an ellipsis": lambda i: (i, ..., PLACES - 1),
    "new axis": lambda i: (i, None, PLACES),
    "new axis behind": lambda i: (PLACES, None, i),
    "two dims": lambda i: (TWO_DIMS, i),
    "negative": lambda i: (-i, PLACES),
    "flag": lambda i: (i, torch.arange(4) > 1),
    "no dims": lambda i: (i, PLACES[0]),
    "slice that changes": lambda i: (PLACES, i, slice(i, None), None),
}


def tensor() -> torch.Tensor:
    return torch.arange(4 * 4 * 4 * 4.0).reshape(4, 4, 4, 4)


def read(x: Any, key: Any, i: int) -> Any:
    return x[key(i)] * 2


def write(x: Any, key: Any, i: int) -> Any:
    x = x * 1
    x[key(i)] = -1.0
    return x


def add(x: Any, key: Any, i: int) -> Any:
    x = x * 1
    x[key(i)] += x[key(i)]
    return x


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("function", [read, write, add])
@pytest.mark.parametrize("name", KEYS)
def test_one_capture_for_all_numbers(name: str, function: Any, backend: str) -> None:
    key = KEYS[name]
    capture.reset()
    fast = capture.compile(lambda x, i: function(x, key, i), backend=backend)
    for i in (1, 2, 3):
        results = []
        for run in (fast, lambda x, i: function(x, key, i)):
            x = tensor().requires_grad_()
            result = run(x, i)
            result.square().sum().backward()
            results.append((result.detach(), x.grad))
        for found, expected in zip(*results):
            assert torch.equal(found, expected)
    if name not in ("flag", "no dims", "slice that changes"):
        assert sum(counters["recompiles"].values()) <= 1 and not counters["graph_breaks"]


def test_the_shape_of_what_is_read() -> None:
    for name, key in KEYS.items():
        capture.reset()
        fast = capture.compile(lambda x, i, key=key: x[key(i)].shape)
        for i in (1, 2, 3):
            assert fast(tensor(), i) == tensor()[key(i)].shape, name


def test_numbers_outside() -> None:
    capture.reset()
    fast = capture.compile(lambda x, i: x[i, PLACES])
    for i in (1, 2, 3):
        fast(tensor(), i)
    for i in (4, -5):
        with pytest.raises(IndexError) as expected:
            tensor()[i, PLACES]
        with pytest.raises(IndexError) as found:
            fast(tensor(), i)
        assert str(found.value) == str(expected.value)
