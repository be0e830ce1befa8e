"""Cases: small programs with the number of graphs and operations that their capture gives.

    @case(graphs=1, ops=2)
    def chained(x): return (x + 1) * 2

A case is called as `function(x)` with a 3x4 tensor `x`, or with the values that `args` makes. `ops` None: the
number is not checked.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

import capture


@capture.disable
def show(*values: object, **options: Any) -> None:
    """Print, with a graph break."""
    print(*values, **options)


@dataclass
class Case:
    function: Callable[..., Any]
    args: Callable[[], tuple[Any, ...]]
    graphs: int | None
    ops: int | None
    falls_back: bool = False  # a graph raises, and Python runs the frame
    fresh: bool = False  # the arguments can't be copied: each run makes new ones

    def arguments(self) -> Callable[[], tuple[Any, ...]]:
        """Makes equal arguments for each run."""
        if self.fresh:
            return self._made
        args = self.args()
        return lambda: copy.deepcopy(args)

    def _made(self) -> tuple[Any, ...]:
        torch.manual_seed(0)
        return self.args()

    @property
    def name(self) -> str:
        family, module = self.function.__module__.split(".")[-2:]
        return f"{family}.{module}.{self.function.__name__}"


CASES: list[Case] = []


def default_args() -> tuple[Any, ...]:
    torch.manual_seed(0)
    return (torch.randn(3, 4),)


def case(
    graphs: int | None = 1,
    ops: int | None = None,
    args: Callable[[], tuple[Any, ...]] = default_args,
    falls_back: bool = False,
    fresh: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append(Case(function, args, graphs, ops, falls_back, fresh))
        return function

    return register
