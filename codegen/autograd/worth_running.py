"""Is a graph worth running in place of the Python that it was captured from?

In:  what `compile_fx` gave, the graph that the program was captured in, how many bytecode instructions led to
     it.
Out: False where it has no kernel, so that it calls the same operators as eager would, and Python spends less
     on calling them.

    x.view(4, 3)     1.0 us in eager, 1.6 us as a graph       x[1:, ::2]     two views in eager (2.4 us), one
        as a graph (1.7 us)

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
from codegen.kernel.program import ExternStep, KernelStep, ViewStep
from codegen.launch.compiled import CompiledGraph, EagerGraph
from codegen.launch.direct_calls import callable_of, is_direct

INSTRUCTION = 0.025  # of bytecode
OPERATION = 0.9  # a torch function that eager calls and the graph does not
GUARDS = 0.25  # finding the entry
VIEW = 1.2  # made from a plan
CALL = 0.3  # of an operator, from a plan: arguments, checks of the results
DIRECT_CALL = -0.2  # by an entry point: Python's call goes through autograd's kernels too
EAGER_GRAPH = 1.0  # a graph that is run operator by operator
VIEWS_GRAPH, VIEW_BY_AUTOGRAD = 1.5, 2.0


def is_worth_running(graph: Any, captured: fx.Graph, instructions: int) -> bool:
    """`captured` is what `compile_fx` made `graph` of."""
    own = cost(graph)
    if own is None or any(map(is_not_of_torch, captured.nodes)):
        return True
    operations = sum(node.op.startswith("call_") and not is_part_of_result(node) for node in captured.nodes)
    left_out = max(0, operations - len(graph.extern_calls))
    return own + GUARDS < OPERATION * left_out + INSTRUCTION * instructions


def is_not_of_torch(node: fx.Node) -> bool:
    """A loop, a branch or a function of capture's own, which is not what Python would call."""
    target = node.target
    made = isinstance(target, types.FunctionType) and not (target.__module__ or "").startswith("torch")
    return made or node.op in ("call_module", "get_attr")


def is_part_of_result(node: fx.Node) -> bool:
    """An item of the tuple that an operator gave."""
    base = node.args[0] if node.target is operator.getitem else None
    return isinstance(base, fx.Node) and not isinstance(base.meta.get("example_value"), torch.Tensor)


def cost(graph: Any) -> float | None:
    """On top of its operators; None where it has something of its own to run."""
    if isinstance(graph, ViewsGraph):
        inner = cost(graph.forward)
        return None if inner is None else inner + VIEWS_GRAPH + VIEW_BY_AUTOGRAD * len(graph.outputs)
    if isinstance(graph, EagerGraph):
        return EAGER_GRAPH
    if not isinstance(graph, CompiledGraph) or graph.native_calls:
        return None
    steps = graph.program.steps
    if any(isinstance(step, KernelStep) for step in steps):
        return None
    calls = [callable_of(step.op) for step in steps if isinstance(step, ExternStep)]
    views = sum(isinstance(step, ViewStep) for step in steps)
    return VIEW * views + sum(DIRECT_CALL if is_direct(call) else CALL for call in calls)
