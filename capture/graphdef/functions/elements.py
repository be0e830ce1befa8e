"""Operators on single elements that are not quite torch's.

In:  tensors.
Out: tensors.
"""

from __future__ import annotations

import torch


def sign(x: torch.Tensor) -> torch.Tensor:
    """NaN stays NaN; torch has 0."""
    return torch.where(x != x, x, torch.sign(x))


def floor_div(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The quotient is rounded first and then taken down; torch takes down the exact one, as Python does."""
    if x.dtype.is_floating_point:
        return torch.floor(x / y)
    return torch.floor_divide(x, y)
