"""Whether the result of a graph is a multiple of its first input.

In:  the graph of a hook on a gradient.
Out: True where the hook of a sum is surely the sum of the hooks.

    lambda g: g * mask / 2   ->   True          lambda g: g.clamp(-1, 1)   ->   False
"""

from __future__ import annotations

import operator

import torch
import torch.fx

BOTH = (operator.add, operator.sub, torch.add, torch.sub, "add", "sub")
EITHER = (operator.mul, torch.mul, "mul")
FIRST = (operator.truediv, torch.div, "div", operator.neg, torch.neg, "neg", "clone", "contiguous")


def is_linear_in_first_input(graph: torch.fx.Graph) -> bool:
    first = next((node for node in graph.nodes if node.op == "placeholder"), None)
    linear = {first}
    for node in graph.nodes:
        depends = [argument in linear for argument in node.args]
        if node.op == "output":
            results = node.args[0] if isinstance(node.args[0], (tuple, list)) else node.args
            return all(result is None or result in linear for result in results)
        if not linear.isdisjoint(node.all_input_nodes):
            if not _is_linear(node.target, depends, bool(node.kwargs)):
                return False
            linear.add(node)
    return False


def _is_linear(target: object, depends: list[bool], has_options: bool) -> bool:
    """`depends`: which arguments are multiples of the first input."""
    if has_options:
        return False
    if target in BOTH:
        return all(depends)
    if target in EITHER:
        return sum(depends) == 1
    return target in FIRST and depends[0] and not any(depends[1:])
