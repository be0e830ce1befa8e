"""Examples with symbolic sizes, as a translation gives them to the placeholders of its graph.

In:  layouts (codegen/stored/layouts.py) and inputs.
Out: `Examples.of(layout, value)`: a SymInt or a fake tensor, all of one environment.

    {"int": "s0"}, 5   ->   SymInt s0 with the hint 5
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.utils._sympy import functions

from codegen.fake.fake import fake_mode
from codegen.fake.size_env import new_size_env
from codegen.fake.symbolic import use_sizes
from codegen.fake.twins import to_fake
from codegen.stored.layouts import number
from codegen.stored.names import Malformed


class Examples:
    def __init__(self, layouts: Sequence[Any], inputs: Sequence[Any]) -> None:
        self.mode, self.env = fake_mode(), new_size_env()
        use_sizes(self.mode, self.env)
        self.symbols: dict[str, Any] = {}
        self.sizes: dict[str, int] = {}
        for layout, value in zip(layouts, inputs, strict=True):
            if type(value) is int and type(layout["int"]) is str and layout["int"] not in self.symbols:
                self._add(layout["int"], layout["positive"], value)

    def _add(self, name: str, positive: bool, value: int) -> None:
        made = self.env.new_size(value, name, duck=False) if positive else self.env.new_int(value, name)
        if not isinstance(made, torch.SymInt):
            raise Malformed(f"a size that is {made}")
        self.symbols[name] = self.env.symbol_of(made)
        self.sizes[name] = value

    def of(self, layout: Any, value: Any) -> Any:
        if type(value) is int:
            return self._number(layout["int"])
        if layout is None:
            return to_fake(self.mode, value)
        shape, strides = (tuple(map(self._number, layout[name])) for name in ("shape", "strides"))
        return to_fake(self.mode, value, (shape, strides))

    def _number(self, data: Any) -> Any:
        return data if type(data) is int else self.env.wrap(self._expression(data), number(data, self.sizes))

    def _expression(self, data: Any) -> Any:
        if type(data) is int:
            return sympy.Integer(data)
        if type(data) is str:
            return self.symbols[data]
        name, *arguments = data
        make = getattr(functions, name, None) or getattr(sympy, name)
        return make(*map(self._expression, arguments))
