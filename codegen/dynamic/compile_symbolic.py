"""Compiles a graph once for many sizes.

In:  a graph some of whose placeholders are ints, and inputs.
Out: `SymbolicGraph`, or `SymbolicTraining` where results have gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from codegen.autograd.joint_graph import Joint, check_sharing, trace_joint
from codegen.dynamic.symbolic_graph import Closed, OpenInputs, SymbolicGraph
from codegen.dynamic.symbolic_training import SymbolicTraining, compile_training
from codegen.fake.fake import mode_of_a_trace
from codegen.kernel.errors import NotSymbolic
from codegen.trace.trace import Trace


def compile_symbolic(
    gm: fx.GraphModule, example_inputs: Sequence[Any], *, store: Any, fallback: Any
) -> SymbolicGraph | SymbolicTraining:
    """Raises NotSymbolic, and the errors of tracing."""
    with mode_of_a_trace() as mode:
        opened = OpenInputs(gm, example_inputs, mode)
        with torch._C._EnablePythonDispatcher():
            joint = trace_joint(gm, opened.fakes, opened.mode)
            check_sharing(joint.trace, example_inputs)
            check_form(joint)
            if joint.is_training:
                return compile_training(gm, example_inputs, joint, opened, store, fallback)
            graph = _finished(joint.trace)
        [result] = opened.graphs([Closed(graph, opened.placeholders)], store)
        result.changes, result.fallback = joint.trace.changes, fallback
        result.views = joint.trace.views()
        return result


def check_form(joint: Joint) -> None:
    if joint.trace.lifted or joint.has_views:
        raise NotSymbolic("views of inputs that require grad, or tensors that the module holds")
    if joint.trace.seen_writes and not joint.is_training:
        raise NotSymbolic("a write that autograd sees")
    if joint.trace.recorder.asked:
        raise NotSymbolic("torch.autograd.grad of inputs")


def _finished(traced: Trace) -> fx.Graph:
    with traced.recorder.mode:
        traced.copy_back()
        return traced.finish(traced.output_nodes(traced.outputs))
