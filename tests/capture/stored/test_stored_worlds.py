"""Every world with the entries from the store: captured in the old world, read in the new one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import capture
from capture.report.config import config
from tests.capture.stored.test_stored_cases import operator_by_operator
from tests.capture.test_worlds import MODULES, reset_process_state, same
from tests.capture.worlds.registry import WORLDS, World

pytestmark = pytest.mark.sweep
assert MODULES  # their import fills the table


def results(changing: World, captured: bool, changed_first: bool) -> list[Any]:
    """Two calls, the change, two calls; or the change first. Each begins with a world of its own."""
    reset_process_state()
    function, change = changing.make()

    def call() -> Any:
        if not captured:
            return function()
        with capture.enable():
            return function()

    try:
        found = [] if changed_first else [call(), call()]
        change()
        return [*found, call(), call()]
    finally:
        getattr(function, "restore", lambda: None)()
        reset_process_state()


@pytest.mark.parametrize("changing", WORLDS, ids=lambda w: w.name)
def test_world(changing: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegen.stored.compile_graph.enabled", True)
    monkeypatch.setattr("codegen.stored.compile_graph.compile_anew", operator_by_operator)
    monkeypatch.setattr("codegen.stored.compile_graph.compile_sizes_anew", lambda *_: None)
    settings = {"cache_dir": str(tmp_path), "store_entries": True, "raise_on_error": True, "when": "first"}
    with config.patch(settings):
        for changed_first in (False, True, False):
            try:
                expected = results(changing, False, changed_first)
            except Exception:  # the change is none without the calls before it
                assert changed_first
                continue
            capture.reset()
            found = results(changing, True, changed_first)
            for one, two in zip(expected, found):
                assert same(one, two), (changed_first, one, two)
    capture.reset()
