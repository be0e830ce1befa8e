"""`max` and `min` of sizes that change, and texts that are put together from some: no decision is made."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture
from capture.report.counters import counters
from tests.capture.test_cases import same

LENGTHS = [(3, 9, 4), (5, 7, 6), (8, 4, 6), (2, 3, 12), (11, 5, 10), (6, 6, 6)]


def padded(items):
    length = max(len(item) for item in items)
    return torch.stack([torch.nn.functional.pad(item, (0, length - len(item))) for item in items])


def cut(items):
    length = min(item.shape[0] for item in items)
    return torch.stack([item[:length] for item in items])


def beside_a_number(items):
    return torch.ones(max(item.shape[0] for item in items) + max(iter([2, items[0].shape[0]])))


@pytest.mark.parametrize("program", [padded, cut, beside_a_number])
def test_generators_of_sizes(program):
    fast = capture.compile(program, dynamic=True)
    for lengths in LENGTHS:
        items = [torch.arange(1.0, n + 1) for n in lengths]
        assert same(fast(items), program(items))
    assert not counters["recompiles"]


class Item:
    """Tells when it is compared."""

    def __init__(self, value: int, told: list[Any]) -> None:
        self.value, self.told = value, told

    def __gt__(self, other):
        self.told.append(("gt", self.value))
        return self.value > getattr(other, "value", other)

    def __lt__(self, other):
        self.told.append(("lt", self.value))
        return self.value < getattr(other, "value", other)


def drawn(values, told):
    for value in values:
        told.append("drawn")
        yield value


@pytest.mark.parametrize("function", [max, min])
@pytest.mark.parametrize(
    "kinds", ["n", "nn", "no", "on", "nnon", "oo", "nfnf", "fn", "nnno", "bn", "nbo", "s", "ns"]
)
def test_the_order_of_draws_and_comparisons_is_that_of_python(function, kinds):
    def program(x, told):
        values = {"n": x.shape[0], "f": 2.5, "o": Item(7, told), "b": True, "s": "text"}
        try:
            found = function(drawn([values[kind] for kind in kinds], told))
        except TypeError as error:
            return x + 1, str(error)
        return x + 1, type(found).__name__, getattr(found, "value", found)

    fast = capture.compile(program, dynamic=True)
    for n in (5, 9):
        told, expected = [], []
        assert same(fast(torch.ones(n), told), program(torch.ones(n), expected))
        assert told == expected


def labelled(x, n):
    text = "rows: "
    text += f"{x.shape[0]}"
    text = "[" + text + " of " + f"{n}" + "]"
    return x + n, text


def test_texts_put_together_from_sizes():
    fast = capture.compile(labelled, dynamic=True)
    for n in (3, 5, 8):
        assert same(fast(torch.ones(n), n + 4), labelled(torch.ones(n), n + 4))
    assert not counters["recompiles"]
