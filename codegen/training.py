"""A compiled forward and backward as one differentiable callable.

In:  `Joint` and its `Parts`.
Out: `TrainingGraph`: called with the graph's placeholders, gives a tuple whose tensors have gradients.

    loss, = graph(x, w);  loss.backward()   ->   forward kernels now, backward kernels when autograd asks

One `torch.autograd.Function` a graph. The backward is compiled when it is first needed. Saved values go through `save_for_backward`, so that
eager's rules hold: a saved tensor that was written to since raises, a second backward without retain_graph raises, hooks run.
Outputs that are inputs or views are made outside the function, where autograd can see what they are.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch._C import _functions

try:
    import _capture
except ImportError:
    _capture = None

from codegen.compiled import CompiledGraph, assemble
from codegen.joint_graph import Joint, Replay
from codegen.partition import Parts

DOUBLE_BACKWARD = (
    "a captured graph was differentiated twice; its backward is compiled and has no derivative of its own. Run this part without capture "
    "(capture.disable) to take second derivatives."
)


class TrainingGraph:
    """`forward` and `backward` are CompiledGraphs; `backward` is None until the first gradient is asked for."""

    def __init__(
        self, joint: Joint, parts: Parts, store: Any, fallback: Callable[..., Any], kernels: bool = True
    ) -> None:
        self.parts = parts
        self.lifted = tuple(joint.trace.lifted)
        self.store = store
        self.use_kernels = kernels
        self.outputs = list(joint.outputs)
        self.forward = assemble(parts.forward, store=store, kernels=kernels, silent=joint.trace.silent_inputs)
        self.backward: CompiledGraph | None = None
        self.fallback = fallback
        self.lock = threading.Lock()
        self.function = make_function(self)
        self.direct = all(kind == ("result", i) for i, kind in enumerate(self.outputs))
        #: the quickest way to call the graph: past this object where it has nothing to add. It raises _capture.CheckFailed where a
        #: check in a kernel fails; the caller runs the program eagerly then, nothing has been written.
        self.direct_call = self.function if self.direct and not self.lifted else self
        self.tangent_layouts = [
            (node.meta["val"].shape, node.meta["val"].dtype)
            for node in parts.backward.nodes
            if node.name.startswith("tangent_")
        ]

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        if self.lifted:
            args += self.lifted
        try:
            results = self.function(*args)
        except _capture.CheckFailed:
            return self.fallback(*args)
        if self.direct:
            return results
        return tuple(self.output(kind, args, results) for kind in self.outputs)

    @staticmethod
    def output(kind: Any, args: tuple[Any, ...], results: tuple[Any, ...]) -> Any:
        if isinstance(kind, Replay):
            return kind.run(args[kind.base] if kind.from_input else results[kind.base])
        source, index = kind
        if source == "constant":
            return index
        return args[index] if source == "input" else results[index]

    def compiled_backward(self) -> CompiledGraph:
        with self.lock:
            if self.backward is None:
                self.backward = assemble(
                    self.parts.backward, store=self.store, kernels=self.use_kernels, conform=True
                )
            return self.backward

    def zeros_for(self, grads: list[Any]) -> list[Any]:
        """Zeros in place of the gradients that nobody sent."""
        layouts = self.tangent_layouts
        return [
            torch.zeros(shape, dtype=dtype) if g is None else g for g, (shape, dtype) in zip(grads, layouts)
        ]

    # --- texts, of what is compiled by now

    def parts_compiled(self) -> list[CompiledGraph]:
        return [self.forward] if self.backward is None else [self.forward, self.backward]

    @property
    def kernels(self) -> list[Any]:
        return [kernel for graph in self.parts_compiled() for kernel in graph.kernels]

    @property
    def extern_calls(self) -> list[str]:
        return [call for graph in self.parts_compiled() for call in graph.extern_calls]

    @property
    def loops(self) -> str:
        return "\n".join(graph.loops for graph in self.parts_compiled())

    @property
    def llvm_ir(self) -> str:
        return "\n".join(graph.llvm_ir for graph in self.parts_compiled())

    @property
    def asm(self) -> str:
        return "\n".join(graph.asm for graph in self.parts_compiled())


class ViewsGraph:
    """A graph whose outputs that require grad are views of its inputs: there is nothing to compile for their backward. The others come from
    `forward`, the views are made where autograd sees them."""

    def __init__(
        self, joint: Joint, graph: fx.Graph, store: Any, fallback: Callable[..., Any], kernels: bool = True
    ) -> None:
        self.lifted = tuple(joint.trace.lifted)
        self.outputs = list(joint.outputs)
        self.forward = assemble(graph, store=store, kernels=kernels, silent=joint.trace.silent_inputs)
        self.fallback = fallback

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        args += self.lifted
        try:
            results = self.forward(*args)
        except _capture.CheckFailed:
            return self.fallback(*args)
        return tuple(TrainingGraph.output(kind, args, results) for kind in self.outputs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.forward, name)


def make_function(graph: TrainingGraph) -> Callable[..., tuple[Any, ...]]:
    """The graph's autograd function, as a callable past `torch.autograd.Function.apply` (whose checks for functorch cost half of a small
    graph's time; graphs are not called under functorch transforms)."""
    parts, forward = graph.parts, graph.forward
    count = parts.result_count
    silent = [i for i in range(count) if i not in parts.differentiable]
    all_results_are_outputs = len(forward_outputs(parts)) == count
    saved = values_saver(tuple(parts.saved_inputs), tuple(parts.saved_results))

    class CapturedGraph(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            results = forward(*args)
            ctx.to_save = saved(
                args, results
            )  # what save_for_backward and its like set, without a call for each
            ctx.materialize_grads = False
            if silent:
                ctx.non_differentiable = tuple([results[i] for i in silent])
            return results if all_results_are_outputs else results[:count]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return run_backward(graph, ctx, grads)

    # what autograd calls: at once, not after a search for `backward`
    CapturedGraph._backward_cls.apply = lambda ctx, *grads: run_backward(graph, ctx, grads)  # type: ignore[attr-defined]
    return super(torch.autograd.Function, CapturedGraph).apply


def values_saver(inputs: tuple[int, ...], results: tuple[int, ...]) -> Callable[[Any, Any], tuple[Any, ...]]:
    """A function of (inputs, results) that gives those to save; small cases without a loop."""
    if not results:
        if not inputs:
            return lambda args, _: ()
        if len(inputs) == 1:
            (only,) = inputs
            return lambda args, _: (args[only],)
        pick = operator.itemgetter(*inputs)
        return lambda args, _: pick(args)
    return lambda args, made: (*[args[i] for i in inputs], *[made[i] for i in results])


def forward_outputs(parts: Parts) -> tuple[Any, ...]:
    output = next(node for node in reversed(parts.forward.nodes) if node.op == "output")
    values = output.args[0]
    assert isinstance(values, tuple)
    return values


def run_backward(graph: TrainingGraph, ctx: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    tangents = [grads[i] for i in graph.parts.differentiable]
    if any(tangent is None for tangent in tangents):  # not `None in tangents`: that asks the tensors, 20 us
        tangents = graph.zeros_for(tangents)
    compiled = graph.backward or graph.compiled_backward()
    if not torch.is_grad_enabled():
        return compiled(*ctx.saved_tensors, *tangents)
    with torch.no_grad():
        results = compiled(*ctx.saved_tensors, *tangents)
    return once(results)


def once(results: tuple[Any, ...]) -> tuple[Any, ...]:
    """Gradients that raise when they are differentiated in their turn."""
    tensors = [result.detach().requires_grad_() for result in results if result is not None]
    if not tensors:
        return results
    marked = _functions.DelayedError(DOUBLE_BACKWARD, len(tensors))(*tensors)
    rest = iter((marked,) if isinstance(marked, torch.Tensor) else marked)
    return tuple(None if result is None else next(rest) for result in results)
