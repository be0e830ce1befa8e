"""The steps of optimizers, captured where that pays.

In:  a region; an optimizer, or lists, tuples and dicts with optimizers, as Lightning's `configure_optimizers`
     returns them.
Out: each optimizer has a `step` that runs in the region.

    capture_steps(region, {"optimizer": adam, "lr_scheduler": scheduler})    ->    adam.step() is captured

A step is a block of code, not a function that the user asks to capture: the closure that it gets may run a
whole training step with all the bookkeeping of a library.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.hooks.regions import Region


def capture_steps(region: Region, made: Any) -> None:
    if isinstance(made, torch.optim.Optimizer):
        made.step = _captured_step(region, made)  # type: ignore[method-assign]
    elif isinstance(made, dict):
        capture_steps(region, list(made.values()))
    elif isinstance(made, (list, tuple)):
        for part in made:
            capture_steps(region, part)


def _captured_step(region: Region, optimizer: torch.optim.Optimizer) -> Any:
    """A bound method: a scheduler that is made later takes its function."""
    step = optimizer.step
    function: Callable[..., Any] = getattr(step, "__func__", step)
    is_bound = function is not step

    @functools.wraps(function)
    def captured(self: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> Any:
        with region:
            return function(self, *args, **kwargs) if is_bound else function(*args, **kwargs)

    return types.MethodType(captured, optimizer)
