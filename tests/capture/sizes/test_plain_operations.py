"""Operations without symbols, in a frame that has some, run as in a frame that has none."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture
from capture.report.config import config
from capture.sizes.likely import LikelySizes


@pytest.fixture
def environments(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """For each operation the environment of symbols in which it ran."""
    found: list[Any] = []
    run = LikelySizes.propagate

    def noted(self: LikelySizes, env: Any, *rest: Any) -> Any:
        found.append(env)
        return run(self, env, *rest)

    monkeypatch.setattr(LikelySizes, "propagate", noted)
    return found


def f(x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
    pair = torch.cat([weight, weight])
    left, right = torch.split(pair, 4)
    return x[1:] * 2, torch.zeros(x.shape[0], 4) + left, right.mul(2)


def test_only_operations_with_symbols_have_their_environment(environments: list[Any]) -> None:
    fast, weight = capture.compile(f), torch.randn(4)
    fast(torch.randn(5), weight)
    environments.clear()
    for size in (7, 9):
        x = torch.randn(size)
        for found, wanted in zip(fast(x, weight), f(x, weight), strict=True):
            torch.testing.assert_close(found, wanted)
    assert [env is not None for env in environments] == [False, False, True, True, True, True, False]


def test_an_operation_that_may_make_symbols_has_the_environment(environments: list[Any]) -> None:
    def chosen(x: torch.Tensor) -> torch.Tensor:
        return (x[x > 0] * 2).sum()

    with config.patch(capture_dynamic_output_shape_ops=True):
        fast = capture.compile(chosen, fullgraph=True)
        for x in (torch.randn(9), torch.ones(3), -torch.ones(3)):
            torch.testing.assert_close(fast(x), chosen(x))
    assert environments[-1] is not None
