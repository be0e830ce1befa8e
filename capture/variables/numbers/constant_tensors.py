"""Numbers of tensors whose values are known: results of `torch.tensor(3)`, and what is computed from these.

In:  a fake tensor, and the name of a method that makes a number of a tensor.
Out: the number as a constant. None if its value is not known, or if torch raises or warns.

    n = torch.tensor(2) + 1; range(n), x if n > 2 else -x    ->    range(3), x
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from capture.variables.core.constant import ConstantVariable
from codegen.fake.known_values import is_still_constant

if TYPE_CHECKING:
    from collections.abc import Callable

#: what the methods make of the only element
CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "item": lambda number: number,
    "__int__": int,
    "__float__": float,
    "__bool__": bool,
    "__index__": lambda number: operator.index(number) if type(number) is int else None,
}


def number_of(fake: Any, method: str) -> ConstantVariable | None:
    convert = CONVERSIONS.get(method)
    constant = getattr(fake, "constant", None)  # tensors of function transforms have none
    if convert is None or constant is None or not is_still_constant(fake) or fake.requires_grad:
        return None
    if constant.numel() != 1:
        return None
    with torch._C._DisableTorchDispatch():
        number = constant.item()
    try:
        converted = convert(number)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if converted is None else ConstantVariable(converted)
