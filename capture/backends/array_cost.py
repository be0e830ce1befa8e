"""Estimates whether a graph of NumPy code is faster than its Python code.

In:  the captured graph; its sizes are numbers.
Out: False if the arrays are so few and so small that NumPy takes less time than the conversions to tensors
     and back.

    np.sin(a) * b + 1      4 elements:      1.3 us in NumPy,    3.5 us as a graph
                           10000 elements:   85 us in NumPy,     18 us as a graph

The constants are microseconds, rounded from timings on one x86-64 machine.
"""

from __future__ import annotations

import torch
from torch import fx
from torch.utils._pytree import tree_leaves

from capture.graph import numpy_functions

GRAPH, INPUT, OUTPUT = 2.0, 0.45, 0.5
CALLS = {"operator": 0.5, "method": 1.0, "attribute": 0.1, "function": 2.0}
UFUNC = 0.4
IN_PYTHON = 3.0  # a function that NumPy implements in Python
SIMPLE_ELEMENT, ELEMENT = 0.0003, 0.006  # one machine instruction; a function of the math library
NAMES_IN_PYTHON = frozenset(["mean", "std", "var", "ptp", "clip", "round", "average", "median", "around"])
UFUNCS = frozenset(numpy_functions.ELEMENTWISE.split())
SIMPLE = """abs absolute add bitwise_and bitwise_not bitwise_or bitwise_xor equal fabs greater greater_equal
    less less_equal maximum minimum multiply negative not_equal positive square subtract"""
NOT_SIMPLE = (UFUNCS - frozenset(SIMPLE.split())) | {"pow", "mod", "truediv", "floordiv"}


def is_worth_running(captured: fx.Graph) -> bool:
    """Whether the graph is faster. Always True if it has any other operation than NumPy's."""
    numpy = 0.0
    graph = GRAPH
    for node in captured.nodes:
        if node.op == "placeholder":
            graph += INPUT
        elif node.op == "output":
            graph += OUTPUT * len(tree_leaves(node.args))
        else:
            operation = numpy_functions.operation_of(node.target)
            if operation is None:
                return True
            numpy += cost(*operation, elements(node))
    return numpy > graph


def cost(kind: str, name: str, count: int) -> float:
    """NumPy's time for one operation on `count` elements."""
    element = ELEMENT if name in NOT_SIMPLE else SIMPLE_ELEMENT
    if name in NAMES_IN_PYTHON:
        call = IN_PYTHON
    else:
        call = UFUNC if kind == "function" and name in UFUNCS else CALLS[kind]
    return call + element * count


def elements(node: fx.Node) -> int:
    """The number of elements of the largest array that the operation reads or makes."""
    values = tree_leaves([n.meta.get("example_value") for n in (node, *node.all_input_nodes)])
    return max((v.numel() for v in values if isinstance(v, torch.Tensor)), default=1)
