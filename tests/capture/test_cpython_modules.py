"""CPython's own tests of the language end under capture as they do without: a third of the modules each day.

CAPTURE_CPYTHON_SHARE=<number> chooses the third.
"""

from __future__ import annotations

import datetime
import os

import pytest

from scripts import cpython_tests

SHARES = 3
TODAY = int(os.environ.get("CAPTURE_CPYTHON_SHARE", datetime.date.today().toordinal())) % SHARES


@pytest.mark.sweep
@pytest.mark.skipif(not cpython_tests.PACKAGE.exists(), reason="the interpreter came without its tests")
@pytest.mark.parametrize("name", cpython_tests.MODULES[TODAY::SHARES])
def test_each_test_ends_as_in_python(name: str) -> None:
    count, lines = cpython_tests.differences(name)
    assert count > 0
    assert lines == []
