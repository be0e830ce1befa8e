"""Sizes and ints that change: every case, call by call, eager against captured, with the graphs it takes in all; and what the symbols leave behind."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch

import capture
from capture.config import config
from tests.capture.cases_dynamic import CASES, DynamicCase, rows, tensor
from tests.capture.test_cases import Counting, outcome, same


@pytest.fixture(autouse=True)
def fresh() -> Any:
    capture.reset()
    yield
    capture.reset()


def run(function: Any, calls: list[tuple[Any, ...]], **settings: Any) -> Counting:
    """Each call eagerly and captured; the backend with its counts."""
    backend = Counting()
    captured = capture.compile(function, backend=backend, **settings)
    with config.patch(raise_on_error=True):
        for args in calls:
            expected, got = outcome(function, args), outcome(captured, args)
            assert got[1:] == expected[1:]
            assert same(got[0], expected[0]), (got[0], expected[0])
    return backend


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.function.__name__)
def test_case(case: DynamicCase) -> None:
    backend = run(case.function, case.calls, dynamic=case.dynamic)
    assert backend.graphs == case.graphs
    if case.ops is not None:
        assert backend.operations == case.ops
