"""What many equal modules have in common is asked and guarded once, not once for each of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn

import capture
from capture.interpret.guarding import Guarding
from guards.kinds.containers import LengthGuard
from guards.sources import ConstantSource


def made_by_a_capture(layers: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many guards on the hooks of all modules are made, and how often the source of a class."""
    made: Counter[str] = Counter()
    of, class_source = LengthGuard.of, Guarding.class_source

    def counted_of(source: Any, value: Any) -> LengthGuard:
        made["hooks"] += isinstance(source, ConstantSource)
        return of(source, value)

    def counted_source(guarding: Guarding, variable: Any) -> Any:
        made["sources"] += 1
        return class_source(guarding, variable)

    model = nn.Sequential(*(nn.ReLU() for _ in range(layers)))
    x = torch.arange(-3.0, 3.0)
    with monkeypatch.context() as patch:
        patch.setattr(LengthGuard, "of", staticmethod(counted_of))
        patch.setattr(Guarding, "class_source", counted_source)
        assert torch.equal(capture.compile(model, backend="eager")(x), x.relu())
    return made


def test_facts_about_all_modules_and_their_class(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (made_by_a_capture(layers, monkeypatch) for layers in (3, 12))
    assert many["hooks"] == few["hooks"] > 0
    assert many["sources"] - few["sources"] <= 12 - 3  # one for each module more, not one for each fact


def test_a_hook_of_all_modules_is_still_noticed() -> None:
    model = capture.compile(nn.Sequential(nn.ReLU(), nn.ReLU()), backend="eager")
    x, seen = torch.arange(-3.0, 3.0), []
    model(x)
    handle = nn.modules.module.register_module_forward_hook(lambda *call: seen.append(type(call[0])))
    try:
        model(x)
    finally:
        handle.remove()
    assert seen.count(nn.ReLU) == 2
