"""Sizes and ints that change between calls: programs, their calls, and the number of graphs.

    @calls(rows(2, 3, 5), graphs=1)
    def doubled(x): return x * 2

`rows(...)` makes matrices of width 4 with that many rows. `dynamic=True` is the default here; None is
automatic. `ops`: nodes of all graphs together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass
class DynamicCase:
    function: Callable[..., Any]
    calls: list[tuple[Any, ...]]
    graphs: int | None
    ops: int | None
    dynamic: bool | None


CASES: list[DynamicCase] = []


def calls(
    arguments: list[tuple[Any, ...]],
    graphs: int | None = 1,
    ops: int | None = None,
    dynamic: bool | None = True,
) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        CASES.append(DynamicCase(function, arguments, graphs, ops, dynamic))
        return function

    return register


def tensor(*shape: int) -> torch.Tensor:
    return torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape) / 7


def rows(*counts: int) -> list[tuple[Any, ...]]:
    return [(tensor(n, 4),) for n in counts]


def with_int(*values: Any) -> list[tuple[Any, ...]]:
    return [(tensor(3, 4), n) for n in values]
