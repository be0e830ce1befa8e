"""Every case with its entries from the store: the second run translates nothing that the store has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _capture
import pytest

import capture
from capture.report.config import config
from codegen.launch.compiled import EagerGraph
from tests.capture.cases.registry import CASES, Case
from tests.capture.test_cases import outcome, same

pytestmark = pytest.mark.sweep


def run(case: Case, args: tuple[Any, ...]) -> tuple[Any, ...]:
    _capture.skip_code(outcome.__code__)  # `capture.reset()` takes the mark away
    with capture.enable():
        return outcome(case.function, args)


def operator_by_operator(gm: Any, *_: Any) -> EagerGraph:
    """In place of the compiler: results are eager's to the last bit."""
    return EagerGraph(gm, "a test")


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_case(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegen.stored.compile_graph.enabled", True)
    monkeypatch.setattr("codegen.stored.compile_graph.compile_anew", operator_by_operator)
    monkeypatch.setattr("codegen.stored.compile_graph.compile_sizes_anew", lambda *_: None)
    arguments = case.arguments()
    eager_args = arguments()
    expected = outcome(case.function, eager_args)
    settings = {"cache_dir": str(tmp_path), "store_entries": True, "raise_on_error": True, "when": "first"}
    with config.patch(settings):
        for _ in range(2):
            capture.reset()
            args = arguments()
            found = run(case, args)
            assert found[1:] == expected[1:]
            assert same(found[0], expected[0])
            assert same(args, eager_args)
    capture.reset()
