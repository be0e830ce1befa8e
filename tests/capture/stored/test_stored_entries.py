"""Entries on disk: what is found in another process, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import capture
from capture.policy.settings import CaptureSettings
from capture.report.config import config
from capture.report.counters import counters
from capture.stored.store import KIND, Shelf, shelf_of

ROOT = Path(__file__).parents[3]
X = torch.arange(6.0).reshape(2, 3)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr("codegen.stored.compile_graph.enabled", True)
    settings = {"cache_dir": str(tmp_path), "store_entries": True, "raise_on_error": True, "when": "first"}
    with config.patch(settings):
        capture.reset()
        yield tmp_path
    capture.reset()


def counted(function: Any, *args: Any) -> tuple[Any, int, int]:
    """The result of a call as in a new process, how many entries the store had, and how many frames were
    translated.
    """
    capture.reset()
    with capture.enable():
        value = function(*args)
    return value, counters["stored_entries"]["found"], counters["frames"]["captured"]


def made(text: str, name: str = "program", **names: Any) -> Any:
    """The function `f` of a program, as another process would read it from a file."""
    module = types.ModuleType(name)
    vars(module).update(names, torch=torch)
    sys.modules[name] = module
    exec(compile(text, f"/{name}.py", "exec"), vars(module))
    return vars(module)["f"]


GRAPH = "def f(x): return torch.relu(x) * 2"
BREAK = "def f(x, seen):\n  y = x * 2\n  seen.append(1)\n  print('here')\n  return y + len(seen)"
LEFT = "def f(x): return [n + 1 for n in range(3)], x"


@pytest.mark.parametrize(("text", "args"), [(GRAPH, ()), (BREAK, ([],)), (LEFT, ())])
def test_nothing_is_translated_twice(text: str, args: Any) -> None:
    results = [counted(made(text), X, *[list(a) for a in args]) for _ in range(2)]
    assert results[0][1] == 0
    assert results[1][1] > 0
    assert results[1][2] == 0
    assert str(results[0][0]) == str(results[1][0])


def test_another_callee_is_translated() -> None:
    text = "def g(x): return x + {}\ndef f(x): return g(x) * 2"
    counted(made(text.format(1)), X)
    value, found, captured = counted(made(text.format(2)), X)
    assert torch.equal(value, (X + 2) * 2)
    assert (found, captured) == (0, 1)
    assert counted(made(text.format(1)), X)[1] == 1  # both are kept


def test_another_class_is_translated() -> None:
    text = (
        "class A:\n  scale = {}\n  def times(self, x): return x * self.scale\ndef f(x): return A().times(x)"
    )
    counted(made(text.format(2)), X)
    value, found, _ = counted(made(text.format(3)), X)
    assert torch.equal(value, X * 3)
    assert found == 0


def test_one_object_that_was_two() -> None:
    """What `is` said in the first process must hold in the second one."""
    text = (
        "def make():\n  def g(x): return x + 1\n  return g\n"
        "def f(x, a, b): return x * (2 if a is b else 3) + a(x) + b(x)"
    )
    for same in (True, False, True, False):
        f = made(text)
        make = f.__globals__["make"]
        a = make()
        b = a if same else make()
        value, _, _ = counted(f, X, a, b)
        assert torch.equal(value, X * (2 if same else 3) + 2 * (X + 1))


def test_a_replaced_function_of_torch_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f(x): return torch.nn.functional.softplus(x) + 1"
    counted(made(text), X)
    monkeypatch.setattr(torch.nn.functional, "softplus", lambda x: x * 5)
    value, _, _ = counted(made(text), X)
    assert torch.equal(value, X * 5 + 1)


def test_a_constant_result_is_not_stored() -> None:
    value = [1]
    number = capture.assume_constant_result(lambda: value[0])
    for expected in (1, 2):
        value[0] = expected
        result, found, _ = counted(made("def f(x): return x * number()", number=number), X)
        assert torch.equal(result, X * expected)
        assert found == 0


def test_explain_and_the_setting_leave_the_store_alone() -> None:
    f = made(GRAPH)
    counted(f, X)
    assert capture.explain(f)(X).graph_count == 1
    with config.patch(store_entries=False):
        assert counted(f, X)[1:] == (0, 1)


# --- damage -----------------------------------------------------------------------------------------------


def shelf_for(function: Any) -> Shelf:
    shelf = shelf_of(function.__code__, CaptureSettings(None, "llvm"))
    assert shelf is not None
    return shelf


def damaged(content: dict[str, Any]) -> Iterator[Any]:
    """Every value in the content, replaced by others."""

    def places(value: Any, way: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        yield way
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, item in items:
            yield from places(item, (*way, key))

    for *way, last in (place for place in places(content, ()) if place):
        for other in (None, -1, 10**6, "torch", [], {}, ["object", 0], [["value"]]):
            copy = json.loads(json.dumps(content))
            inner = copy
            for key in way:
                inner = inner[key]
            inner[last] = other
            yield copy


def test_damaged_entries_are_misses(caplog: pytest.LogCaptureFixture) -> None:
    f = made(GRAPH)
    counted(f, X)
    shelf = shelf_for(f)
    data = json.dumps(shelf.content).encode()
    for garbled in (b"", b"{", data[: len(data) // 2], b"[1]", b'{"entries": 3}'):
        shelf.store.put(shelf.parts, garbled, KIND)
        caplog.clear()
        value, found, _ = counted(f, X)
        assert torch.equal(value, torch.relu(X) * 2)
        assert found == 0
        assert len([r for r in caplog.records if r.levelname == "WARNING"]) >= 1


def test_planted_entries_raise_nothing() -> None:
    f = made("def f(x): return x.relu() * 2")
    counted(f, X)
    shelf = shelf_for(f)
    entry = shelf.content["entries"][0]
    kept = ("objects", "sources", "guards", "slots", "inputs", "result", "conversions", "facts", "kind")
    for number, copy in enumerate(damaged({name: entry[name] for name in kept})):
        if number % 7:
            continue
        planted = {"entries": [{**entry, **copy}], "seen": {}}
        shelf.store.put(shelf.parts, json.dumps(planted).encode(), KIND)
        value, _, _ = counted(f, X)
        assert value.shape == X.shape


# --- processes --------------------------------------------------------------------------------------------


def started(folder: Path, seed: int, step: int = 97) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "CAPTURE_CACHE_DIR": str(folder),
        "PYTHONHASHSEED": str(seed),
    }
    command = [sys.executable, "-W", "ignore", "-m", "tests.capture.stored.second_process", str(step), "0"]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    result: dict[str, Any] = json.loads(out.splitlines()[-1])
    return result


def test_a_second_process_translates_nothing(store: Path) -> None:
    """Another hash seed too: no order of a set, no hash and no address comes from the store."""
    first = answer(started(store, 1))
    second = answer(started(store, 2))
    assert first["wrong"] == second["wrong"] == []
    assert first["found"] == 0
    assert second["found"] > 5 * second["kept"]


def test_several_processes_at_once(store: Path) -> None:
    processes = [started(store, seed) for seed in (1, 2, 3)]
    assert [answer(process)["wrong"] for process in processes] == [[], [], []]
