"""NumPy's arrays as indices of tensors: what is read, what is written, gradients, which arrays break."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import capture
from capture.report.counters import counters

I = np.array([2, 0, -1])  # noqa: E741
KEYS: dict[str, Any] = {
    "int64": I,
    "int32": I.astype(np.int32),
    "int8": I.astype(np.int8),
    "none": I[:0],
    "two dims": np.array([[0, 1], [3, 3]]),
    "column": (slice(None), I),
    "behind an ellipsis": (..., I.astype(np.int16)),
    "new axis": (None, I),
    "both": (I, np.array([1, 4, 0])),
    "with a number": (1, I),
    "with a slice": (slice(1, 3), I),
    "with a tensor": (torch.tensor([0, 1, 2]), I),
    "of other order": np.asfortranarray(np.array([[0, 1, 2], [3, 2, 1]])),
    "part": np.arange(12)[1:9:3] % 4,
}
MASKS: dict[str, Any] = {
    "mask": np.array([True, False, True, True]),
    "mask of all": np.arange(20).reshape(4, 5) % 3 == 0,
    "mask of columns": (slice(None), np.arange(5) > 2),
}
#: keys that torch warns of, or takes for something else
OTHERS: dict[str, Any] = {
    "floats": np.array([1.7, 0.2]),
    "without dims": np.array(2),
    "flag without dims": np.array(True),
    "number and array without dims": (np.array(1), 2),
    "words": np.array([1, 2], np.uint16),
}


def tensor() -> torch.Tensor:
    return torch.arange(20.0).reshape(4, 5)


def read(x: Any, key: Any) -> Any:
    return x[key] * 2


def write(x: Any, key: Any) -> Any:
    x = x * 1
    x[key] = -1.0
    return x


def add(x: Any, key: Any) -> Any:
    x = x * 1
    x[key] += x[key]
    return x


def compare(function: Any, key: Any, backend: str = "llvm") -> None:
    fast = capture.compile(function, backend=backend)
    for _ in range(2):
        found, expected = fast(tensor(), key), function(tensor(), key)
        assert torch.equal(found, expected) and found.stride() == expected.stride()


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("function", [read, write, add])
@pytest.mark.parametrize("key", KEYS)
def test_places(key: str, function: Any, backend: str) -> None:
    capture.reset()
    compare(function, KEYS[key], backend)
    assert not counters["graph_breaks"] and counters["graphs"]["compiled"] == 1


@pytest.mark.parametrize("function", [read, write, add])
@pytest.mark.parametrize("key", [*MASKS, *OTHERS])
def test_masks_and_others(key: str, function: Any) -> None:
    capture.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(function, {**MASKS, **OTHERS}[key])
    if key in OTHERS:
        assert counters["graph_breaks"]


def test_gradients_and_arrays_that_the_graph_makes() -> None:
    def loss(x: Any, labels: Any) -> Any:
        picked = x.log_softmax(-1)[np.arange(len(labels)), labels]
        return -(picked * x[labels[::2], 0].sum()).mean()

    capture.reset()
    fast = capture.compile(loss)
    for labels in (np.array([0, 3, 1, 1]), np.array([2, 2, 0, 3])):
        grads = []
        for function in (fast, loss):
            x = (tensor() / 7).requires_grad_()
            function(x, labels).backward()
            grads.append(x.grad)
        torch.testing.assert_close(*grads)
    assert not counters["graph_breaks"] and counters["graphs"]["compiled"] == 1


def test_parameters() -> None:
    table = torch.nn.Parameter(tensor())
    capture.reset()
    found = capture.compile(lambda i: table[i].sum(0))(I)
    assert torch.equal(found, table[I].sum(0)) and found.requires_grad
    assert not counters["graph_breaks"]


def test_what_is_written_later() -> None:
    def function(x: Any, places: Any) -> Any:
        a = x[places]
        places += 1
        return a, x[places]

    capture.reset()
    fast = capture.compile(function)
    for _ in range(2):
        mine, theirs = np.array([0, 1, 2]), np.array([0, 1, 2])
        for found, expected in zip(fast(tensor(), mine), function(tensor(), theirs)):
            assert torch.equal(found, expected)
        assert (mine == theirs).all()


def test_places_outside() -> None:
    fast = capture.compile(read)
    fast(tensor(), np.array([0, 1]))
    for places in (np.array([0, 4]), np.array([-5, 0])):
        with pytest.raises(IndexError):
            read(tensor(), places)
        with pytest.raises(IndexError):
            fast(tensor(), places)


def test_bytes_are_a_mask() -> None:
    places = np.array([1, 0, 1, 1], np.uint8)
    capture.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(read, places)
        with pytest.raises(RuntimeError, match="boolean masks"):
            capture.compile(write)(tensor(), places)
    assert counters["graph_breaks"]


def test_a_read_only_array_warns() -> None:
    places = np.array([0, 1])
    places.flags.writeable = False
    capture.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(read, places)
    assert counters["graph_breaks"]


def test_functions_of_the_program_get_the_array() -> None:
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.extend(type(a) for a in args)
            return function(*args, **(kwargs or {}))

    capture.reset()
    with Mode():
        found = capture.compile(lambda x, i: x[i])(tensor(), I)
    assert torch.equal(found, tensor()[I]) and np.ndarray in seen
