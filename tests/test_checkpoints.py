"""Checkpoints around and inside of captured code: gradients against eager."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils import checkpoint as checkpoints
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import capture

Program = Callable[[nn.Sequential, torch.Tensor], Any]


def layers() -> nn.Sequential:
    """Layers of one size: only the values show a saved tensor that is mistaken for another one."""
    torch.manual_seed(0)
    return nn.Sequential(*[nn.Linear(4, 4) for _ in range(4)])


def normalised() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh())


def in_sequence(model: nn.Sequential, x: torch.Tensor) -> torch.Tensor:
    return checkpoint_sequential(model, 2, x, use_reentrant=False)


def each(model: nn.Sequential, x: torch.Tensor) -> torch.Tensor:
    for layer in model:
        x = checkpoint(layer, x.sin(), use_reentrant=False)
    return x


def with_debug(model: nn.Sequential, x: torch.Tensor) -> torch.Tensor:
    return checkpoint(model, x, use_reentrant=False, debug=False, determinism_check="none")


def dropped(model: nn.Sequential, x: torch.Tensor) -> torch.Tensor:
    return checkpoint(lambda a: F.dropout(model(a)), x, use_reentrant=False) * torch.rand(4)


def keep_products(context: Any, operator: Any, *args: Any, **kwargs: Any) -> checkpoints.CheckpointPolicy:
    kept = operator == torch.ops.aten.addmm.default
    return checkpoints.CheckpointPolicy.MUST_SAVE if kept else checkpoints.CheckpointPolicy.PREFER_RECOMPUTE


def selective(model: nn.Sequential, x: torch.Tensor) -> torch.Tensor:
    contexts = partial(checkpoints.create_selective_checkpoint_contexts, keep_products)
    return checkpoint(model, x, use_reentrant=False, context_fn=contexts)


def selective_by_list(model: nn.Sequential, x: torch.Tensor) -> torch.Tensor:
    contexts = partial(checkpoints.create_selective_checkpoint_contexts, [torch.ops.aten.addmm.default])
    return checkpoint(model, x, use_reentrant=False, context_fn=contexts)


def outcome(function: Program, make: Callable[[], nn.Sequential]) -> Any:
    model, x = make(), torch.linspace(-1, 1, 12).view(3, 4).requires_grad_()
    torch.manual_seed(1)
    out = function(model, x)
    out.square().sum().backward()
    return out.detach(), x.grad, [p.grad for p in model.parameters()], list(model.buffers()), torch.rand(2)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("make", [layers, normalised])
@pytest.mark.parametrize("program", [in_sequence, each, with_debug, dropped, selective, selective_by_list])
def test_as_eager(program: Program, make: Callable[[], nn.Sequential], backend: str) -> None:
    expected = outcome(program, make)
    fast = capture.compile(program, backend=backend)
    for _ in range(3):
        torch.testing.assert_close(outcome(fast, make), expected)


@pytest.mark.parametrize("program", [each, with_debug, dropped, selective, selective_by_list])
def test_in_one_graph(program: Program) -> None:
    outcome(capture.compile(program, fullgraph=True), layers)


def test_checkpoint_around_captured_code() -> None:
    model, x = layers(), torch.linspace(-1, 1, 12).view(3, 4)
    fast = capture.compile(lambda a: model(a.sin()).tanh())
    gradients = []
    for function in (lambda a: model(a.sin()).tanh(), fast, fast):
        given = x.clone().requires_grad_()
        checkpoint(function, given, use_reentrant=False).sum().backward()
        fast(given).sum()  # compiled at the second time
        gradients.append(given.grad)
    torch.testing.assert_close(gradients[1], gradients[0])
    torch.testing.assert_close(gradients[2], gradients[0])


@pytest.mark.parametrize("first", ["checkpoint(fast, x, use_reentrant=False)", "forbidden(fast, x)"])
def test_first_captured_function_of_a_process(first: str, tmp_path: Path) -> None:
    """The search for the layout of tensors makes tensors. Hooks of the program don't see them, and may be
    forbidden.
    """
    program = f"""
import torch, capture
from torch.utils.checkpoint import checkpoint
def forbidden(function, x):
    with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
        function(x.detach().requires_grad_()).sum().backward()
        return function(x)
capture.config.raise_on_error = True
fast = capture.compile(lambda x: (x * 2).tanh() * x)
x = torch.ones(3, requires_grad=True)
{first}.sum().backward()
"""
    environment = {**os.environ, "CAPTURE_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def test_effects_in_a_checkpoint_come_once_more_with_the_backward() -> None:
    def program(x: torch.Tensor) -> Any:
        calls = []

        def body(a: torch.Tensor) -> torch.Tensor:
            calls.append(1)
            return a.sin()

        return checkpoint(body, x, use_reentrant=False), calls

    for function in (program, capture.compile(program)):
        out, calls = function(torch.ones(3, requires_grad=True))
        out.sum().backward()
        assert len(calls) == 2
