"""The locals that no code reads any more, but whose objects have to live to the end of the function.

In:  a local of the frame at a break, and the code written for the break so far.
Out: whether the program may notice the end of the object, by a weak reference or by `__del__`.

    node = Node(); ref = weakref.ref(node); <break>; ref()     ->    the resume function gets `node` too
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from capture.bytecode.liveness import instances_end_noticed
from capture.variables.core.base import LazyVariable, Variable
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.tensors.tensor import TensorVariable
from guards.sources import HEAP_TYPE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from capture.output.python_code import PythonCode


def end_is_noticed(
    variable: Variable, code: PythonCode, stack: Sequence[Variable], ends_turn: bool = False
) -> bool:
    """True for classes of the program and their instances, if the object exists. No code can hold a reference
    to an object that the frame never built. True also for a tensor on the stack at the break: what Python
    calls with it may keep a weak reference.

    `ends_turn`: tensors of which the turn has read nothing are as those that it has made. Else the next turn
    would have another variable wherever one has read it.
    """
    unread = isinstance(variable, LazyVariable) and isinstance(variable.value, torch.Tensor)
    if isinstance(variable, TensorVariable) or (unread and ends_turn):
        return any(item is variable for item in stack)
    held = variable.value if isinstance(variable, LazyVariable) else variable.as_class()
    if isinstance(held, type) and variable.source is not None:  # its bases know it (`__subclasses__`)
        return bool(held.__flags__ & HEAP_TYPE)
    if isinstance(variable, LazyVariable):
        cls: type = type(variable.value)
    elif isinstance(variable, ObjectVariable) and (variable.source is not None or code.has_built(variable)):
        cls = variable.cls
    else:
        return False
    return instances_end_noticed(cls)
