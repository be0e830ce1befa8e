"""Functions that share their code are told apart where a rule knows one of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import capture

X, Y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 3.0, 2.0])
METHODS = [getattr(torch.Tensor, name) for name in ("__rpow__", "__rsub__", "__rmod__", "__rfloordiv__")]


def applied(method: Callable[..., Any], x: torch.Tensor, y: torch.Tensor) -> Any:
    return method(x, y)


def test_methods_of_tensors() -> None:
    assert len({method.__code__ for method in METHODS}) == 1
    compiled = capture.compile(applied)
    for method in [*METHODS, *METHODS]:
        torch.testing.assert_close(compiled(method, X, Y), method(X, Y))


def test_methods_of_tensors_from_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegen.stored.compile_graph.enabled", True)
    with capture.config.patch(cache_dir=str(tmp_path), store_entries=True):
        for loaded in (0, 1):
            for method in METHODS:
                capture.reset()
                torch.testing.assert_close(capture.compile(applied)(method, X, Y), method(X, Y))
                assert capture.counters["entries"]["loaded"] == loaded
