"""Decides whether a graph is worth running in place of the Python that it was captured from.

In:  the result of `compile_fx`, the graph in which the program was captured, the number of bytecode
     instructions that led to it.
Out: False where the graph has no kernel, so that it calls the same operators as eager, and Python spends less
     time on calling them.

    x.view(4, 3)     1.0 us in eager, 1.6 us as a graph
    x[1:, ::2]       two views in eager (2.4 us), one as a graph (1.7 us)

The constants are microseconds, rounded from timings of such functions on one x86-64 machine; their ratios
decide.
"""

from __future__ import annotations

import operator
import types
from typing import Any

import torch
from torch import fx

from codegen.autograd.training import ViewsGraph
from codegen.launch.compiled import CompiledGraph, EagerGraph

INSTRUCTION = 0.025  # a bytecode instruction
OPERATION = 0.9  # a torch function that eager calls and the graph does not
GUARDS = 0.25  # to find the entry
VIEW = 1.2  # a view that a plan makes
CALL = 0.3  # a call of an operator from a plan: arguments, checks of the results
DIRECT_CALL = -0.2  # by an entry point: Python's call also passes autograd's kernels
EAGER_GRAPH = 1.0  # a graph that is run operator by operator
VIEWS_GRAPH, VIEW_BY_AUTOGRAD = 1.5, 2.0


def is_worth_running(graph: Any, captured: fx.Graph, instructions: int) -> bool:
    """`compile_fx` made `graph` from `captured`."""
    own = cost(graph)
    if own is None or any(map(is_not_of_torch, captured.nodes)):
        return True
    operations = sum(node.op.startswith("call_") and not is_part_of_result(node) for node in captured.nodes)
    left_out = max(0, operations - len(graph.extern_calls))
    return own + GUARDS < OPERATION * left_out + INSTRUCTION * instructions


def is_not_of_torch(node: fx.Node) -> bool:
    """Whether it is a loop, branch or function of capture itself, which Python would not call."""
    target = node.target
    made = isinstance(target, types.FunctionType) and not (target.__module__ or "").startswith("torch")
    return made or node.op in ("call_module", "get_attr")


def is_part_of_result(node: fx.Node) -> bool:
    """Whether the node is an item of the tuple that an operator returned."""
    base = node.args[0] if node.target is operator.getitem else None
    return isinstance(base, fx.Node) and not isinstance(base.meta.get("example_value"), torch.Tensor)


def cost(graph: Any) -> float | None:
    """The cost on top of the graph's operators; None where the graph has its own code to run."""
    if isinstance(graph, ViewsGraph):
        inner = cost(graph.forward)
        return None if inner is None else inner + VIEWS_GRAPH + VIEW_BY_AUTOGRAD * len(graph.outputs)
    if isinstance(graph, EagerGraph):
        return EAGER_GRAPH
    if not isinstance(graph, CompiledGraph) or graph.native_calls:
        return None
    counts = graph.counts
    if counts.kernels:
        return None
    return VIEW * counts.views + DIRECT_CALL * counts.direct_calls + CALL * counts.other_calls
