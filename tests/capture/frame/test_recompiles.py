"""What is said of a function that no more entries are made for."""

from __future__ import annotations

import warnings

import _capture
import pytest
import torch

import cache
import capture
from capture.policy import patience
from capture.report import log


@pytest.fixture(autouse=True)
def afresh():
    capture.reset()
    with capture.config.patch(recompile_limit=2):
        yield
    log.set_logs()


def recompiled(f):
    """The warnings about `f` when it gets another key in each call."""
    with warnings.catch_warnings(record=True) as caught, capture.enable("eager"):
        warnings.simplefilter("always")
        for k in range(6):
            assert f(torch.ones(2), str(k)).tolist() == [k + 2.0] * 2
    return [str(warning.message) for warning in caught]


def test_the_warning_names_the_last_value_that_changed():
    (text,) = recompiled(lambda x, k: x + int(k) + 1)
    assert "<lambda> was captured 2 times, config.recompile_limit" in text
    assert text.count("was [") == 1 and len(text) < 500


def test_one_warning_for_a_function_and_its_resume_functions():
    def add(x, k):
        y = x + int(k)
        print(end="")
        return y + int(k) * 0 + 1

    assert len(recompiled(add)) == 1


def test_a_function_that_the_program_cannot_change_is_in_the_log_alone(caplog):
    namespace = {}
    path = torch.__file__.replace("torch/__init__.py", "someone/layers.py")
    exec(compile("def add(x, k):\n    return x + int(k) + 1\n", path, "exec"), namespace)
    log.set_logs("recompiles")
    with caplog.at_level("DEBUG", "capture.recompiles"):
        assert recompiled(namespace["add"]) == []
    assert "add was captured 2 times" in caplog.text


def call(fn, x):
    return fn(x) * 1


@pytest.mark.parametrize(
    ("has_to_pay", "served", "goes_on"), [(True, 3, False), (True, 16, True), (False, 3, True)]
)
def test_entries_that_die_soon_are_given_up_sooner_where_they_have_to_pay(
    monkeypatch, has_to_pay, served, goes_on
):
    monkeypatch.setattr(patience, "has_to_pay", lambda: has_to_pay)
    monkeypatch.setattr(cache, "died", lambda code: (4, served))
    with warnings.catch_warnings(record=True) as caught, capture.enable("eager"):
        warnings.simplefilter("always")
        assert call(torch.neg, torch.ones(2)).tolist() == [-1.0] * 2
        assert call(torch.exp2, torch.ones(2)).tolist() == [2.0] * 2
    assert _capture.added_entries(call.__code__) == (2 if goes_on else 1)
    assert any("did not live long" in str(warning.message) for warning in caught) is not goes_on
