"""Symbolic sizes as plain data.

In:  a captured graph whose placeholders have symbols of its ints for sizes (`meta["example_value"]`).
Out: `layouts_data`: for each placeholder its symbol, or its sizes and strides. `with_examples`: such symbols
     on another module with these nodes. `number`: the value of an expression.

    x[s0, 4 * s0]   ->   {"shape": ["s0", ["Mul", 4, "s0"]], "strides": [["Mul", 4, "s0"], 1]}
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx

from codegen.kernel.size_functions import FUNCTIONS
from codegen.stored.names import Malformed, NotStored

#: functions whose values are sizes
ARITHMETIC = ("Add", "Mul", "FloorDiv", "CleanDiv", "Mod", "PythonMod", "Max", "Min")
POWER = "Pow"


def expression_data(number: Any) -> Any:
    """The form of a size: an int, the name of a symbol, or a function with its arguments."""
    return data_of(number.node.expr) if isinstance(number, torch.SymInt) else number


def data_of(expression: Any) -> Any:
    if expression.is_Symbol:
        return str(expression.name)
    if expression.is_Integer:
        return int(expression)
    name = type(expression).__name__
    if name in ARITHMETIC or (
        name == POWER and expression.args[1].is_Integer and int(expression.args[1]) > 0
    ):
        return [name, *map(data_of, expression.args)]
    raise NotStored(f"a size that is a {name}")


def number(data: Any, sizes: Mapping[str, int]) -> int:
    """The value of an expression. Raises Malformed."""
    if type(data) is int:
        return data
    if type(data) is str and data in sizes:
        return sizes[data]
    if type(data) is not list or data[0] not in (*ARITHMETIC, POWER):
        raise Malformed(f"no size: {data!r:.80}")
    name, *arguments = data
    values = [number(each, sizes) for each in arguments]
    found: int = math.prod(values[:1] * values[1]) if name == POWER else FUNCTIONS[name](*values)
    return found


def layouts_data(gm: fx.GraphModule) -> list[Any]:
    """Raises NotStored."""
    examples = [node.meta.get("example_value") for node in gm.graph.nodes if node.op == "placeholder"]
    return [layout_data(example) for example in examples]


def layout_data(example: Any) -> Any:
    if isinstance(example, torch.SymInt):
        return {"int": expression_data(example), "positive": bool(example.node.expr.is_positive)}
    if isinstance(example, torch.Tensor) and example._has_symbolic_sizes_strides:
        shape, strides = list(example.shape), list(example.stride())
        return {"shape": list(map(expression_data, shape)), "strides": list(map(expression_data, strides))}
    return None


# --- symbols again ----------------------------------------------------------------------------------------


def with_examples(module: fx.GraphModule, layouts: Sequence[Any], inputs: Sequence[Any]) -> fx.GraphModule:
    """The module, whose placeholders have examples of these layouts. `inputs`: tensors, and present ints."""
    from codegen.stored.examples import Examples  # lazy: imports sympy

    places = [node for node in module.graph.nodes if node.op == "placeholder"]
    examples = Examples(layouts, inputs)
    for node, layout, value in zip(places, layouts, inputs, strict=True):
        node.meta["example_value"] = examples.of(layout, value)
    return module
