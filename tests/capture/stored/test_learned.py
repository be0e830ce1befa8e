"""What a program learned in its last run: entries that paid run from the first frame on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import _capture
import pytest
import torch

import capture
from capture.frame import stored_entries
from capture.policy import patience
from capture.policy.settings import CaptureSettings
from capture.report.config import config
from capture.report.counters import counters
from capture.stored.learned import KIND, Learned, _row

X = torch.arange(6.0).reshape(2, 3)


@pytest.fixture(autouse=True)
def hot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Frames that have run twice are hot, and each entry pays: no test waits for the clock."""
    monkeypatch.setattr("codegen.stored.compile_graph.enabled", True)
    costs = (("UNIT_NS", 0), ("LEAST_NS", 0), ("FIRST_NS", 0))
    for name, value in (*costs, ("PAYS", 1e9), ("PAYS_WITH_BACKWARD", 1e9)):
        monkeypatch.setattr(patience, name, value)
    settings = {"cache_dir": str(tmp_path), "store_entries": True, "raise_on_error": True, "when": "hot"}
    with config.patch(settings):
        capture.reset()
        yield
    capture.reset()


def program(text: str = "def f(x): return torch.relu(x) * 2 + 1") -> Any:
    """A function that no process has seen."""
    names: dict[str, Any] = {"torch": torch}
    exec(text, names)
    return names["f"]


def calls(f: Any, count: int, x: Any = X) -> tuple[int, int]:
    """How many entries came from the store, and how many frames were captured."""
    before = counters["entries"]["loaded"], counters["frames"]["captured"]
    with capture.enable():
        for _ in range(count):
            assert torch.equal(f(x), torch.relu(x) * 2 + 1)
    return counters["entries"]["loaded"] - before[0], counters["frames"]["captured"] - before[1]


def first_run(count: int = 30) -> None:
    assert calls(program(), count) == (0, 1)
    capture.reset()


def test_the_first_frame_of_the_second_run_runs_the_entry() -> None:
    first_run()
    assert calls(program(), 1) == (1, 0)


def test_an_entry_whose_trial_was_not_over_is_tried_as_soon_as_it_can_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first_run(count=4)
    monkeypatch.setattr(patience, "LEAST_NS", 10**15)  # nothing gets hot
    f = program()
    assert calls(f, 2) == (0, 0)
    assert calls(f, 1) == (1, 0)
    assert calls(f, 30) == (0, 0)
    capture.reset()
    assert calls(program(), 1) == (1, 0)


def test_a_stored_entry_costs_its_callers_what_it_has_cost_here() -> None:
    """A capture of the caller would inline the function, whoever has captured it first."""
    text = "def g(x): return x + 0\ndef f(x): return torch.relu(g(g(x))) * 2 + 1"
    first = program(text)
    calls(first, 30)
    units = _capture.inlined_units(first.__code__)
    assert units > sum(len(f.__code__.co_code) // 2 for f in (first, first.__globals__["g"]))
    capture.reset()
    again = program(text)
    assert calls(again, 1) == (1, 0)
    assert _capture.inlined_units(again.__code__) == units


def test_a_frame_that_was_left_to_python_is_left_at_its_first_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def runs(count: int) -> Any:
        """What the store gave, and what was left to Python after a translation."""
        names: dict[str, Any] = {}
        exec("def f(x): return x + 1", names)
        before = counters["entries"]["loaded"], counters["frames"]["skipped"]
        with capture.enable():
            for _ in range(count):
                assert names["f"](1) == 2
        return counters["entries"]["loaded"] - before[0], counters["frames"]["skipped"] - before[1]

    assert runs(4) == (0, 1)
    capture.reset()
    monkeypatch.setattr(patience, "LEAST_NS", 10**15)
    assert runs(1) == (1, 0)


def test_what_had_nothing_to_capture_is_not_tried_for_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of a list that was made of a set is another one in each process."""

    def runs(text: str, count: int) -> int:
        names: dict[str, Any] = {"texts": text.split()}
        exec("def f(row): return {name: row[name] for name in row if name in texts}", names)
        before = counters["frames"]["skipped"]
        with capture.enable():
            for _ in range(count):
                assert names["f"]({"a": X, "d": X}) == {"a": X}
        return counters["frames"]["skipped"] - before

    assert runs("a b c", 30) == 1
    capture.reset()
    monkeypatch.setattr(patience, "LEAST_NS", 10**6)
    assert runs("b c a", 2000) == 0


def test_an_entry_that_did_not_pay_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PAYS", -1.0)  # the clock may stand: 0 is no more than 0
    first_run()
    f = program()
    monkeypatch.setattr(patience, "LEAST_NS", 10**15)
    assert calls(f, 2) == (0, 0)
    assert calls(f, 1) == (1, 0)
    assert calls(f, 30) == (0, 0)
    assert counters["frames"]["did_not_pay"] == 1


def test_frames_that_fit_no_entry_have_to_get_hot() -> None:
    first_run()
    f = program()
    other = X[:1].t()  # no entry is for these sizes
    assert calls(f, 1, other) == (0, 0)
    assert counters["entries"]["missing"] == 1
    assert calls(f, 8, other) == (0, 1)


def test_an_evaluation_before_the_training_does_not_use_up_the_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    first_run()
    monkeypatch.setattr(patience, "LEAST_NS", 10**15)
    f = program()
    with torch.no_grad():
        assert calls(f, 20) == (0, 0)
    assert calls(f, 1) == (1, 0)


def spent(f: Any, ns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process ends, and has spent so much in `f`."""
    learned = Learned(CaptureSettings(None, "llvm"))
    monkeypatch.setattr("capture.stored.learned._spent_here", lambda: {_row(f.__code__): ns})
    learned.note_spent()
    capture.reset()


def test_what_python_has_spent_in_all_processes_makes_a_function_hot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "LEAST_NS", 10**10)
    spent(program(), 10**6, monkeypatch)
    assert calls(program(), 8) == (0, 0)
    for _ in range(2):
        spent(program(), 10**12, monkeypatch)
    assert Learned(CaptureSettings(None, "llvm")).spent_in(program().__code__) == (
        2 * 10**12 + 10**6,
        10**12,
    )
    assert calls(program(), 8) == (0, 1)
    capture.reset()  # what was spent before the capture has been paid back
    assert Learned(CaptureSettings(None, "llvm")).spent_in(program().__code__) is None


PROGRAM = """
import torch, capture
from capture.policy import patience
from capture.stored import learned
learned.LEAST_NOTED, patience.LEAST_NS = 0, 10**12

def f(x):
    return torch.relu(x) * 2 + 1

x = torch.ones(3)
with capture.enable():
    for _ in range({calls}):
        f(x)
from capture.policy.settings import CaptureSettings
print(learned.Learned(CaptureSettings(None, "llvm")).spent_in(f.__code__) is not None)
"""


def test_a_process_that_ends_notes_what_it_has_spent(tmp_path: Path) -> None:
    def rows(calls: int) -> Any:
        """What it has noted, and whether it knew what the one before had spent."""
        script = tmp_path / "program.py"
        script.write_text(PROGRAM.format(calls=calls))
        settings = {"CACHE_DIR": str(tmp_path / "store"), "STORE_ENTRIES": "1", "WHEN": "hot"}
        environment = {**os.environ, **{f"CAPTURE_{name}": value for name, value in settings.items()}}
        command = [sys.executable, str(script)]
        ran = subprocess.run(command, env=environment, check=True, timeout=300, capture_output=True)
        (file,) = (tmp_path / "store").rglob(f"*.{KIND}")
        data = file.read_bytes()
        return json.loads(data[data.index(b'{"kinds"') : data.rindex(b"}") + 1]), ran.stdout == b"True\n"

    first, knew = rows(2)
    (row,) = [row for row in first["spent"] if row.startswith("f:")]
    total, most = first["spent"][row]
    assert total == most > 0 and first["kinds"] == {} and not knew
    second, knew = rows(2)
    assert total < second["spent"][row][0] < total + 2 * second["spent"][row][1] and knew


def test_the_rest_of_a_stored_frame_waits_where_it_was_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first process has left it to Python: its beginning had cost too much by then."""

    def run(count: int) -> tuple[int, int]:
        names: dict[str, Any] = {"torch": torch, "stop": capture.graph_break}
        exec("def f(x):\n    y = torch.relu(x) * 2\n    stop()\n    return y * y + 1", names)
        with capture.enable():
            for _ in range(count):
                assert torch.equal(names["f"](X), (torch.relu(X) * 2) ** 2 + 1)
        found = counters["entries"]["loaded"], counters["frames"]["captured"]
        capture.reset()
        return found

    keep = stored_entries.keep
    with monkeypatch.context() as patched:
        patched.setattr(
            stored_entries, "keep", lambda frame, *rest: _capture.is_resume(frame.code) or keep(frame, *rest)
        )
        assert run(30) == (0, 2)
    with monkeypatch.context() as patched:
        patched.setattr(patience, "LEAST_NS", 10**15)
        assert run(30) == (1, 0)
    assert run(30) == (1, 1)  # it gets hot, as any function
    assert run(30) == (2, 0)


def test_damage_is_a_miss_and_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    first_run()
    learned = Learned(CaptureSettings(None, "llvm"))
    store, parts = capture.backends.llvm.kernel_store(), learned._parts()
    row = b'{"kinds": {"f": 1}, "spent": {"f": "x"}}'
    for garbled in (b"", b"[1]", b'{"f": 1}', row, b'{"kinds": [], "spent": {}}', b"{"):
        store.put(parts, garbled, KIND)
        capture.reset()
        assert calls(program(), 1) == (0, 0)
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 6
