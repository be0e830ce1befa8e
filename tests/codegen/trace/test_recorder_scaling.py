"""The work of the recorder for a change of layout does not grow with the graph."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from codegen.fake.fake import FakeMode
from codegen.trace import recorder
from codegen.trace.trace import trace


def visits(layers: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many values are looked at for so many transpositions in place."""
    seen = 0
    with_twin = recorder.with_twin

    def counted(*args: Any) -> Any:
        nonlocal seen
        seen += 1
        return with_twin(*args)

    class Layers(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(layers):
                x = (x * 2).t_()
            return x

    with monkeypatch.context() as patch, torch.no_grad():
        patch.setattr(recorder, "with_twin", counted)
        trace(torch.fx.symbolic_trace(Layers()), [torch.randn(8, 8)], FakeMode())
    return seen


def test_a_change_of_layout_visits_its_own_values(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = visits(4, monkeypatch), visits(16, monkeypatch)
    assert 0 < few and many == 4 * few
