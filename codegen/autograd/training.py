"""A compiled forward and backward as one differentiable callable.

In:  `Joint` and its `Parts`.
Out: `TrainingGraph`: it takes the graph's placeholders and returns a tuple whose tensors have gradients.

    loss, = graph(x, w);  loss.backward()   ->   forward kernels now, backward kernels when autograd asks

Each call makes one node of autograd's graph, built by `_capture.TrainingFunction`. The backward is compiled
when it is first needed. Values are saved as in eager, so eager's rules hold: a saved tensor that was written
raises, a second backward without retain_graph raises, hooks run. Outputs that are inputs or views are made
outside the function, where autograd can see them; the same holds for differentiable writes to inputs.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

try:
    import _capture
except ImportError:
    _capture = None

from codegen.autograd.derivatives import DerivativeRecipe, NextOrder, backward_for, call_by_call, zeros_for
from codegen.autograd.joint_graph import Joint, Replay
from codegen.autograd.partial_backward import Kept, Partial, Tangents
from codegen.autograd.partition import Parts
from codegen.launch.compiled import CompiledGraph, assemble, unwatched

COMBINATIONS = 8  # most sets of sent tangents for which a backward is compiled


class TrainingGraph:
    """`forward` and `backward` are CompiledGraphs; `backward` is None until the first gradient is needed."""

    def __init__(
        self,
        joint: Joint,
        parts: Parts,
        recipe: DerivativeRecipe,
        forward: CompiledGraph,
        backward: Callable[[fx.Graph], CompiledGraph],
        fallback: Callable[..., Any],
        kernels: bool = True,
    ) -> None:
        self.parts = parts
        self.next = NextOrder(recipe, (), kernels)
        self.lifted = tuple(joint.trace.lifted)
        self.make_backward = backward
        self.partials: dict[int, Partial] = {}
        self.compiled_partials: dict[int, CompiledGraph] = {}
        self.outputs = list(joint.outputs)
        self.forward = forward
        self.fallback = fallback
        self.lock = threading.Lock()
        self.function = make_function(self)
        self.writes = joint.writes
        self.direct = not self.writes and all(kind == ("result", i) for i, kind in enumerate(self.outputs))
        #: the fastest way to call the graph: it skips this object where that has nothing to add. It raises
        #: _capture.CheckFailed where a check in a kernel fails. Nothing has been written then, and the caller
        #: runs the program eagerly.
        self.direct_call = self.function if self.direct and not self.lifted else self

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        if self.lifted:
            args += self.lifted
        try:
            results = self.function(*args)
        except _capture.CheckFailed:
            return self.fallback(*args)
        if self.direct:
            return results
        for place, result in self.writes:
            args[place].copy_(results[result])
        return tuple(self.output(kind, args, results) for kind in self.outputs)

    @staticmethod
    def output(kind: Any, args: tuple[Any, ...], results: tuple[Any, ...]) -> Any:
        if isinstance(kind, Replay):
            return kind.run(args[kind.base] if kind.from_input else results[kind.base])
        source, index = kind
        if source == "constant":
            return index
        return args[index] if source == "input" else results[index]

    @functools.cached_property
    def eager_backward(self) -> fx.Graph:
        """The backward, for calls operator by operator."""
        return self.backward_in_numbers()

    def backward_in_numbers(self) -> fx.Graph:
        return self.parts.backward

    @functools.cached_property
    def tangent_layouts(self) -> list[tuple[torch.Size, torch.dtype]]:
        tangents = [n.meta["val"] for n in self.parts.backward.nodes if n.name.startswith("tangent_")]
        return [(self.shape_in_numbers(tangent.shape), tangent.dtype) for tangent in tangents]

    def shape_in_numbers(self, shape: torch.Size) -> torch.Size:
        return shape

    @property
    def backward(self) -> CompiledGraph | None:
        compiled: CompiledGraph | None = self.function.backward
        return compiled

    def compiled_backward(self, tangents: Sequence[torch.Tensor]) -> CompiledGraph:
        with self.lock:
            if self.function.backward is None:
                self.function.backward = self.make_backward(self.backward_for(tangents))
            return self.function.backward

    def backward_for(self, tangents: Sequence[torch.Tensor]) -> fx.Graph:
        """The first tangents decide the strides that it is compiled for; others are copied into these."""
        return backward_for(self.next.recipe, tangents)

    def run_backward(
        self, saved: tuple[Any, ...], tangents: Sequence[Any], edges: Sequence[torch.Tensor]
    ) -> tuple[Any, ...]:
        """The gradients of all inputs.

        Autograd comes here the first time, under create_graph, where tangents are missing (None), and where
        they are not plain tensors. `edges`: under create_graph, tensors that stand for the places of the
        wanted inputs in autograd's graph.
        """
        sent = sum(1 << number for number, tangent in enumerate(tangents) if tangent is not None)
        if any(value is None for value in saved):
            return self.run_partial(sent, saved, tangents)
        if sent != self.tangents.all:
            self.tell_sources()
            tangents = zeros_for(tangents, self.tangent_layouts)
        if not all(map(_capture.is_plain, tangents)):
            return self.without_source(call_by_call(self.eager_backward, (*saved, *tangents)), sent)
        with torch.no_grad():
            grads = self.compiled_backward(tangents)(*saved, *tangents)
        if not torch.is_grad_enabled():
            return self.without_source(grads, sent)
        wanted = self.parts.wanted
        joined = dict(zip(wanted, self.next.join([grads[i] for i in wanted], saved, tangents, edges)))
        grads = tuple(joined.get(i) for i in range(self.parts.input_count))
        return self.without_source(grads, sent)

    def run_partial(self, sent: int, saved: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
        """The gradients that come from some of the results, after a backward from other results.

        The values that only the earlier backward needed are freed (None).
        """
        partial = self.partial(sent)
        given = partial.arguments(saved, tangents)
        if all(map(_capture.is_plain, given)) and not torch.is_grad_enabled():
            graph = self.compiled_partial(sent, partial)
            if graph is not None:
                grads: tuple[Any, ...] = graph(*given)
                return grads
        return call_by_call(partial.graph, given)

    def partial(self, sent: int) -> Partial:
        with self.lock:
            if sent not in self.partials:
                with unwatched():
                    tangents = Tangents(self.eager_backward, len(self.parts.differentiable))
                    self.partials[sent] = Partial(tangents, sent)
            return self.partials[sent]

    def compiled_partial(self, sent: int, partial: Partial) -> CompiledGraph | None:
        """The compiled backward for these tangents; None (operator by operator) after many combinations."""
        with self.lock:
            if sent not in self.compiled_partials and len(self.compiled_partials) < COMBINATIONS:
                self.compiled_partials[sent] = self.make_backward(partial.graph)
            return self.compiled_partials.get(sent)

    def tell_sources(self) -> None:
        """From now on nodes fill in the tangents that are missing."""
        with self.lock:
            if not self.function.sources and self.tangents.count <= 64:
                self.function.sources = tuple(self.sources)

    @functools.cached_property
    def sources(self) -> list[int]:
        """For each gradient, the tangents that it is computed from."""
        results: Any = self.parts.backward.output_node().args[0]
        return [self.tangents.of[node] if isinstance(node, fx.Node) else 0 for node in results]

    @property
    def tangents(self) -> Tangents:
        return self.parts.tangents

    def masks(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """`_capture.TrainingFunction` needs these before the first backward from only some of the results."""
        return self.tangents.conflicts, self.tangents.needs

    def without_source(self, grads: Sequence[Any], sent: int) -> tuple[Any, ...]:
        """None, as in eager, for an input whose gradient would come only from results without a gradient."""
        return tuple(
            None if sources and not sources & sent else grad
            for grad, sources in zip(grads, self.sources, strict=True)
        )

    # --- texts of the code that is compiled by now

    def parts_compiled(self) -> list[CompiledGraph]:
        whole = [] if self.backward is None else [self.backward]
        return [self.forward, *whole, *self.compiled_partials.values()]

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
    """A graph whose outputs that require grad are views of its inputs.

    Their backward needs no compiled code. `forward` computes the other outputs; the views are made where
    autograd sees them.
    """

    def __init__(
        self, joint: Joint, graph: fx.Graph, store: Any, fallback: Callable[..., Any], kernels: bool = True
    ) -> None:
        self.lifted = tuple(joint.trace.lifted)
        self.outputs = list(joint.outputs)
        self.forward = assemble(graph, store=store, kernels=kernels, changes=joint.trace.changes)
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


def make_function(graph: TrainingGraph) -> Any:
    """The graph's forward as a function that autograd knows.

    Its nodes are built natively; where this is not possible, `wrap` builds them.
    """
    parts = graph.parts
    return _capture.TrainingFunction(
        graph.forward,
        in_python(graph),
        graph.run_backward,
        graph.masks,
        arguments=parts.input_count,
        results=parts.result_count,
        differentiable=tuple(parts.differentiable),
        saved_arguments=tuple(parts.saved_inputs),
        saved_results=tuple(parts.saved_results),
        wanted=tuple(parts.wanted),
    )


def in_python(graph: TrainingGraph) -> Callable[..., tuple[Any, ...]]:
    """A function that makes the values of the forward a node of `torch.autograd.Function`.

    It maps (all values of the forward, *arguments) to the results. It skips `torch.autograd.Function.apply`,
    whose checks are for functorch: graphs are not called under functorch's transforms.
    """
    parts = graph.parts
    count = parts.result_count
    silent = [i for i in range(count) if i not in parts.differentiable]

    @functools.cache
    def apply() -> Callable[..., tuple[Any, ...]]:
        class CapturedGraph(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, given: tuple[Any, ...], *args: Any) -> Any:
                ctx.save_for_backward(
                    *[args[i] for i in parts.saved_inputs], *[given[i] for i in parts.saved_results]
                )
                ctx.set_materialize_grads(False)
                ctx.edges = [_capture.edge_to(args[i]) for i in parts.wanted]
                ctx.mark_non_differentiable(*[given[i] for i in silent])
                ctx.kept = Kept(graph.tangents)
                return given[:count]

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                tangents = [grads[i] for i in parts.differentiable]
                saved = ctx.kept.saved(ctx, tangents)
                return None, *graph.run_backward(saved, tangents, ctx.edges)

        made: Callable[..., tuple[Any, ...]] = super(torch.autograd.Function, CapturedGraph).apply
        return made

    return lambda given, *args: apply()(given, *args)
