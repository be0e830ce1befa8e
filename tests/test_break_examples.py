"""The examples of docs/graph_breaks.md: the one breaks for its reason, the other is one graph."""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import capture
from capture.report.break_reasons import REASONS
from tests.capture.test_cases import outcome, same

TEXT = (Path(__file__).parents[1] / "docs" / "break_examples.py").read_text()
HEAD, *PARTS = re.split(r"^# === (\w+)\n", TEXT, flags=re.MULTILINE)
SECTIONS = dict(zip(PARTS[::2], PARTS[1::2]))
#: breaks, but no errors under fullgraph
NO_ERROR = ("call_of_capture", "changing_items", "changing_number", "late_error", "recurrent_length")
NO_ERROR += ("write_without_grad",)
OF_NATIVE_CODE = ("write_without_grad",)  # other backends get one graph


def programs(name: str) -> dict[str, Any]:
    """The functions of one section."""
    file = f"<example of {name}>"
    text = HEAD + SECTIONS[name]
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace: dict[str, Any] = {}
    exec(compile(text, file, "exec"), namespace)
    return namespace


def argument() -> torch.Tensor:
    return torch.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("name", sorted(REASONS))
def test_example(name, capsys, monkeypatch):
    monkeypatch.setattr("sys.breakpointhook", lambda: None)
    found = programs(name)
    for form in ("breaks", "mended"):
        capture.reset()
        expected = outcome(found[form], (argument(),))
        got = outcome(capture.compile(found[form], backend="eager"), (argument(),))
        assert same(got[0], expected[0]) and got[1] == expected[1], form
    capture.reset()
    broken = capture.compile(found["breaks"], backend="eager", fullgraph=True)
    if name in NO_ERROR:
        backend = "llvm" if name in OF_NATIVE_CODE else "eager"
        reasons = capture.explain(found["breaks"], backend=backend)(argument()).break_reasons
        assert name in [reason.id for reason in reasons]
    else:
        with pytest.raises(capture.Unsupported) as refused:
            broken(argument())
        assert refused.value.reason.id == name
    capture.reset()
    capture.compile(found["mended"], backend="eager", fullgraph=True)(argument())


def test_every_reason_has_an_example():
    assert set(SECTIONS) == set(REASONS)
