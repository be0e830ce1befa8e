"""Numbers that a frame counts in items of dicts and lists: symbols in the first capture, as in attributes."""

from __future__ import annotations

import collections
from typing import Any

import pytest
import torch

import capture
from capture.report.config import config
from capture.report.counters import counters


@pytest.fixture(autouse=True)
def fresh():
    capture.reset()
    with config.patch(raise_on_error=True, dynamic=None):
        yield


class Counting(torch.nn.Module):
    """Counts its calls in a container of its own."""

    def __init__(self, held: Any, key: Any) -> None:
        super().__init__()
        self.held = held
        self.key = key

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.held[self.key] += 1
        return x * self.held[self.key]


CONTAINERS = {
    "dict": lambda: Counting({"calls": 3, 7: 2}, "calls"),
    "dict, int key": lambda: Counting({"calls": 3, 7: 2}, 7),
    "list": lambda: Counting([5, 3], 1),
    "Counter": lambda: Counting(collections.Counter({1: 4}), 1),
    "defaultdict": lambda: Counting(collections.defaultdict(int, a=2), "a"),
    "OrderedDict": lambda: Counting(collections.OrderedDict(a=2), "a"),
    "float": lambda: Counting({"calls": 0.5}, "calls"),
}


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("kind", CONTAINERS)
def test_one_capture_for_all_counts(kind, backend):
    expected, counted, x = CONTAINERS[kind](), CONTAINERS[kind](), torch.ones(2)
    captured = capture.compile(counted, backend=backend)
    for _ in range(6):
        assert torch.equal(captured(x), expected(x))
        assert counted.held == expected.held
    assert counters["frames"]["captured"] == 1


def test_an_item_that_the_frame_only_reads_is_a_setting():
    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.held = {"scale": 2, "calls": 0}

        def forward(self, x):
            self.held["calls"] += 1
            return x * self.held["scale"]

    module = Scaled()
    captured = capture.compile(module, backend="eager", fullgraph=True)
    for scale in (2, 3, 2):
        module.held["scale"] = scale
        assert torch.equal(captured(torch.ones(2)), torch.full((2,), float(scale)))
    assert module.held["calls"] == 3
    assert counters["frames"]["captured"] == 2  # one for each scale, however often it is called


def test_a_list_whose_items_move():
    def shifted(x, recent):
        recent[:] = recent[1:] + [recent[0] + 1]
        return x * recent[0] + recent[-1]

    captured = capture.compile(shifted, backend="eager")
    ours, theirs = [1, 2, 3], [1, 2, 3]
    for _ in range(6):
        assert torch.equal(captured(torch.ones(2), ours), shifted(torch.ones(2), theirs))
        assert ours == theirs
    assert counters["frames"]["captured"] == 1


@pytest.mark.parametrize("keys", [2, 4])
def test_a_count_of_what_the_graph_finds(keys):
    """The number that is added is a symbol: what is stored is known to differ from what was read."""

    def counted(x, found, counts, key):
        counts[key] += len(found)
        return x * counts[key]

    captured = capture.compile(counted, backend="eager")
    ours, theirs = dict.fromkeys(range(keys), 1), dict.fromkeys(range(keys), 1)
    captured(torch.ones(2), torch.ones(2), {9: 1}, 9)  # `found` has another size from now on
    for number in range(3, 15):
        x, key = torch.ones(number), number % keys
        assert torch.equal(captured(x, x, ours, key), counted(x, x, theirs, key))
        assert ours == theirs
    assert counters["frames"]["captured"] == 1 + keys  # one for each key


def test_a_count_under_a_key_that_is_known_to_change():
    """The read fixes the key, so the store has it as well."""

    def counted(x, counts, key):
        counts[key] += 1
        return x * counts[key]

    captured = capture.compile(counted, backend="eager")
    ours, theirs = {1: 3, 2: 4, 3: 5}, {1: 3, 2: 4, 3: 5}
    for _ in range(4):
        for key in (1, 2, 3):
            assert torch.equal(captured(torch.ones(2), ours, key), counted(torch.ones(2), theirs, key))
    assert ours == theirs
    assert counters["frames"]["captured"] == 3
