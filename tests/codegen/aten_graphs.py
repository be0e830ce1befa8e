"""ATen graphs for tests, made by running a function on real tensors.

    graph, results = record(lambda x: torch.relu(x) + 1, [x])

Every ATen call below autograd becomes a node whose `meta["val"]` is the real result. Operators of
`codegen.rewrite.table` are rewritten first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from codegen.rewrite.table import rule_for


class _Recorder(TorchDispatchMode):
    def __init__(self, graph: fx.Graph) -> None:
        super().__init__()
        self.graph = graph
        self.nodes: dict[int, fx.Node] = {}
        self.alive: list[Any] = []

    def track(self, value: Tensor, node: fx.Node) -> None:
        self.nodes[id(value)] = node
        self.alive.append(value)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
            with self:
                return func.decompose(*args, **kwargs)
        decomposition = rule_for(func)
        if decomposition is not None:
            with self:
                result = decomposition(*args, **kwargs)
            if result is not NotImplemented:
                return result
        result = func(*args, **kwargs)
        self.record(func, args, kwargs, result)
        return result

    def _node_of(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        if id(value) not in self.nodes:
            node = self.graph.create_node("get_attr", f"constant{len(self.nodes)}")
            setattr(self.graph.owning_module, str(node.target), value)
            node.meta["val"] = value
            self.track(value, node)
        return self.nodes[id(value)]

    def record(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        node = self.graph.call_function(func, *tree_map(self._node_of, (args, kwargs)))
        node.meta["val"] = result
        self.alive.append(result)
        if isinstance(result, Tensor):
            self.track(result, node)
        elif isinstance(result, (tuple, list)):
            for index, item in enumerate(result):
                if isinstance(item, Tensor):
                    part = self.graph.call_function(operator.getitem, (node, index))
                    part.meta["val"] = item
                    self.track(item, part)


def record(function: Callable[..., Any], inputs: Sequence[Tensor]) -> tuple[fx.Graph, list[Tensor]]:
    """The graph of `function(*inputs)` and its results, flat."""
    module = torch.nn.Module()
    graph = fx.Graph(owning_module=module)
    recorder = _Recorder(graph)
    placeholders = [graph.placeholder(f"arg{index}") for index in range(len(inputs))]
    for value, node in zip(inputs, placeholders, strict=True):
        node.meta["val"] = value
        recorder.track(value, node)
    with torch.no_grad(), recorder:
        results = function(*inputs)
    flat = tree_flatten(results)[0]
    graph.output(tuple(recorder._node_of(value) for value in flat))
    return graph, flat
