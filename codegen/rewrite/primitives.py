"""Primitives in a graph that is compiled: each is the ATen call that torch runs for it.

In:  `torch.ops.prims` as functions of a graph.
Out: their rows in `FUNCTIONS`. Above autograd, so they have the gradients and the lowerings of ATen.

    prims.broadcast_in_dim(x, [3, 4], [1])   ->   x.unsqueeze(0).expand(3, 4)
"""

from __future__ import annotations

from typing import Any

import torch
import torch._prims
from torch._ops import OpOverload

from codegen.rewrite.rows import FUNCTIONS, Body


def convert_element_type(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Always a new tensor. torch's own body is a call of another primitive."""
    return tensor.to(dtype, copy=True)


def aten_bodies() -> dict[OpOverload, Body]:
    """The primitives that torch has as ATen calls."""
    packets: list[Any] = [getattr(torch.ops.prims, name, None) for name in torch._prims.__all__]
    bodies: dict[OpOverload, Body] = {
        packet.default: packet.impl_aten for packet in packets if hasattr(packet, "impl_aten")
    }
    return bodies | {torch.ops.prims.convert_element_type.default: convert_element_type}


FUNCTIONS.update(aten_bodies())
