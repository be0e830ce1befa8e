"""The interpreter against CPython's own tests: each captured test ends as it does when Python runs it."""

from __future__ import annotations

import warnings

import pytest

import capture
from tests.capture import cpython_suite

MODULES = (
    "augassign", "baseexception", "binop", "bool", "class", "contains", "decorators", "except_star",
    "exception_variations", "index",
    "list", "patma", "raise", "userlist", "with",
)  # fmt: skip

#: tests that end differently, and why
KNOWN_DIFFERENCES: dict[str, str] = {}


@pytest.mark.sweep
@pytest.mark.skipif(not cpython_suite.is_there(), reason="the interpreter came without its tests")
@pytest.mark.parametrize("name", MODULES)
def test_outcomes_are_those_of_python(name: str) -> None:
    module = cpython_suite.load(f"test_{name}")
    different, count, graphs = [], 0, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for test in cpython_suite.cases(module):
            expected = cpython_suite.outcome(test, captured=False)
            found = cpython_suite.outcome(test, captured=True)
            count += 1
            graphs += bool(capture.counters["graphs"]["compiled"])
            if found != expected and test.id() not in KNOWN_DIFFERENCES:
                different.append((test.id(), expected, found))
    capture.reset()
    assert graphs > count / 2, "most tests make a graph"
    assert not different
