"""Guards of a trace are sentences: without addresses, names of ours, or objects told by their size alone."""

from __future__ import annotations

import contextvars
import datetime
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import capture

SCALE = contextvars.ContextVar("SCALE", default=3)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Dropout(0.1)])
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


def stack_item(x: torch.Tensor) -> torch.Tensor:
    return x * SCALE.get()


def comparison(x: torch.Tensor, day: datetime.date) -> torch.Tensor:
    return x * (1 if day > datetime.date(2020, 1, 1) else 2)


def called(x: torch.Tensor, function: Callable[[Any], Any]) -> Any:
    return function(x)


def keyed(x: torch.Tensor, table: dict[Any, Any]) -> Any:
    return sum(x * value for value in table.values())


X = torch.ones(4, 3)
PROGRAMS = {
    "module": (Net(), X),
    "stack item": (stack_item, X),
    "comparison": (comparison, X, datetime.date(2024, 1, 1)),
    "closure": (called, X, (lambda k: lambda x: x * k)(2)),
    "bound method": (called, X, Net().forward),
    "keys": (keyed, X, {(1, 2): 1, "a": torch.ones(1), Net: 2, 3.5: 1}),
}
#: an address, a large number from one, a name of ours, the default text of an object, a container by its size
NOT_TOLD = re.compile(r"0x[0-9a-f]{6}|\d{9}|___|object at|of length \d")


def guard_texts(folder: Path, function: Any, *args: Any) -> list[str]:
    capture.reset()
    with capture.config.patch(disk_cache=False), capture.trace(folder):
        capture.compile(function, backend="eager")(*args)
    (path,) = folder.glob("trace-*.jsonl")
    events = map(json.loads, path.read_text().splitlines())
    return [guard["text"] for event in events if event["event"] == "guards" for guard in event["guards"]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_guards_are_sentences(name: str, tmp_path: Path) -> None:
    texts = guard_texts(tmp_path, *PROGRAMS[name])
    assert texts and not [text for text in texts if NOT_TOLD.search(text)]


def test_what_was_on_the_stack_and_whose_globals(tmp_path: Path) -> None:
    assert "stack item 1 == 3" in guard_texts(tmp_path / "stack", stack_item, X)
    texts = guard_texts(tmp_path / "module", Net(), X)
    assert any(
        text.endswith("is the globals of torch.nn.modules.dropout")
        and text.startswith("type(self.layers._modules['1'])")
        for text in texts
    )
