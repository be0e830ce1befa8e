"""A smaller part of a graph that is still computed wrongly.

In:  a part that a test finds wrong, the test.
Out: a part with one result where that is enough, without operations that it does not read, and with smaller
     inputs.

    x[64, 64] -> exp, sum, both returned        ->    x[1, 1] -> exp
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.fx

from capture.checking.parts import CALLS, Part
from codegen.kernel.fx_graph import Graph
from codegen.kernel.graph_module import GraphModule

TRIES = 60  # parts that are tried

Test = Callable[[Part], bool]


def reduced(part: Part, is_wrong: Test) -> Part:
    """The smallest part that is found."""
    part = with_placeholders(part)
    tries = TRIES
    for shrink in (fewer_results, smaller_inputs):
        going = True
        while going and tries:
            going = False
            for smaller in shrink(part):
                tries -= 1
                if _holds(smaller, is_wrong):
                    part, going = smaller, True
                    break
                if not tries:
                    break
    return part


def _holds(part: Part, is_wrong: Test) -> bool:
    try:
        return is_wrong(part)
    except Exception:  # eager refuses these inputs: the part says nothing
        return False


def rebuilt(part: Part, results: tuple[torch.fx.Node, ...]) -> Part:
    """The part with only these results, and what they read."""
    graph = Graph()
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    needed = needed_for(part.module.graph, results)
    inputs = []
    placeholders = iter(part.inputs)
    for node in part.module.graph.nodes:
        value = next(placeholders) if node.op == "placeholder" else None
        if node in needed:
            copies[node] = graph.node_copy(node, copies.__getitem__)
            inputs += [value] if node.op == "placeholder" else []
    graph.output(tuple(copies[node] for node in results))
    nodes = [node for node in graph.nodes if node.op in CALLS]
    return Part(GraphModule(part.module, graph, class_name="Part"), inputs, nodes)


def needed_for(graph: torch.fx.Graph, results: tuple[torch.fx.Node, ...]) -> set[torch.fx.Node]:
    """The nodes that the results read, and those that write or change a state."""
    needed = set(results)
    for node in reversed(graph.nodes):
        writes = node.meta.get("changes_state") or may_write(node)
        if writes:
            needed.add(node)
        if node in needed:
            needed.update(node.all_input_nodes)
    return needed


def may_write(node: torch.fx.Node) -> bool:
    if node.op not in CALLS:
        return False
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    in_place = name.endswith("_") and not name.endswith("__")
    return in_place or name in ("setitem", "batch_norm", "instance_norm") or bool(node.kwargs.get("inplace"))


def results_of_part(part: Part) -> tuple[Any, ...]:
    (results,) = next(node for node in reversed(part.module.graph.nodes) if node.op == "output").args
    return tuple(result for result in results if isinstance(result, torch.fx.Node))


def fewer_results(part: Part) -> Iterator[Part]:
    """With one result; with half of them."""
    results = results_of_part(part)
    if len(results) < 2:
        return
    for result in results:
        yield rebuilt(part, (result,))
    for half in (results[: len(results) // 2], results[len(results) // 2 :]):
        if len(half) > 1:
            yield rebuilt(part, half)


def smaller_inputs(part: Part) -> Iterator[Part]:
    """With half of each size, the largest first."""
    tensors = [value for value in part.inputs if isinstance(value, torch.Tensor)]
    for size in sorted({size for value in tensors for size in value.shape if size > 1}, reverse=True):
        for smaller in dict.fromkeys((1, size // 2)):
            inputs = [narrowed(value, size, smaller) for value in part.inputs]
            yield Part(part.module, inputs, part.nodes)


def narrowed(value: Any, size: int, smaller: int) -> Any:
    if not isinstance(value, torch.Tensor) or size not in value.shape:
        return value
    part = value.detach()
    for dim, length in enumerate(value.shape):
        part = part.narrow(dim, 0, smaller) if length == size else part
    return part.clone(memory_format=torch.contiguous_format).requires_grad_(value.requires_grad)


def with_placeholders(part: Part) -> Part:
    """Tensors that the module holds become inputs."""
    graph, copies, inputs = Graph(), {}, list(part.inputs)
    nodes = list(part.module.graph.nodes)
    first = [node for node in nodes if node.op == "placeholder"]
    held = [node for node in nodes if node.op == "get_attr"]
    for node in held:
        value = part.module
        for name in str(node.target).split("."):
            value = getattr(value, name)
        if isinstance(value, torch.Tensor):
            inputs.append(value)
            first.append(node)
    for node in first:
        copies[node] = graph.placeholder(node.name)
        copies[node].meta = dict(node.meta)
    for node in nodes:
        if node not in copies:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    calls = [node for node in graph.nodes if node.op in CALLS]
    return Part(GraphModule(part.module, graph, class_name="Part"), inputs, calls)
