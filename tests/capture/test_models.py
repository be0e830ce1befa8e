"""Whole models: forward and training step as in eager mode, graph counts as in the golden table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

import capture
from capture.report.config import config
from capture.report.counters import counters
from tests.capture.models import MODELS

GOLDEN = Path(__file__).parent / "golden" / "models.txt"
NAMES = list(MODELS)


def made(name: str) -> tuple[torch.nn.Module, tuple[Any, ...]]:
    if name.startswith("transformers_"):
        pytest.importorskip("transformers")
    torch.manual_seed(0)
    model, args = MODELS[name]()
    return model.train(), args


def result_of(value: Any) -> torch.Tensor:
    """The tensor from which a loss is made."""
    if isinstance(value, torch.Tensor):
        return value
    return (
        value[0]
        if isinstance(value, tuple)
        else next(v for v in value.values() if isinstance(v, torch.Tensor))
    )


def inference(model: torch.nn.Module, args: tuple[Any, ...]) -> list[torch.Tensor]:
    with torch.no_grad():
        torch.manual_seed(1)
        return [result_of(model.eval()(*args)), torch.rand(1)]


def training_step(model: torch.nn.Module, args: tuple[Any, ...]) -> list[torch.Tensor]:
    torch.manual_seed(1)
    loss = result_of(model(*args)).square().mean()
    loss.backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    return [loss.detach(), *grads, *model.buffers(), torch.rand(1)]


def forward(model: torch.nn.Module, args: tuple[Any, ...]) -> Any:
    return model(*args)


def captured(run: Any, name: str, backend: str) -> Any:
    model, args = made(name)
    capture.reset()
    counters.clear()
    with capture.enable(backend=backend), config.patch(raise_on_error=True):
        return run(model, args)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("run", [inference, training_step])
def test_same_as_eager(name: str, run: Any) -> None:
    expected = run(*made(name))
    for one, two in zip(captured(run, name, "eager"), expected, strict=True):
        # modelling code may ask is_compiling() and take another branch
        torch.testing.assert_close(one, two, rtol=1e-6, atol=1e-8)


@pytest.mark.sweep
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("run", [inference, training_step])
def test_native(name: str, run: Any) -> None:
    expected = run(*made(name))
    for one, two in zip(captured(run, name, "llvm"), expected, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-4)
    assert counters["graphs"]["failed_calls"] == 0, (
        "a native graph refused its arguments: Python ran the frame"
    )


@pytest.mark.parametrize("name", NAMES)
def test_graph_counts(name: str) -> None:
    """The graphs of a forward pass in training mode: a row of the golden table. CAPTURE_UPDATE_GOLDEN=1
    writes a new row.
    """
    captured(forward, name, "eager")
    graphs = counters["graphs"]
    row = f"{name}: {graphs['compiled']} graphs, {graphs['calls_captured']} operations"
    rows = dict(line.split(":", 1) for line in GOLDEN.read_text().splitlines()) if GOLDEN.exists() else {}
    if os.environ.get("CAPTURE_UPDATE_GOLDEN"):
        rows[name] = row.split(":", 1)[1]
        GOLDEN.write_text("".join(f"{key}:{rows[key]}\n" for key in NAMES if key in rows))
    assert row == f"{name}:{rows.get(name)}"


def test_graph_counts_where_torch_compile_was_used() -> None:
    """torch.compile wraps `nn.Module.__init__` for the rest of the process; a slice of a ModuleList is a
    module that the frame makes.
    """
    import torch._dynamo.mutation_guard as mutation_guard

    class Sliced(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers[:2]:
                x = layer(x)
            return x

    mutation_guard.install_generation_tagging_init()
    model, x = Sliced(), torch.randn(2, 4)
    expected = model(x)
    capture.reset()
    counters.clear()
    with capture.enable(backend="eager", fullgraph=True):
        result = forward(model, (x,))
    assert torch.equal(result, expected)
    assert counters["graphs"] == {"compiled": 1, "calls_captured": 2}
