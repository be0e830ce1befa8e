"""Whole numbers of NumPy that change from call to call: one capture serves all values."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import capture
from capture.report.config import config
from capture.report.counters import counters

ROOT = Path(__file__).parents[4]

PROGRAMS = {
    "row": lambda x, a, i: x[i] * 2,
    "slice": lambda x, a, i: x[i : i + 3] + 1,
    "slices": lambda x, a, i: x[2 * i - 1 : 2 * i + 2, i],
    "slice from behind": lambda x, a, i: x[-i:] * 2,
    "below an ellipsis": lambda x, a, i: x[..., i, None],
    "row of an array": lambda x, a, i: torch.from_numpy(a[i]) + 1,
    "slice of an array": lambda x, a, i: a[i : i + 2] * 2,
    "int": lambda x, a, i: x.roll(int(i), 0),
    "float": lambda x, a, i: x * float(i),
    "item": lambda x, a, i: (x + i.item(), i.item()),
    "index": lambda x, a, i: x.narrow(0, i.__index__(), 2),
    "size": lambda x, a, i: torch.ones(i, 2) + x[0, 0],
    "value": lambda x, a, i: torch.full((3,), i) * 2,
    "argument": lambda x, a, i: x.narrow(0, i, 2),
    "sum of numbers": lambda x, a, i: (x[i + np.int64(1)], i + 1, i * i),
    "condition": lambda x, a, i: x + 1 if int(i) > 2 else x - 1,
}


def same(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    if isinstance(expected, tuple):
        assert [type(value) for value in found] == [type(value) for value in expected]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str, backend: str) -> None:
    program, (x, a) = PROGRAMS[name], (torch.randn(20, 20), np.arange(24.0).reshape(12, 2))
    capture.reset()
    fast = capture.compile(program, backend=backend)
    with config.patch(raise_on_error=True):
        for i in map(np.int64, (3, 5, 4, 6, 3)):
            same(fast(x, a, i), program(x, a, i))
    assert sum(counters["recompiles"].values()) == 1 and not counters["graph_breaks"]


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "uint8", "uint16", "uint32"])
def test_kinds(kind: str) -> None:
    def program(x: Any, i: Any) -> Any:
        return x.roll(int(i), 0), x[i], x[i:]

    x, make = torch.randn(7), getattr(np, kind)
    capture.reset()
    fast = capture.compile(program)
    for value in (1, 2, 3, 4):
        same(fast(x, make(value)), program(x, make(value)))
    assert sum(counters["recompiles"].values()) <= 2  # torch lacks most of uint16 and uint32: they break


def test_other_types_between() -> None:
    """An entry is for one type: NumPy's other numbers, ints, bools and tensors have their own."""

    def program(x: Any, i: Any) -> Any:
        return x[i : i + 2], i + 1

    x = torch.randn(20)
    capture.reset()
    fast = capture.compile(program)
    values = [np.int64(1), np.int64(2), 3, np.int32(4), np.int64(5), True, np.uint8(255), np.int64(6), 2**70]
    for i in values:
        same(fast(x, i), program(x, i))


def test_what_overflows_is_left_to_numpy() -> None:
    def program(x: Any, i: Any) -> Any:
        return torch.full((2,), i * 3), torch.full((2,), i + i)

    x = torch.randn(2)
    capture.reset()
    fast = capture.compile(program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's own, of the overflow
        for value in (1, 2, 2**61, 2**62, 2**63 - 1, -(2**63), -(2**62), 3):
            same(fast(x, np.int64(value)), program(x, np.int64(value)))


def test_an_index_that_does_not_fit_raises() -> None:
    def program(x: Any, i: Any) -> Any:
        return x[i]

    x = torch.randn(5)
    capture.reset()
    fast = capture.compile(program)
    for value in (1, 2, 4, -5):
        same(fast(x, np.int64(value)), program(x, np.int64(value)))
    for value in (5, -6, 2**62):
        with pytest.raises(IndexError) as expected:
            program(x, np.int64(value))
        with pytest.raises(IndexError) as found:
            fast(x, np.int64(value))
        assert str(found.value) == str(expected.value)


def test_a_resume_function_has_one_entry_for_all_values() -> None:
    def program(x: Any, i: Any) -> Any:
        y = x * 2
        capture.graph_break()
        return y[i : i + 2] + 1

    x = torch.randn(20)
    capture.reset()
    fast = capture.compile(program)
    for i in map(np.int64, range(1, 12)):
        same(fast(x, i), program(x, i))
    assert sum(counters["recompiles"].values()) <= 1


STORED = """
import numpy as np, sys, torch, capture
from capture.report.counters import counters

def program(x, i):
    return x[i : i + 2] * 2, x.roll(int(i), 0)

x = torch.arange(20.0)
fast = capture.compile(program)
for i in map(np.int64, eval(sys.argv[1])):
    for found, expected in zip(fast(x, i), program(x, i)):
        assert torch.equal(found, expected), i
print(counters["frames"].get("captured", 0))
"""


def test_entries_of_the_store(tmp_path: Path) -> None:
    """A later process takes the entry with the symbol, and runs it with other values."""

    def process(values: str) -> str:
        settings = {**os.environ, "CAPTURE_CACHE_DIR": str(tmp_path), "CAPTURE_STORE_ENTRIES": "1"}
        command = [sys.executable, "-c", STORED, values]
        done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert process("(1, 2, 3)") == "2"
    assert process("(4, 9, 1, 17)") == "0"
