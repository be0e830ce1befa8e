"""A compiled forward and backward as one differentiable callable.

In:  what a joint graph says of its outputs (`Joint`), the compiled forward, the segments of the backward.
Out: `TrainingGraph`: it takes the graph's placeholders and returns a tuple whose tensors have gradients.

    loss, = graph(x, w);  loss.backward()   ->   forward kernels now, backward kernels when autograd asks

Each call makes a node of autograd's graph for each part of the backward (`segment_backward.py`), built by
`_capture.TrainingFunction`. Values are saved as in eager, so eager's rules hold: a saved tensor that was
written raises, a second backward without retain_graph raises, hooks run. Outputs that are inputs or views are
made outside the function, where autograd can see them; the same holds for differentiable writes to inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

try:
    import _capture
except ImportError:
    _capture = None

from codegen.autograd.python_nodes import Segment, nodes_in_python
from codegen.autograd.replay import Replay, Views
from codegen.kernel.wrapper import GraphWrapper
from codegen.launch.compiled import CompiledGraph


class Sizes(Protocol):
    """How many arguments the forward takes, how many of its values are results, and how many views its edges
    count (`partition.Parts`).
    """

    @property
    def input_count(self) -> int: ...

    @property
    def result_count(self) -> int: ...

    @property
    def view_count(self) -> int: ...


#: what the outputs of a module are: `Joint.outputs`, `Joint.writes` (`joint_graph.py`)
Outputs = Sequence[Any]
Writes = Sequence[tuple[int, int]]


class TrainingGraph:
    """`forward` is a CompiledGraph; `segments` are the parts of the backward."""

    fails_unchanged = True

    def __init__(
        self,
        outputs: Outputs,
        writes: Writes,
        parts: Sizes,
        forward: CompiledGraph,
        segments: Sequence[Segment],
        fallback: Callable[..., Any],
        lifted: Sequence[torch.Tensor] = (),
        views: Sequence[Replay] = (),
    ) -> None:
        self.views = list(views)
        self.parts = parts
        self.segments = segments
        self.lifted = tuple(lifted)
        self.outputs = list(outputs)
        self.forward = forward
        self.fallback = fallback
        self.function = make_function(parts, forward, segments, self.views if parts.view_count else ())
        self.writes = writes
        self.direct = not self.writes and all(kind == ("result", i) for i, kind in enumerate(self.outputs))

    @property
    def direct_call(self) -> Callable[..., tuple[Any, ...]]:
        """The fastest way to call the graph: it skips this object where that has nothing to add.

        It raises _capture.CheckFailed where a check in a kernel fails. Nothing has been written then, and the
        caller runs the program eagerly.
        """
        function: Callable[..., tuple[Any, ...]] = self.function
        return function if self.direct and not self.lifted else self

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
            write(args[place], results[result])
        if self.parts.view_count:
            return outputs_of(self.outputs, args, results, results[self.parts.result_count :])
        return outputs_of(self.outputs, args, results, Views(self.views, args, results).all())

    # --- texts of the code that is compiled by now

    def parts_compiled(self) -> list[CompiledGraph]:
        return [self.forward, *(graph for segment in self.segments for graph in segment.compiled())]

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


def outputs_of(
    kinds: Outputs, args: tuple[Any, ...], results: tuple[Any, ...], views: Sequence[torch.Tensor]
) -> tuple[Any, ...]:
    sources = {"input": args, "result": results, "view": views}
    return tuple(index if source == "constant" else sources[source][index] for source, index in kinds)


def write(target: torch.Tensor, result: torch.Tensor) -> None:
    """Writes an input that has no gradient of its own; then gradients of the target are the result's.

    Other results are made of the same value: so they lead to the target, as in eager.
    """
    with torch.set_grad_enabled(not _capture.take_place(target, result)):
        target.copy_(result)


class UnderGradMode(GraphWrapper):
    """A training graph that is called without grad mode; its module switches the mode on."""

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        with torch.enable_grad():
            results: tuple[Any, ...] = self.graph(*args)
            return results


class ViewsGraph:
    """A graph whose outputs that require grad are views of its inputs.

    Their backward needs no compiled code. `forward` computes the other outputs; the views are made where
    autograd sees them.
    """

    def __init__(
        self,
        outputs: Outputs,
        forward: CompiledGraph,
        views: Sequence[Replay],
        fallback: Callable[..., Any],
        lifted: Sequence[torch.Tensor] = (),
    ) -> None:
        self.lifted = tuple(lifted)
        self.outputs = list(outputs)
        self.views = list(views)
        self.forward = forward
        self.fallback = fallback

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        args += self.lifted
        try:
            results = self.forward(*args)
        except _capture.CheckFailed:
            return self.fallback(*args)
        return outputs_of(self.outputs, args, results, Views(self.views, args, results).all())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.forward, name)


def make_function(
    parts: Sizes, forward: CompiledGraph, segments: Sequence[Segment], views: Sequence[Replay]
) -> Any:
    """The graph's forward as a function that autograd knows.

    Its nodes are built natively; where this is not possible, `wrap` builds them. `views`: they are results,
    too, because nodes lead to some of them.
    """
    return _capture.TrainingFunction(
        forward,
        nodes_in_python(parts.result_count, segments, views),
        tuple(segment.form.native(segment) for segment in segments),
        arguments=parts.input_count,
        results=parts.result_count,
        views=len(views),
    )
