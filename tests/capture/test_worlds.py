"""Worlds that change between two calls: a capture in the old world must not answer in the new one."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest
import torch

import capture
from capture.process import other_tracers
from capture.report.config import config
from capture.report.counters import counters
from tests.capture.worlds import (
    basics,
    classes,
    flow,
    iterators,
    language,
    memory,
    modules,
    process,
    surgery,
    tensors,
    tracers,
    training,
)
from tests.capture.worlds.registry import WORLDS, World

MODULES = (
    basics,
    classes,
    flow,
    iterators,
    language,
    memory,
    modules,
    process,
    surgery,
    tensors,
    tracers,
    training,
)


def reset_process_state() -> None:
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    torch.set_autocast_enabled("cpu", False)
    for name in [name for name in os.environ if name.startswith("ZZ_")]:
        del os.environ[name]
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def same(left: Any, right: Any, rtol: float = 0) -> bool:
    """`rtol`: what native code may round in another way than eager."""
    if isinstance(left, torch.Tensor):
        if left.dtype != right.dtype or left.shape != right.shape or left.stride() != right.stride():
            return False
        if left.requires_grad != right.requires_grad:
            return False
        return torch.equal(left, right) or torch.allclose(left, right, rtol, rtol / 10, equal_nan=True)
    if isinstance(left, np.ndarray):
        alike = left.dtype == right.dtype and left.flags.writeable == right.flags.writeable
        return alike and left.strides == right.strides and np.array_equal(left, right)
    if isinstance(left, (tuple, list)):
        return (
            type(left).__name__ == type(right).__name__
            and len(left) == len(right)
            and all(same(one, two, rtol) for one, two in zip(left, right))
        )
    if isinstance(left, type):
        return left.__name__ == right.__name__
    return type(left).__name__ == type(right).__name__ and (left == right or left is right or left != left)


def two_calls(made: Any, backend: str | None) -> list[Any]:
    """The results of two calls before the change and of two behind it. `backend` None: not captured."""
    function, change = made

    def call() -> Any:
        if backend is None:
            return function()
        with capture.enable(backend=backend):
            return function()

    try:
        results = [call(), call()]
        change()
        return [*results, call(), call()]
    finally:
        getattr(function, "restore", lambda: None)()
        reset_process_state()


def compare(changing: World, backend: str, rtol: float) -> None:
    reset_process_state()
    expected = two_calls(changing.make(), None)
    capture.reset()
    with config.patch(raise_on_error=True):
        found = two_calls(changing.make(), backend)
    for one, two in zip(expected, found):
        assert same(one, two, rtol), (one, two)


@pytest.mark.parametrize("changing", WORLDS, ids=lambda w: w.name)
def test_world(changing: World) -> None:
    compare(changing, "eager", 0)


@pytest.mark.sweep
@pytest.mark.parametrize("changing", [w for w in WORLDS if w.natively], ids=lambda w: w.name)
def test_world_of_native_code(changing: World) -> None:
    compare(changing, "llvm", 1e-4)


def test_forward_mode_differentiation_is_left_to_python() -> None:
    def square(x):
        return x * x + 1

    with config.patch(raise_on_error=True), capture.enable():
        square(torch.ones(3))  # captured outside of any level: the entry must not answer inside of one
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(torch.full((3,), 3.0), torch.ones(3))
            tangent = torch.autograd.forward_ad.unpack_dual(square(dual)).tangent
    assert torch.equal(tangent, torch.full((3,), 6.0))


def test_frames_below_torch_compile_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def double(x):
        return x * 2

    monkeypatch.setattr(other_tracers, "callback_of_torch_compile", lambda: object())
    before = counters["frames"]["captured"]
    with config.patch(raise_on_error=True), capture.enable(backend="eager"):
        assert torch.equal(double(torch.ones(3)), torch.full((3,), 2.0))
        assert counters["frames"]["captured"] == before
        monkeypatch.undo()
        double(torch.ones(3))
    assert counters["frames"]["captured"] == before + 1


def test_view_made_without_grad_mode() -> None:
    """It reports requires_grad, as its base does; one capture serves all calls."""

    def product(view: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return x @ view + 1

    weight = torch.nn.Parameter(torch.randn(3, 4))
    run = capture.compile(product, backend="eager")
    counters.clear()
    with torch.no_grad(), config.patch(raise_on_error=True):
        view, x = weight.t(), torch.randn(2, 4)
        for _ in range(2):
            assert torch.equal(run(view, x), product(view, x))
    assert counters["graphs"]["compiled"] == 1


def test_method_that_the_program_gave_to_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    def use(x):
        return x.zz_scaled() + 1

    monkeypatch.setattr(torch.Tensor, "zz_scaled", lambda t: t * 2, raising=False)
    run = capture.compile(use)
    with config.patch(raise_on_error=True):
        assert torch.equal(run(torch.ones(3)), torch.full((3,), 3.0))
        monkeypatch.setattr(torch.Tensor, "zz_scaled", lambda t: t * 3)
        assert torch.equal(run(torch.ones(3)), torch.full((3,), 4.0))
