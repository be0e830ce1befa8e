"""Whether a handler of the program (`__torch_function__`, or a mode) may see an operation.

In:  the arguments of the operation.
Out: if so, `capture/variables/tensors/torch_function_overrides.py` calls the handlers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from capture.variables.core.class_lookup import MISSING, lookup_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from capture.variables.core.base import Variable
    from capture.variables.core.protocols import Output

HANDLER = "__torch_function__"
DISABLED = torch._C._disabled_torch_function_impl


def overrides(cls: type) -> bool:
    """Whether torch passes operations on instances of the class to the class."""
    found = lookup_type(cls, HANDLER)
    return found is not MISSING and found is not DISABLED


def is_enabled() -> bool:
    return torch._C._is_torch_function_enabled()


def concerns(output: Output, args: Iterable[Variable], kwargs: dict[str, Variable]) -> bool:
    """Whether a handler may see the operation at present.

    That is a mode, or an argument or part of one that defines its own operations.
    """
    if output.modes.function_modes and not torch._C._is_torch_function_all_disabled():
        return True
    return any(a.is_overriding() for a in args) or any(a.is_overriding() for a in kwargs.values())
