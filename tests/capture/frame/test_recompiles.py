"""What is said of a function that no more entries are made for."""

from __future__ import annotations

import warnings

import pytest
import torch

import capture
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
