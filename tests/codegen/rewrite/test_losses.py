"""Losses of targets with another dtype: values, gradients and errors are eager's."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture

pytest.importorskip("_capture")

LOSSES = (F.huber_loss, F.smooth_l1_loss, F.mse_loss, F.l1_loss, F.soft_margin_loss, F.kl_div)


def outcome(loss: Any, x: torch.Tensor, target: torch.Tensor, reduction: str) -> list[Any]:
    """The loss and its gradient, or the error of the step that raises."""
    x, found = x.clone().requires_grad_(), []
    try:
        found.append(loss(x, target, reduction=reduction))
        found[0].sum().backward()
    except RuntimeError as error:
        return [*found, str(error)]
    return [*found, x.grad]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float16], ids=str)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_targets_of_other_dtypes(loss: Any, dtype: torch.dtype, dynamic: bool) -> None:
    for size, reduction in ((12, "mean"), (70_000, "none")):
        x = torch.linspace(0.1, 0.9, size)
        target = (torch.linspace(0, 2, size).round() % 2).to(dtype)
        compiled = capture.compile(loss, dynamic=dynamic)
        expected, found = (outcome(f, x, target, reduction) for f in (loss, compiled))
        for ours, theirs in zip(found, expected, strict=True):
            if isinstance(theirs, str):
                assert ours == theirs
            else:
                torch.testing.assert_close(ours, theirs, equal_nan=True)
