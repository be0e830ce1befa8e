"""What a node of the GraphDef gives, as far as the import knows it.

In:  results of operators.
Out: `Tensor`: known when the graph runs. `Constant`: known now. `Sizes`: numbers for sizes and axes.

TensorFlow computes sizes with tensors: Shape, StridedSlice, Pack, Reshape. Here they stay Python numbers
(`Sizes`), so that no graph depends on the values of tensors.
"""

from __future__ import annotations

import torch
from torch import fx

from capture_records import dataclass


@dataclass(frozen=True)
class Tensor:
    node: fx.Node


@dataclass(frozen=True, eq=False)
class Constant:
    tensor: torch.Tensor
    name: str  # of the node that it comes from


@dataclass(frozen=True)
class Sizes:
    """`node` is an int (rank 0) or a list of ints (rank 1) when the graph runs.

    tensor: the same numbers as a tensor of `dtype`, if there is a better way than from `node`.
    """

    node: fx.Node
    rank: int
    dtype: torch.dtype
    tensor: fx.Node | None = None


Value = Tensor | Constant | Sizes
