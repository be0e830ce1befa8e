"""The table of slow tests names folders, modules and tests that exist."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT, SLOW


@pytest.mark.parametrize("name", SLOW)
def test_it_exists(name: str) -> None:
    path, _, function = name.partition("::")
    assert (ROOT / "tests" / path).exists()
    if function:
        assert f"def {function.partition('[')[0]}(" in (ROOT / "tests" / path).read_text()
