"""Numbers and texts of tensors that Python computes behind the graph."""

from __future__ import annotations

import pytest
import torch

import capture
from tests.capture.test_cases import same

X = torch.arange(12.0).reshape(3, 4)


class Meter:
    def __init__(self):
        self.total, self.count, self.values = 0.0, 0, []


def averages(x, meter):
    loss = (x * 2).sum()
    meter.total += loss.item()
    meter.count += x.size(0)
    meter.values.append(loss.item() / 3)
    hits = (x > 3).sum().item()
    y = x + 1
    text = "{:.2f} {}".format(loss.item(), hits) + " %d" % hits + f" {loss:.1f} {loss} {x[0]!r}"
    numbers = 100.0 * hits / 12, round(loss.item(), 2), float(hits), -hits, int(x[0, 1] > 2)
    return y, text, meter.total, *numbers


def of_a_list(x, meter):
    meter.values += [x.sum().item(), x.max().item()]
    return x * 2, ", ".join(meter.values and ["a"])


def written_later(x, meter):
    before = x.sum()
    kept = before.item()
    before.add_(5)
    meter.values.append(kept)
    return before * 2, kept


def view_written_later(x, meter):
    part = x[0, :1]
    kept = part.item()
    x.mul_(3)
    return part + 1, kept


def decided(x, meter):
    y = x.sum()
    if y.item() > 3:
        return y * 2, 1
    return y * 3, 2


def used_in_the_graph(x, meter):
    n = x.sum().item()
    return x * n, n


def as_a_key(x, meter):
    return {x.sum().item(): x + 1}


def equal_to(x, meter):
    return x + 1, x.sum().item() == 66, x.sum().item() in (66, 1), (x[0, 0] == 0).item() is True


def divided_by_zero(x, meter):
    try:
        return x, 1 / (x * 0).sum().to(torch.int64).item()
    except ZeroDivisionError:
        return x + 1, 0


def as_character(x, meter):
    return x + 1, f"{x.abs().sum().to(torch.int64).item():c}"


PROGRAMS = {
    averages: 1, of_a_list: 1, written_later: 2, view_written_later: 2, decided: 2, used_in_the_graph: 1,
    as_a_key: None, equal_to: None, divided_by_zero: None, as_character: None,
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_values_are_those_of_eager(program) -> None:
    capture.reset()
    captured = capture.compile(program)
    meters = Meter(), Meter()
    for factor in (1, -1, 2):
        expected, given = (f(X * factor, m) for f, m in zip((program, captured), meters))
        assert same(given, expected)
        assert [type(item) for item in given] == [type(item) for item in expected]
        assert vars(meters[0]) == vars(meters[1])
        if factor == 1 and PROGRAMS[program] is not None:
            assert capture.counters["graphs"]["compiled"] == PROGRAMS[program]


def test_numbers_of_tensors_with_gradients() -> None:
    def text(w):
        y = w * 2
        return f"{y.sum():.1f}", f"{y.sum()}", str(y.detach())

    capture.reset()
    w = torch.ones(2, requires_grad=True)
    captured = capture.compile(text, fullgraph=True)
    assert captured(w) == text(w)
