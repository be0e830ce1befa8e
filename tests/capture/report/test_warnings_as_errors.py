"""Filters that make errors of warnings: `-W error` does not change the program, one by name asks for it."""

from __future__ import annotations

import contextlib
import warnings

import pytest
import torch

import capture


@pytest.fixture(autouse=True)
def reset():
    capture.reset()


def times(x, k):
    return x * float(k)


def after_a_break(x, k):
    x = x + 1
    capture.graph_break()
    return x * float(k)


def broken(gm, inputs):
    raise OSError("no such luck")


@contextlib.contextmanager
def all_are_errors(category=Warning):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("error", category)
        yield shown


@pytest.mark.parametrize("program", [times, after_a_break])
def test_a_filter_for_all_warnings_does_not_stop_the_program(program):
    with capture.config.patch(recompile_limit=2), capture.enable("eager"), all_are_errors() as shown:
        got = [program(torch.ones(2), str(k)).tolist() for k in range(5)]
    assert got == [[k * (1.0 + (program is after_a_break))] * 2 for k in range(5)]
    assert [str(w.message).count("recompile_limit") for w in shown] == [1]
    assert all(w.category is capture.CaptureWarning for w in shown)


@pytest.mark.parametrize("program", [times, after_a_break])
def test_a_filter_by_name_raises_once_and_leaves_whole_state(program):
    raised, got = 0, []
    with (
        capture.config.patch(recompile_limit=2),
        capture.enable("eager"),
        all_are_errors(capture.CaptureWarning),
    ):
        for k in range(5):
            try:
                got.append(program(torch.ones(2), str(k)).tolist())
            except capture.CaptureWarning as warning:
                assert "config.recompile_limit" in str(warning)
                raised += 1
    assert raised == 1
    assert got == [[k * (1.0 + (program is after_a_break))] * 2 for k in (0, 1, 3, 4)]


def test_a_failing_backend():
    fast = capture.compile(times, backend=broken)
    with all_are_errors() as shown:
        assert [fast(torch.ones(1), "2").item() for _ in range(2)] == [2, 2]
    assert len(shown) == 1 and "no such luck" in str(shown[0].message)
    capture.reset()
    with all_are_errors(capture.CaptureWarning):
        with pytest.raises(capture.CaptureWarning, match="no such luck"):
            fast(torch.ones(1), "2")
        assert [fast(torch.ones(1), "2").item() for _ in range(2)] == [2, 2]


def test_a_failure_of_ours(monkeypatch):
    def fails(*args):
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("capture.frame.new_entry.translate", fails)
    fast = capture.compile(times, backend="eager")
    with all_are_errors() as shown:
        assert [fast(torch.ones(1), "2").item() for _ in range(2)] == [2, 2]
    assert len(shown) == 1 and "of ours" in str(shown[0].message)
    capture.reset()
    with all_are_errors(capture.CaptureWarning):
        with pytest.raises(capture.CaptureWarning, match="of ours"):
            fast(torch.ones(1), "2")
        assert [fast(torch.ones(1), "2").item() for _ in range(2)] == [2, 2]
