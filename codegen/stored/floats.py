"""Graphs that are compiled for each value of some floats, as plain data.

In:  `ForFloats`: the captured graph, and the places of the floats among the inputs of the graph without their
     arithmetic. (That graph is the `Captured` one; `capture.backends.float_arguments` has made it.)
Out: data, and the same again. The store has a compiled graph for each combination of values beside them.

    ForFloats(module, [2])   ->   {"module": [["placeholder", []], ...], "positions": [2]}
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch import fx

from codegen.stored.modules import module_data, module_of


class ForFloats:
    """`original()` is the captured graph, `module()` the one without arithmetic of floats."""

    stored_key: str | None = None

    def __init__(
        self,
        original: Callable[[], fx.GraphModule],
        module: Callable[[], fx.GraphModule],
        positions: list[int],
    ) -> None:
        self.original = original
        self.module = module
        self.positions = positions


def floats_data(floats: ForFloats, writer: Any, store: Any) -> dict[str, Any]:
    """Raises NotStored."""
    return {"module": module_data(floats.original()), "positions": floats.positions}


def floats_of(data: dict[str, Any], module: Callable[[], fx.GraphModule]) -> ForFloats:
    return ForFloats(functools.partial(module_of, data["module"]), module, list(map(int, data["positions"])))
