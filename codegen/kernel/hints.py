"""What a number is at present, where it may be a symbol.

In:  an int, float or bool, or a symbol of one.
Out: its present value; no condition says that it stays so. So it is for choices that only cost time.

    hint_of(4), hint_of(s0)   ->   4, 7    while s0 is 7
"""

from __future__ import annotations

from typing import Any

import torch

SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


def hint_of(number: Any) -> Any:
    """None: it has no value yet."""
    return number.node._hint if isinstance(number, SYMBOLIC) else number


def are_numbers(*values: Any) -> bool:
    """Whether none is a symbol."""
    return not any(isinstance(value, SYMBOLIC) for value in values)
