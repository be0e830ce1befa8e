"""A graph of primitives as text.

In:  the module that `primitive_graph` makes.
Out: a line for each call, with the type of its result.

    scale(x: f16[3])
      convert_element_type = prims.convert_element_type(x, torch.float32)  # f32[3]
      mul = prims.mul(convert_element_type, 2.0)  # f32[3]
      ...
"""

from __future__ import annotations

import operator

from torch import fx
from torch._ops import OpOverload


def text_of(module: fx.GraphModule, name: str) -> str:
    """The calls of the module, and the operators that stay calls."""
    nodes = list(module.graph.nodes)
    arguments = ", ".join(f"{node.name}: {node.meta['type']}" for node in nodes if node.op == "placeholder")
    lines = [f"{name}({arguments})"]
    lines += [f"  {line_of(node)}" for node in nodes if node.op in ("get_attr", "call_function")]
    lines.append(f"  return {module.graph.output_node().args[0]}")
    lines += [f"no primitives for {name}: {why}" for name, why in module.meta["kept"].items()]
    return "\n".join(lines)


def line_of(node: fx.Node) -> str:
    if node.op == "get_attr":
        call = f"self.{node.target}"
    elif node.target is operator.getitem:
        call = f"{node.args[0]}[{node.args[1]}]"
    else:
        given = [str(value) for value in node.args]
        given += [f"{name}={value}" for name, value in node.kwargs.items()]
        name = (
            str(node.target)
            if isinstance(node.target, OpOverload)
            else node._pretty_print_target(node.target)
        )
        call = f"{name.removesuffix('.default')}({', '.join(given)})"
    kind = f"  # {node.meta['type']}" if "type" in node.meta else ""
    return f"{node.name} = {call}{kind}"
