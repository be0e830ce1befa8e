"""The first step of a training, which finds nothing yet: no gradients, and no state of the optimizer.

In:  a frame whose capture meets a parameter without a gradient, or an optimizer without state.
Out: `FirstStep`, if the frame looks like one step of many: Python runs this call, and the next is captured.

    zero_grad(); loss.backward(); step()   ->   the first call in Python, one capture at the second call

From the second call on, gradients and state exist. What is captured at the first call never fits again, and
half of the time that all captures take would be lost. A frame whose loop may turn over steps may be called
once, so it is captured at once; a loop over parameters within a step is none. So is a frame that has waited,
and whatever has to be captured at its first call.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING

import torch

from cache.code_table import CodeTable
from capture.policy.patience import comprehensions, has_to_pay
from capture.report.retry import FirstStep

if TYPE_CHECKING:
    from capture.policy.settings import CaptureSettings
    from capture.variables.core.protocols import Interpreter

_TORCH = os.path.dirname(torch.__file__) + os.sep
STEPS = frozenset({"backward", "step"})  # of a tensor, an optimizer, or what stands for them


class FirstSteps:
    """The code objects whose frames have waited."""

    def __init__(self) -> None:
        self.waited: CodeTable[bool] = CodeTable()
        _all.add(self)

    def may_wait(self, code: CodeType, settings: CaptureSettings) -> bool:
        """Whether a capture of this code may wait for the next call. What is hot has run before."""
        at_first_call = settings.fullgraph or settings.tag is not None or settings.backend_name != "llvm"
        return not at_first_call and code not in self.waited and not has_to_pay()

    def wait(self, code: CodeType) -> None:
        self.waited[code] = True


_all: weakref.WeakSet[FirstSteps] = weakref.WeakSet()


def forget_all() -> None:
    """Let every frame wait again."""
    for steps in list(_all):
        steps.waited.clear()


def check(tx: Interpreter, finds_nothing: Callable[[], bool]) -> None:
    """Raises FirstStep if the frame may wait and finds nothing yet.

    Loops over parameters in functions of torch are part of a step.
    """
    if not tx.output.may_wait or not finds_nothing():
        return
    frames = [frame for frame in tx.chain() if not _is_of_torch(frame.code)]
    if any(_is_of_step(frame.code) for frame in frames) and not any(map(_turns_over_steps, frames)):
        raise FirstStep


def _turns_over_steps(frame: Interpreter) -> bool:
    """Whether a loop of the frame is around its present instruction, or asks for gradients or uses them."""
    present = frame.current.index
    for jump in frame.instructions:
        if jump.target is not None and jump.target <= jump.index:
            names = (instruction.value for instruction in frame.instructions[jump.target : jump.index])
            if jump.target <= present <= jump.index or any(type(n) is str and n in STEPS for n in names):
                return True
    return any(map(_is_of_step, comprehensions(frame.code)))


def _is_of_step(code: CodeType) -> bool:
    """Whether the function itself asks for gradients or uses them. One that only moves a model to a device,
    or clears its gradients, may call all of a training next.
    """
    return not STEPS.isdisjoint(code.co_names)


def _is_of_torch(code: CodeType) -> bool:
    return code.co_filename.startswith(_TORCH)
