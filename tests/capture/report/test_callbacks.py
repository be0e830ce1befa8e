"""`on_guard_failure`: callbacks get the line of the recompile log."""

from __future__ import annotations

import logging

import pytest
import torch

import capture
from capture.report import log
from capture.report.config import config
from capture.report.counters import counters

X = torch.ones(3)


def scaled(x, k):
    return x * k


@pytest.fixture
def captured():
    capture.reset()
    return capture.compile(scaled, backend="eager", dynamic=False)


def test_it_gets_the_line_of_the_log(captured, caplog):
    causes: list[str] = []
    log.set_logs("recompiles")
    try:
        with caplog.at_level(logging.DEBUG, "capture.recompiles"), capture.on_guard_failure(causes.append):
            for k in (2.0, 2.0, X * 2, X.double()):
                captured(X, k)
    finally:
        log.set_logs()
    assert causes == [record.getMessage() for record in caplog.records]
    assert len(causes) == 2 and all(
        cause.startswith("scaled [0/") and " k: was " in cause for cause in causes
    )


def test_the_registration_ends(captured):
    causes: list[str] = []
    registration = capture.on_guard_failure(causes.append)
    captured(X, 1.5)
    captured(X, X)
    assert len(causes) == 1
    registration.remove()
    registration.remove()
    captured(X, X.double())
    assert len(causes) == 1
    with capture.on_guard_failure(causes.append):
        captured(X, X.int())
    captured(X, X.bool())
    assert len(causes) == 2


def test_callbacks_are_called_in_order_and_may_remove_themselves(captured):
    calls: list[str] = []
    first = capture.on_guard_failure(lambda cause: (calls.append("first"), first.remove()))
    second = capture.on_guard_failure(lambda cause: calls.append("second"))
    try:
        for k in (X, X.double(), X.int()):
            captured(X, k)
    finally:
        second.remove()
    assert calls == ["first", "second", "second"]


def test_what_it_does_is_not_captured_and_an_exception_is_a_warning(captured):
    def callback(cause: str) -> None:
        assert not capture.is_capturing()
        (X + 1).sum()
        raise ValueError("of the callback")

    captured(X, X)
    before = counters["graphs"]["compiled"]
    with (
        capture.on_guard_failure(callback),
        pytest.warns(capture.CaptureWarning, match="on_guard_failure raised ValueError: of the callback"),
    ):
        assert torch.equal(captured(X, X.double()), X.double())
    assert counters["graphs"]["compiled"] == before + 1
    with (
        capture.on_guard_failure(callback),
        config.patch(raise_on_error=True),
        pytest.raises(capture.UsageError, match="of the callback"),
    ):
        captured(X, X.int())


def test_error_on_recompile_tells_too(captured):
    causes: list[str] = []
    captured(X, X)
    with (
        capture.on_guard_failure(causes.append),
        config.patch(error_on_recompile=True),
        pytest.raises(capture.RecompileError, match="k"),
    ):
        captured(X, X.double())
    assert len(causes) == 1
