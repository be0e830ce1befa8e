"""Tracing: a graph of torch calls becomes a functional graph of ATen operators.

In:  `fx.GraphModule` at the level of torch calls, and its inputs (real or fake tensors, numbers).
Out: `Trace`: an `fx.Graph` of ATen overloads with `meta["val"]`, what its inputs and outputs are.

    relu(x @ w + b)   ->   mm = aten.mm(x, w); add = aten.add(mm, b); relu = aten.relu(add)

`module_runner.py` calls the module's nodes on fake tensors, `recorder.py` sees every ATen call below them. What
writes in place leave in a graph input is copied there at the end of the graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from codegen.fake.fake import FakeMode
from codegen.fake.twins import to_fake
from codegen.kernel.errors import UntraceableError
from codegen.trace.functionalise import Tracked
from codegen.trace.module_runner import ModuleRunner
from codegen.trace.nodes import as_argument, drop_unused
from codegen.trace.recorder import Recorder

aten = torch.ops.aten


@dataclass(slots=True)
class Trace:
    """`graph` has no output node yet. `inputs` are the fake tensors (or numbers) of the placeholders,
    `lifted` the module's own tensors that were made placeholders after the module's; `outputs` are what the
    module returned.
    """

    recorder: Recorder
    inputs: list[Any]
    lifted: list[torch.Tensor]
    outputs: list[Any]

    @property
    def graph(self) -> fx.Graph:
        return self.recorder.graph

    @property
    def written(self) -> list[Tracked]:
        """Graph inputs whose memory was written."""
        return [
            tracked for tracked in self.recorder.memories.written if tracked.memory.placeholder is not None
        ]

    @property
    def seen_writes(self) -> list[Tracked]:
        """Those of written inputs that require grad by now, in grad mode. (An optimizer writes to parameters
        without.)
        """
        return [
            tracked
            for tracked in self.written
            if tracked.tensor.requires_grad and tracked.memory.written_with_grad
        ]

    @property
    def changes(self) -> dict[str, int]:
        """By the name of a written input, how often eager raises its version."""
        memories = [tracked.memory for tracked in self.written]
        return {memory.placeholder.name: memory.changes for memory in memories if memory.placeholder}

    def check_writes(self) -> None:
        """A written input must not share its memory with another: the trace takes inputs for memories of
        their own.
        """
        if not self.written:
            return
        fakes = [value for value in self.inputs if isinstance(value, torch.Tensor)]
        sharing = Counter(fake.untyped_storage()._cdata for fake in fakes)
        for tracked in self.written:
            if sharing[tracked.tensor.untyped_storage()._cdata] > 1:
                raise UntraceableError("a write to an input that shares its memory with another input")
            if any(
                size > 1 and stride == 0
                for size, stride in zip(tracked.tensor.shape, tracked.tensor.stride())
            ):
                raise UntraceableError("a write to an expanded input")

    def copy_back(self, outside: Sequence[Tracked] = ()) -> None:
        """Append the copies into the inputs that were written, but for those that are copied outside of the
        graph.
        """
        self.check_writes()
        for tracked in self.written:
            if tracked in outside:
                continue
            placeholder = tracked.memory.placeholder
            assert placeholder is not None
            final = self.recorder.memories.current(tracked)
            self.recorder.append(aten.copy_.default, (placeholder, final), {}, placeholder.meta["val"])

    def output_node(self, value: Any, shared: Container[int] = ()) -> Any:
        """The node of an output: the placeholder itself where the output is the input itself, views of the
        placeholder where it is on an input's memory (which by now contains what was written). `shared`:
        memories that several outputs are on.
        """
        if not isinstance(value, torch.Tensor):
            return value
        tracked = self.recorder.find(value)
        placeholder = tracked.memory.placeholder
        if placeholder is None:
            if tracked.memory.version and id(tracked.memory) in shared:
                root = self.recorder.memories.current(tracked.root)
                return self.recorder.memories.rebuild(tracked, root)
            return self.recorder.memories.current(tracked)
        if tracked.view is None and tracked.parent is not None:
            return self.recorder.emit(
                aten.alias.default, (self.recorder.memories.rebuild(tracked, placeholder),), {}
            )
        return self.recorder.memories.rebuild(tracked, placeholder)

    def output_nodes(self, values: Sequence[Any]) -> list[Any]:
        """`y.detach()` is computed by the node of `y`, but it is a tensor of its own."""
        nodes: list[Any] = []
        owners: dict[fx.Node, Any] = {}
        tensors = {id(value): value for value in values if isinstance(value, torch.Tensor)}
        counts = Counter(id(self.recorder.find(value).memory) for value in tensors.values())
        shared = {memory for memory, count in counts.items() if count > 1}
        for value in values:
            node = self.output_node(value, shared)
            if isinstance(node, fx.Node) and owners.setdefault(node, value) is not value:
                node = self.recorder.emit(aten.alias.default, (node,), {})
            nodes.append(node)
        return nodes

    def finish(self, outputs: Sequence[Any]) -> fx.Graph:
        """Close the graph with these outputs (nodes, numbers, None) and drop what nobody uses."""
        self.graph.output(tuple(map(as_argument, outputs)))
        drop_unused(self.graph)
        return self.graph


def trace(module: fx.GraphModule, inputs: Sequence[Any], mode: FakeMode) -> Trace:
    """Run the module's graph on the fake twins of `inputs` and record it. Raises UntraceableError, or what
    the operators raise.
    """
    recorder = Recorder(mode)
    runner = ModuleRunner(module, recorder)
    with mode:
        fakes = [to_fake(mode, value) if isinstance(value, torch.Tensor) else value for value in inputs]
        runner.place(fakes)
        with (
            recorder,
            torch.set_grad_enabled(torch.is_grad_enabled()),
        ):  # the module may switch the mode: only inside
            outputs = runner.run()
        for output in outputs:
            if isinstance(output, torch.Tensor) and (output.is_conj() or output.is_neg()):
                raise UntraceableError("a result that is conjugated or negated by a bit")
        return Trace(recorder, fakes, runner.lifted, outputs)
