"""Stances: a temporary behaviour of compiled functions; errors in place of recompilations."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture
from capture.report.config import config
from tests.capture.test_cases import Counting


@pytest.fixture(autouse=True)
def fresh() -> Any:
    capture.reset()
    yield
    capture.set_stance("default")
    capture.reset()


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def compiled() -> tuple[Any, Counting]:
    backend = Counting()
    fast = capture.compile(doubled, backend=backend, dynamic=False)
    fast(torch.ones(3))
    assert backend.graphs == 1
    return fast, backend


def test_force_eager() -> None:
    ran = []

    def backend(module: Any, inputs: Any) -> Any:
        return lambda *args: ran.append(1) or module(*args)

    fast = capture.compile(doubled, backend=backend)
    fast(torch.ones(3))
    with capture.set_stance("force_eager"):
        assert torch.equal(fast(torch.ones(3)), torch.full((3,), 2.0))
        with capture.enable(backend):
            doubled(torch.ones(3))
    assert len(ran) == 1
    fast(torch.ones(3))
    assert len(ran) == 2


def test_eager_on_recompile() -> None:
    fast, backend = compiled()
    with capture.set_stance("eager_on_recompile"):
        assert torch.equal(fast(torch.ones(4)), torch.full((4,), 2.0))
        assert torch.equal(
            capture.compile(lambda x: x * 3, backend=backend)(torch.ones(2)), torch.full((2,), 3.0)
        )
    assert backend.graphs == 2
    fast(torch.ones(4))
    assert backend.graphs == 3


def test_fail_on_recompile() -> None:
    fast, backend = compiled()
    capture.set_stance("fail_on_recompile")
    assert torch.equal(fast(torch.ones(3)), torch.full((3,), 2.0))
    with pytest.raises(
        capture.RecompileError, match=r"doubled .*test_stance.py:.*was \[x.size\(0\) == 3\]|float32\[3\]"
    ):
        fast(torch.ones(4))
    assert backend.graphs == 1


def test_as_a_decorator() -> None:
    fast, _ = compiled()

    @capture.set_stance("fail_on_recompile")
    def strict(x: torch.Tensor) -> torch.Tensor:
        return fast(x)

    with pytest.raises(capture.RecompileError):
        strict(torch.ones(4))
    assert fast(torch.ones(4)).shape == (4,)


def test_error_on_recompile() -> None:
    fast, _ = compiled()
    with config.patch(error_on_recompile=True), pytest.raises(capture.RecompileError):
        fast(torch.ones(4))


def test_unknown_stance() -> None:
    with pytest.raises(capture.UsageError, match="did you mean 'force_eager'"):
        capture.set_stance("force_eagre")
