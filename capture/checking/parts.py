"""Parts of a graph: some of its operations as a graph of their own.

In:  a graph, its inputs, a first and a last operation.
Out: a `Part`: a module of the operations between, the values that go into it.

    a -> mul -> relu -> sum        part(1, 2):  mul -> relu
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.fx

from capture.checking.runs import copied_inputs, same_random_state
from codegen.kernel.fx_graph import Graph
from codegen.kernel.graph_module import GraphModule

CALLS = ("call_function", "call_method", "call_module")


class Part:
    """`module` is called with `inputs`. `nodes` are its operations, as they are in the whole graph."""

    def __init__(
        self, module: torch.fx.GraphModule, inputs: Sequence[Any], nodes: Sequence[torch.fx.Node]
    ) -> None:
        self.module = module
        self.inputs = list(inputs)
        self.nodes = list(nodes)


class Cutter:
    """Cuts parts out of one graph."""

    def __init__(self, module: torch.fx.GraphModule, inputs: Sequence[Any]) -> None:
        self.module = module
        self.inputs = list(inputs)
        nodes = list(module.graph.nodes)
        self.held = [node for node in nodes if node.op in ("placeholder", "get_attr")]
        self.calls = [node for node in nodes if node.op in CALLS]
        (self.outputs,) = nodes[-1].args
        self.place = {node: i for i, node in enumerate(self.calls)}
        self.last_use = {
            node: max((self.place.get(user, len(self.calls)) for user in node.users), default=-1)
            for node in self.held + self.calls
        }
        self.values = self._values()

    def __len__(self) -> int:
        return len(self.calls)

    def _values(self) -> dict[torch.fx.Node, Any]:
        """What each operation gives. A later write shows: only the kinds of values are read here."""
        with same_random_state():
            recorder = torch.fx.Interpreter(self.module, garbage_collect_values=False)
            recorder.run(*copied_inputs(self.inputs)[0])
            return {node: recorder.env.get(node) for node in self.held + self.calls}

    def live(self, end: int) -> list[torch.fx.Node]:
        """Values of the first `end` operations that something behind reads."""
        made = self.calls[:end]
        return [node for node in made if self.last_use[node] >= end or node in self._returned]

    @property
    def _returned(self) -> list[Any]:
        return [output for output in self.outputs if isinstance(output, torch.fx.Node)]

    def ends(self) -> list[int]:
        """How many operations may be cut off the front: the last of them gives a tensor that is read."""
        found = [
            place + 1
            for place, node in enumerate(self.calls)
            if isinstance(self.values[node], torch.Tensor) and not node.meta.get("changes_state")
        ]
        return sorted({*found, len(self.calls)})

    def part(self, start: int, end: int, given: Part | None = None) -> Part | None:
        """The operations from `start` to `end`. None where its inputs are no tensors or share memory.

        Switches of modes (autocast, grad mode) are in every part.
        """
        chosen = [
            node for i, node in enumerate(self.calls) if start <= i < end or node.meta.get("changes_state")
        ]
        inside = set(chosen)
        read = {a for node in chosen for a in node.all_input_nodes if a not in inside}
        returned = self.returned_by(end)
        read |= {node for node in returned if node not in inside and start == 0}
        entering = [node for node in self.held + self.calls if node in read and node.op != "get_attr"]
        inputs = self.boundary(start, entering)
        if inputs is None:
            return None
        graph, copies = Graph(), {}
        for node in entering:
            copies[node] = graph.placeholder(node.name)
            copies[node].meta = dict(node.meta)
        for node in self.held + chosen:
            if node not in copies and (node in inside or (node.op == "get_attr" and node in read)):
                copies[node] = graph.node_copy(node, copies.__getitem__)
        returned = [node for node in returned if node in copies]
        if end < len(self.calls):
            returned = [node for node in returned if isinstance(self.values[node], torch.Tensor)]
        if not returned:  # the last operation writes to what others read
            returned = [node for node in chosen if isinstance(self.values[node], torch.Tensor)][-1:]
        if not returned:
            return None
        graph.output(tuple(copies[node] for node in returned))
        made = GraphModule(self.module, graph, class_name="Part")
        return Part(made, inputs, [node for node in chosen if not node.meta.get("changes_state")])

    def returned_by(self, end: int) -> list[torch.fx.Node]:
        return self._returned if end == len(self.calls) else self.live(end)

    def boundary(self, start: int, entering: Sequence[torch.fx.Node]) -> list[Any] | None:
        """The values of `entering` after the first `start` operations."""
        if start == 0:
            by_node = dict(zip((n for n in self.held if n.op == "placeholder"), self.inputs, strict=True))
            return [by_node[node] for node in entering]
        values = _Stopped(self.module, self.calls[start]).values(self.inputs)
        found = [values[node] for node in entering]
        if not all(isinstance(value, torch.Tensor) for value in found):
            return None
        memories = {value.untyped_storage().data_ptr() for value in found}
        if len(memories) < len(found):
            return None
        return [value.detach().requires_grad_(value.requires_grad) for value in found]


class _Stopped(torch.fx.Interpreter):
    """Runs a graph up to an operation."""

    def __init__(self, module: torch.fx.GraphModule, stop: torch.fx.Node) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.stop = stop

    def values(self, inputs: Sequence[Any]) -> dict[torch.fx.Node, Any]:
        with same_random_state():
            placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
            self.env = dict(zip(placeholders, copied_inputs(inputs)[0], strict=True))
            before = torch.is_grad_enabled()
            entered: list[Any] = []
            try:
                for node in self.graph.nodes:
                    if node is self.stop:
                        break
                    if node.op != "placeholder":
                        self.env[node] = self.run_node(node)
                        self.note_autocast(node, entered)
            finally:
                for context in reversed(entered):
                    context.__exit__(None, None, None)
                torch.set_grad_enabled(before)
        return self.env

    def note_autocast(self, node: torch.fx.Node, entered: list[Any]) -> None:
        """Keep the regions of autocast that are open."""
        name = getattr(node.target, "__name__", "")
        if name == "_enter_autocast":
            entered.append(self.env[node])
        elif name == "_exit_autocast":
            entered.remove(self.env[node.args[0]])  # type: ignore[index]
