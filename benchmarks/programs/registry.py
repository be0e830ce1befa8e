"""The table of programs.

In:  `@program(steps=60)` on a function `run(tick, steps)`.
Out: `PROGRAMS`: name -> Program. Importing `benchmarks.programs.all_programs` fills it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

Tick = Callable[..., None]


@dataclass(frozen=True)
class Program:
    """`run(tick, steps)` calls `tick(loss)` `steps` times, and returns the tensors that it has trained.

    `tick(loss, n)`: the step had n turns of a loop that ends where the results say so. A rounding decides
    then how long it is, so steps are compared by the time of a turn.

    optimizers: it makes some.
    """

    name: str
    run: Callable[[Tick, int], Iterable[torch.Tensor]]
    steps: int
    optimizers: bool


PROGRAMS: dict[str, Program] = {}


def program(steps: int, optimizers: bool = True) -> Callable[[Any], Any]:
    def register(run: Any) -> Any:
        PROGRAMS[run.__name__] = Program(run.__name__, run, steps, optimizers)
        return run

    return register
