"""A capture that has to pay ends where it takes too many instructions."""

from __future__ import annotations

import _capture
import pytest
import torch

import capture
from capture.policy import patience
from capture.report.counters import counters


def simulate(x):
    for _ in range(400):
        x = x + 1
    return x


def step(x):
    return simulate(x * 2) * 2


def other_step(x):
    return simulate(x * 3) * 3


@pytest.fixture(autouse=True)
def hot(monkeypatch):
    capture.reset()
    monkeypatch.setattr(patience, "UNIT_NS", 0)
    monkeypatch.setattr(patience, "LEAST_NS", 0)
    monkeypatch.setattr(patience, "FIRST_NS", 0)
    monkeypatch.setattr(patience, "twin", lambda code, learned: None)  # no frame leaves its loop
    with capture.config.patch(when="hot", max_instructions=2000):
        yield
    capture.reset()


def runs(f):
    with capture.enable():
        return [f(torch.ones(2)).tolist() for _ in range(6)]


def test_the_frame_itself_is_left_to_python():
    assert runs(simulate) == [[401.0, 401.0]] * 6
    assert _capture.is_skipped(simulate.__code__)
    assert not counters["graphs"]


def test_a_callee_is_left_out_of_its_callers(monkeypatch):
    seen = []
    monkeypatch.setattr("capture.frame.attempts.remember_too_long", count(seen))
    assert runs(step) == [[804.0, 804.0]] * 6
    assert runs(other_step) == [[1209.0, 1209.0]] * 6
    assert seen == [simulate.__code__], "the second caller knew it"
    assert counters["graphs"]["compiled"] == 4  # in front of the call and behind it
    assert _capture.is_skipped(simulate.__code__)
    capture.reset()
    runs(other_step)
    assert len(seen) == 2


def count(seen):
    from capture.interpret.budget import remember_too_long

    def counting(code):
        seen.append(code)
        remember_too_long(code)

    return counting


def test_what_need_not_pay_has_the_whole_limit():
    result = capture.compile(simulate, backend="eager")(torch.ones(2))
    assert result.tolist() == [401.0, 401.0]
    assert counters["graphs"]["calls_captured"] >= 200
