"""Modes of torch's dispatcher that a capture has entered and not left.

In:  a block that enters such modes; none is on outside of it.
Out: none is on behind it either.

Functions of Python leave a mode. Where these fail (there is no memory, the stack is full), the mode stays on,
and each operation of the program would give a tensor without data.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _python_dispatch

#: torch keeps in variables of this module what kinds of modes are on
_ABOUT_MODES = "_is_in_"


@contextlib.contextmanager
def all_left() -> Iterator[None]:
    flags = _flags()
    only_lifts = torch._C._only_lift_cpu_tensors()
    try:
        yield
    finally:
        while torch._C._len_torch_dispatch_stack():
            torch._C._pop_torch_dispatch_stack(None)
        vars(_python_dispatch).update(flags)
        torch._C._set_only_lift_cpu_tensors(only_lifts)


def _flags() -> dict[str, Any]:
    return {name: value for name, value in vars(_python_dispatch).items() if name.startswith(_ABOUT_MODES)}
