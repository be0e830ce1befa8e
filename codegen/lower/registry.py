"""The table of lowerings: from an ATen overload to the function that builds its definition.

In:  the arguments of the fx node, tensors as `TensorExpr`, sizes as `Index`.
Out: a `TensorExpr`, a tuple of them, or `NotImplemented`: then an ExternStep calls the operator.

    @lowering(aten.t.default)
    def transpose(ctx, base): ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from codegen.kernel.families import Table
from codegen.lower import contents

Lowered = Callable[..., Any]
_Function = TypeVar("_Function", bound=Lowered)

LOWERINGS: Table[Lowered] = Table(contents, "LOWERINGS")


def lowering(*overloads: Any) -> Callable[[_Function], _Function]:
    """Registers a function `f(ctx, *args, **kwargs)` for these overloads; one overload has one lowering."""

    def register(function: _Function) -> _Function:
        for overload in overloads:
            LOWERINGS[overload] = function
        return function

    return register
