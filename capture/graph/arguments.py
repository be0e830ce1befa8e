"""Arguments of graph nodes that the text of a graph can't name, as plain values.

In:  the arguments of a node, and the result of its call on fake tensors.
Out: the same arguments, with Python numbers for numbers such as `np.int64(2)`, and with dtypes of torch for
     `int` and `float`.

    x / np.sqrt(4)                   ->   truediv(x, 2.0)
    torch.tensor(np.int8(1))         ->   torch.tensor(1, dtype=torch.int8)
    torch.tensor(0, dtype=int)       ->   torch.tensor(0, dtype=torch.int64)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.fx.node import map_aggregate

DTYPES: dict[Any, torch.dtype] = {
    bool: torch.bool,
    int: torch.int64,
    float: torch.float64,
    complex: torch.complex128,
}
TENSOR_TYPE: Any = type(torch.FloatTensor)
CONTAINERS = (tuple, list, dict, slice)
#: The dtype of their result is the dtype of the numbers.
CONSTRUCTORS = (torch.tensor, torch.as_tensor, torch.asarray)


def are_foreign(values: Any) -> bool:
    """Whether one of the values has to be replaced."""
    return any(
        isinstance(value, (np.generic, type, TENSOR_TYPE)) or (type(value) in CONTAINERS and _inside(value))
        for value in values
    )


def _inside(value: Any) -> bool:
    if type(value) is slice:
        return are_foreign((value.start, value.stop, value.step))
    return are_foreign(value.values() if type(value) is dict else value)


def as_plain(target: Any, args: Any, kwargs: dict[str, Any], result: Any) -> tuple[Any, dict[str, Any]]:
    plain, keywords = map_aggregate((args, kwargs), _plain)
    if target in CONSTRUCTORS and isinstance(result, torch.Tensor):
        keywords = {**keywords, "dtype": result.dtype}
    return plain, keywords


def _plain(value: Any) -> Any:
    if isinstance(value, TENSOR_TYPE):
        return value.dtype
    if isinstance(value, type):
        return DTYPES.get(value, value)
    return value.item() if isinstance(value, np.generic) else value
