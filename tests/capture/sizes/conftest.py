"""What tests of numbers that change share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import capture
from capture.report.config import config


@pytest.fixture
def fresh() -> Iterator[None]:
    """Nothing is captured before and behind the test, and a failure inside capture is an error."""
    capture.reset()
    with config.patch(raise_on_error=True):
        yield
    capture.reset()
