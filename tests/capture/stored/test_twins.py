"""The next process has the twins of this one: the code that can leave its loops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import capture
from capture.bytecode import turns
from capture.policy.settings import CaptureSettings
from capture.report.config import config
from capture.stored import twins
from capture.stored.codes import FIELDS
from capture.stored.store import store_of
from capture.stored.twins import KIND, Twins

SETTINGS = CaptureSettings(backend=None, backend_name="llvm")


@pytest.fixture(autouse=True)
def store(tmp_path: Path) -> Iterator[Path]:
    capture.reset()
    with config.patch(cache_dir=str(tmp_path), store_entries=True):
        yield tmp_path
    capture.reset()


def doubled(n: int, *rest: Any, by: float = 2.0, **more: Any) -> Any:
    total, seen = 0.0, []
    for i in range(n):
        for name in ("a", b"b", 3, 1j, (1, (2.5, None))):
            seen.append((lambda: (name, total))() if i % 2 else name)  # noqa: B023
        total += i * by
    while total > 100:
        total /= 2
    return total, seen, rest, more


def straight(n: int) -> int:
    return n + 1


def fields(code: CodeType) -> dict[str, Any]:
    return {name: getattr(code, name) for name in FIELDS if name != "co_consts"}


def shown(value: Any) -> Any:
    """Questions are equal if their loops are."""
    return ("question", value.number) if type(value) is turns.Question else value


def are_own(twin: CodeType, code: CodeType) -> list[bool]:
    """Which constants are the very objects of the code."""
    return [any(const is own for own in code.co_consts) for const in twin.co_consts]


def kept(code: CodeType) -> Twins:
    first = Twins(SETTINGS)
    first.plan_of(code)
    first.write()
    return Twins(SETTINGS)


def test_a_plan_from_the_store_is_the_one_that_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    code = doubled.__code__
    later, made = kept(code), turns.plan_of(code)
    monkeypatch.setattr(twins, "plan_of", pytest.fail)
    found = later.plan_of(code)
    assert made is not None and found is not None and len(found.loops) == 3
    assert found.loops == made.loops and fields(found.code) == fields(made.code)
    assert list(map(shown, found.code.co_consts)) == list(map(shown, made.code.co_consts))
    assert are_own(found.code, code) == are_own(made.code, code)
    twin = turns.twin_of(code, planned=later.plan_of)
    assert twin is not None and sum(type(c).__name__ == "Turns" for c in twin.co_consts) == 3


def test_what_has_no_loops_is_known_too(monkeypatch: pytest.MonkeyPatch) -> None:
    later = kept(straight.__code__)
    monkeypatch.setattr(twins, "plan_of", pytest.fail)
    assert later.plan_of(straight.__code__) is None


def test_other_code_has_a_plan_of_its_own() -> None:
    code = doubled.__code__
    for other in (code.replace(co_firstlineno=code.co_firstlineno + 1), code.replace(co_name="other")):
        plan = kept(code).plan_of(other)
        assert plan is not None and fields(plan.code) == fields(turns.plan_of(other).code)  # type: ignore


def test_without_a_store_it_is_made() -> None:
    with config.patch(store_entries=False):
        later = kept(doubled.__code__)
        assert later.plan_of(doubled.__code__) is not None and store_of(SETTINGS) is None
    with_objects = doubled.__code__.replace(co_consts=(*doubled.__code__.co_consts, object()))
    assert kept(with_objects).plan_of(with_objects) is not None


def test_two_processes_that_end_keep_the_plans_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = Twins(SETTINGS), Twins(SETTINGS)
    one.plan_of(doubled.__code__)
    other.plan_of(test_without_a_store_it_is_made.__code__)
    one.write()
    other.write()
    later = Twins(SETTINGS)
    monkeypatch.setattr(twins, "plan_of", pytest.fail)
    assert later.plan_of(doubled.__code__) is not None


DAMAGED_FIELDS = [
    ("loops", 3), ("loops", [[1]]), ("code", {}), ("code", 3), ("constants", [["own", 99]]),
    ("constants", [["unknown"]]), ("constants", [[]]), ("constants", [["question"]]),
]  # fmt: skip


def with_field(name: str, value: Any) -> Any:
    return lambda plans: json.dumps({key: {**plan, name: value} for key, plan in plans.items()}).encode()


@pytest.mark.parametrize(
    "damage",
    [*(lambda plans, data=data: data for data in (b"[1]", b"{", b"[" * 100_000)),
     *(with_field(*field) for field in DAMAGED_FIELDS)],
)  # fmt: skip
def test_damaged_plans_are_made_again(damage: Any, caplog: pytest.LogCaptureFixture) -> None:
    kept(doubled.__code__)
    later = Twins(SETTINGS)
    store = store_of(SETTINGS)
    store.put(later._parts(), damage(json.loads(store.get(later._parts(), KIND))), KIND)
    with caplog.at_level("WARNING", "capture.cache"):
        plan = later.plan_of(doubled.__code__)
    assert plan is not None and fields(plan.code) == fields(turns.plan_of(doubled.__code__).code)  # type: ignore
    assert "what earlier runs made of this program's loops is not used" in caplog.text


PROGRAM = """
import sys, torch, capture

def main(n):
    x = torch.ones(3)
    for i in range(n):
        x = torch.sin(x) * 1.5 + i
    return x

with capture.enable():
    main(20)
print("bytecode" in sys.modules)
"""


def test_the_next_process_does_not_import_the_assembler(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "CAPTURE_CACHE_DIR": str(tmp_path), "CAPTURE_STORE_ENTRIES": "1"}
    found = [
        subprocess.run(
            [sys.executable, str(program)],
            capture_output=True, text=True, env={**environment, "CAPTURE_WHEN": "hot"}, check=True,
        ).stdout.strip()
        for _ in range(2)
    ]  # fmt: skip
    assert found == ["True", "False"]
