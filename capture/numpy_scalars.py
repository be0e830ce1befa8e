"""NumPy's numbers as arguments of graph nodes: the plain numbers that torch takes them for.

In:  what a node is about to be called with, and the result of the call on fake tensors.
Out: the same arguments with ints, floats and bools in place of `np.int64` and its kin, which the text of a graph can't name.

    x / np.sqrt(4)   ->   truediv(x, 2.0)          torch.tensor(np.float32(1))   ->   torch.tensor(1.0, dtype=torch.float32)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.fx.node import map_aggregate

CONTAINERS = (tuple, list, dict, slice)
#: their result's dtype is that of the numbers
CONSTRUCTORS = (torch.tensor, torch.as_tensor, torch.asarray)


def is_among(values: Any) -> bool:
    return any(
        isinstance(value, np.generic) or (type(value) in CONTAINERS and _inside(value)) for value in values
    )


def _inside(value: Any) -> bool:
    if type(value) is slice:
        return is_among((value.start, value.stop, value.step))
    return is_among(value.values() if type(value) is dict else value)


def as_numbers(target: Any, args: Any, kwargs: dict[str, Any], result: Any) -> tuple[Any, dict[str, Any]]:
    plain, keywords = map_aggregate((args, kwargs), _number)
    if target in CONSTRUCTORS and isinstance(result, torch.Tensor):
        keywords = {**keywords, "dtype": result.dtype}
    return plain, keywords


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
