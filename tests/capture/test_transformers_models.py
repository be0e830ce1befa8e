"""Architectures of the transformers package: values, gradients and graph counts.

Values and gradients are as in eager mode, graph counts as in the golden table.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

import capture
from capture.report.config import config
from capture.report.counters import counters
from tests.capture.transformers_models import ARCHITECTURES

pytest.importorskip("transformers")
GOLDEN = Path(__file__).parent / "golden" / "transformers_models.txt"
ROWS = dict(line.split(": ", 1) for line in GOLDEN.read_text().splitlines())


def training_step(name: str, backend: str | None) -> list[torch.Tensor]:
    """Output, gradients, and the state of torch's random numbers afterwards."""
    torch.manual_seed(0)
    model, inputs = ARCHITECTURES[name]()
    run: Any = model.train() if backend is None else capture.compile(model.train(), backend=backend)
    torch.manual_seed(1)
    result = run(**inputs)
    loss = result.loss if "loss" in result else result[0].square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters() if p.grad is not None), torch.rand(1)]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_training_step(name: str) -> None:
    expected = training_step(name, None)
    capture.reset()
    counters.clear()
    with config.patch(raise_on_error=True):
        found = training_step(name, "eager")
    graphs = counters["graphs"]
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-7)
    text = f"{graphs['compiled']} graphs, {graphs['calls_captured']} operations"
    if os.environ.get("CAPTURE_UPDATE_GOLDEN"):
        ROWS[name] = text
        GOLDEN.write_text("".join(f"{key}: {ROWS[key]}\n" for key in ARCHITECTURES if key in ROWS))
    assert text == ROWS.get(name)


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["deberta", "xlnet", "fnet", "mixtral", "t5", "segformer"])
def test_native_training_step(name: str) -> None:
    expected = training_step(name, None)
    capture.reset()
    counters.clear()
    with config.patch(raise_on_error=True):
        found = training_step(name, "llvm")
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-4)
    assert counters["graphs"]["failed_calls"] == 0, (
        "a native graph refused its arguments: Python ran the frame"
    )


def test_masks_by_vmap() -> None:
    """A mask function of the library's users looks up padding with zero-dimensional tensors, under a mode
    that keeps them tensors.
    """
    from transformers.masking_utils import and_masks, causal_mask_function, padding_mask_function, sdpa_mask

    def masked(scores: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        function = and_masks(causal_mask_function, padding_mask_function(padding))
        mask = sdpa_mask(2, 5, 5, mask_function=function, allow_is_causal_skip=False, use_vmap=True)
        return scores.masked_fill(~mask, 0.0)

    torch.manual_seed(0)
    scores, padding = torch.randn(2, 3, 5, 5), torch.rand(2, 5) > 0.3
    capture.reset()
    counters.clear()
    found = capture.compile(masked, fullgraph=True)(scores, padding)
    assert torch.equal(found, masked(scores, padding))
    assert counters["graphs"]["compiled"] == 1
