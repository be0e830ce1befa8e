"""Programs that read numbers from tensors, or make tensors whose size depends on values.

A row has the calls, and the number of graphs and operations.

    @reads(masks, ops=7)
    def doubled(x, mask): return x[mask] * 2

Each call gets new arguments. `refused`: the reason under fullgraph=True; `graphs` and `ops` are then those of
the first call without it. `reruns`: the number of calls for which the graph finds out that Python must run
the frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Arguments = Callable[[], list[tuple[Any, ...]]]


@dataclass
class UnbackedCase:
    function: Callable[..., Any]
    calls: Arguments
    graphs: int
    ops: int
    refused: str | None
    reruns: int


CASES: list[UnbackedCase] = []


def reads(
    calls: Arguments, ops: int, graphs: int = 1, refused: str | None = None, reruns: int = 0
) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        CASES.append(UnbackedCase(function, calls, graphs, ops, refused, reruns))
        return function

    return register


def rows() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(8, 4)


def masks() -> list[tuple[Any, ...]]:
    """Masks with 3, 0, 1, 2 and 8 rows of eight."""
    places = torch.arange(8)
    chosen = [places % 3 == 0, places < 0, places == 5, places > 5, places >= 0]
    return [(rows(), mask) for mask in chosen]


def some_masks() -> list[tuple[Any, ...]]:
    """The same with at least two rows."""
    return [call for call in masks() if call[1].sum() > 1]


def ints(*values: int) -> Arguments:
    return lambda: [(rows(), torch.tensor([value])) for value in values]


def floats(*values: float) -> Arguments:
    return lambda: [(rows(), torch.tensor([value])) for value in values]


def bools() -> list[tuple[Any, ...]]:
    return [(rows(), torch.tensor(value)) for value in (True, False)]


def vectors(*values: list[int]) -> Arguments:
    return lambda: [(rows(), torch.tensor(value)) for value in values]
