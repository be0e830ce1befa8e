"""Tracing: a graph of torch calls becomes a functional graph of ATen operators.

In:  `fx.GraphModule` at the level of torch calls, and its inputs (real or fake tensors, numbers).
Out: `Trace`: an `fx.Graph` of ATen overloads with `meta["val"]`, its inputs and its outputs.

    relu(x @ w + b)   ->   mm = aten.mm(x, w); add = aten.add(mm, b); relu = aten.relu(add)

`module_runner.py` calls the module's nodes on fake tensors; `recorder.py` sees every ATen call below them. At
the end of the graph, the written contents of a graph input are copied into it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from typing import Any

import torch
from torch import fx

from capture_records import dataclass
from codegen.fake.fake import FakeMode
from codegen.fake.twins import to_fake
from codegen.kernel.errors import UntraceableError
from codegen.trace.functionalise import Tracked
from codegen.trace.module_runner import ModuleRunner
from codegen.trace.nodes import as_argument, drop_unused
from codegen.trace.recorder import Recorder
from codegen.trace.view_kinds import view_kinds

aten = torch.ops.aten


@dataclass(slots=True)
class Trace:
    """A traced graph; `graph` has no output node yet.

    `inputs` are the fake tensors (or numbers) of the placeholders. `lifted` are the module's own tensors;
    their placeholders come after those of the inputs. `outputs` are the return values of the module.
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
        """The graph inputs whose memory was written."""
        return [
            tracked for tracked in self.recorder.memories.written if tracked.memory.placeholder is not None
        ]

    @property
    def seen_writes(self) -> list[Tracked]:
        """The written inputs that require grad now, in grad mode.

        An optimizer writes to parameters outside of grad mode.
        """
        return [
            tracked
            for tracked in self.written
            if tracked.tensor.requires_grad and tracked.memory.written_with_grad
        ]

    @property
    def changes(self) -> dict[str, int]:
        """Name of a written input -> how often eager raises its version."""
        memories = [tracked.memory for tracked in self.written]
        return {memory.placeholder.name: memory.changes for memory in memories if memory.placeholder}

    def check_writes(self) -> None:
        """Raises where a written input shares its memory: in the trace each input has its own memory."""
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
        """Appends the copies into the written inputs, except the inputs that are copied outside."""
        self.check_writes()
        for tracked in self.written:
            if tracked in outside:
                continue
            placeholder = tracked.memory.placeholder
            assert placeholder is not None
            final = self.recorder.memories.current(tracked)
            self.recorder.append(aten.copy_.default, (placeholder, final), {}, placeholder.meta["val"])

    def output_node(self, value: Any, shared: Container[int] = ()) -> Any:
        """The node of an output.

        It is the placeholder where the output is an input. It is views of the placeholder where the output is
        on the memory of an input, which contains the written values by then. `shared`: memories of several
        outputs.
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
        """The nodes of all outputs. `y.detach()` has the node of `y`, but it is a separate tensor."""
        owners: dict[fx.Node, Any] = {}
        nodes: dict[int, Any] = {}  # by position
        tensors = {id(value): value for value in values if isinstance(value, torch.Tensor)}
        counts = Counter(id(self.recorder.find(value).memory) for value in tensors.values())
        shared = {memory for memory, count in counts.items() if count > 1}
        for place in sorted(range(len(values)), key=lambda place: self.is_view(values[place])):
            node = self.output_node(values[place], shared)
            if isinstance(node, fx.Node) and owners.setdefault(node, values[place]) is not values[place]:
                node = self.recorder.emit(aten.alias.default, (node,), {})
            nodes[place] = node
        return [nodes[place] for place in range(len(values))]

    def is_view(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor) and self.recorder.find(value).parent is not None

    def views(self) -> bytes | None:
        """What each output is in eager, for `views` of a compiled graph; None where all are no views."""
        find = self.recorder.find
        return view_kinds(
            [find(value) if isinstance(value, torch.Tensor) else None for value in self.outputs]
        )

    def finish(self, outputs: Sequence[Any]) -> fx.Graph:
        """Closes the graph with these outputs (nodes, numbers, None) and drops unused nodes."""
        self.graph.output(tuple(map(as_argument, outputs)))
        drop_unused(self.graph)
        return self.graph


def trace(module: fx.GraphModule, inputs: Sequence[Any], mode: FakeMode) -> Trace:
    """Runs the module's graph on the fake twins of `inputs` and records it.

    Raises UntraceableError, or the error of an operator.
    """
    recorder = Recorder(mode)
    runner = ModuleRunner(module, recorder)
    with mode:
        fakes = [to_fake(mode, value) if isinstance(value, torch.Tensor) else value for value in inputs]
        runner.place(fakes)
        # The block restores the grad mode, which the module may switch.
        with recorder, torch.set_grad_enabled(torch.is_grad_enabled()):
            outputs = runner.run()
        for output in outputs:
            if isinstance(output, torch.Tensor) and (output.is_conj() or output.is_neg()):
                raise UntraceableError("a lazily conjugated or negated result")
        return Trace(recorder, fakes, runner.lifted, outputs)
