"""Numbers that change from call to call as places in lists that exist: no capture for each place."""

import collections

import pytest
import torch

import capture
from capture.report.config import config
from tests.capture.test_cases import same

BATCHES = [torch.full((4,), float(i)) for i in range(9)]
PAIRS = tuple((batch, batch * 2) for batch in BATCHES)
QUEUE = collections.deque(BATCHES)
RATES = [0.5 * i for i in range(9)]
FEW = BATCHES[:3]


def takes_an_item(i, x):
    return (x * 2 + BATCHES[i % len(BATCHES)]).sum() * RATES[i % 9]


def takes_a_pair(i, x):
    first, second = PAIRS[i]
    return (x * first - second).sum()


def takes_from_a_deque(i, x):
    return x + QUEUE[-i]


@pytest.mark.parametrize("program", [takes_an_item, takes_a_pair, takes_from_a_deque])
def test_one_capture_serves_all_places(program):
    compiled = capture.compile(program, backend="eager")
    for i in [*range(9), *range(9)]:
        assert same(compiled(i, BATCHES[1]), program(i, BATCHES[1]))
    assert max(capture.counters["recompiles"].values()) <= 2
    assert set(capture.counters["graph_breaks"]) == {"not_constant"}


def test_a_list_of_few_items_stays_in_the_graph():
    def takes_one_of_few(i, x):
        return x * 2 + FEW[i]

    compiled = capture.compile(takes_one_of_few, backend="eager")
    for i in [0, 1, 2, 0, 1, 2]:
        assert same(compiled(i, BATCHES[1]), takes_one_of_few(i, BATCHES[1]))
    assert not capture.counters["graph_breaks"]


def test_a_whole_graph_has_a_capture_for_each_place():
    whole = capture.compile(takes_an_item, backend="eager", fullgraph=True)
    for i in [1, 2, 3, 2]:
        assert same(whole(i, BATCHES[1]), takes_an_item(i, BATCHES[1]))


class Ring:
    def __init__(self):
        self.place = 0
        self.items = [torch.zeros(4) for _ in range(7)]

    def push(self, x):
        self.items[self.place] = x * 2
        self.place = (self.place + 1) % len(self.items)
        return x + 1


def test_stores():
    ring, eager = Ring(), Ring()
    push = capture.compile(Ring.push, backend="eager")
    for i in range(20):
        x = torch.full((4,), float(i))
        assert same(push(ring, x), eager.push(x))
        assert same(ring.items, eager.items) and ring.place == eager.place
    assert sum(capture.counters["recompiles"].values()) <= 2


def goes_round(budget, x):
    i, total, log = 0, torch.zeros(4), []
    while i < budget:
        total = torch.tanh(total * 0.5 + BATCHES[i % len(BATCHES)]) + x
        i += 1
        if i % 25 == 0:
            log.append(total.sum().item())
    return total, log


def test_a_loop():
    with config.patch(when="first"), capture.enable():
        got = goes_round(60, BATCHES[1])
    assert same(got[0], goes_round(60, BATCHES[1])[0])
    assert got[1] == pytest.approx(goes_round(60, BATCHES[1])[1])
    assert max(capture.counters["recompiles"].values(), default=0) <= 3
