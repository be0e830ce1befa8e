"""A graph that takes nodes quickly is the graph that torch.fx makes."""

from __future__ import annotations

import operator

import pytest
import torch
import torch.fx

from codegen.kernel.fx_graph import Graph


def build(graph: torch.fx.Graph) -> torch.fx.Graph:
    x, y = graph.placeholder("x"), graph.placeholder("y")
    both = graph.call_function(torch.cat, ([x, y],), {"dim": 0})
    part = graph.call_function(operator.getitem, (both, (slice(None, 2), None)))
    twice = graph.create_node("call_method", "add", (part, part), {"alpha": 2}, "twice")
    last = graph.create_node("call_function", torch.stack, args=([twice, x],))
    last.meta["note"] = 1
    graph.output((last, {"y": y}))
    return graph


def seen(graph: torch.fx.Graph) -> list[object]:
    nodes = list(graph.nodes)
    return [
        str(graph),
        [[type(a) for a in node.args] for node in nodes],
        [type(node.kwargs) for node in nodes],
        [[user.name for user in node.users] for node in nodes],
        [[n.name for n in node.all_input_nodes] for node in nodes],
        [node.name for node in graph.find_nodes(op="call_function", target=torch.cat)],
    ]


def test_same_graph() -> None:
    assert seen(build(Graph())) == seen(build(torch.fx.Graph()))


def test_copies_are_the_same() -> None:
    copy = Graph()
    copy.output(copy.graph_copy(build(torch.fx.Graph()), {}))
    assert seen(copy) == seen(build(torch.fx.Graph()))


def test_same_names() -> None:
    """Names that come again, end with a number, are a function of Python, or are taken by a renamed node."""
    candidates = ["add", "add", "add_3", "add", "add_1", "sum", "sum", "x_1", "x_1_2", "x_1", "x", "x"]
    functions = (torch.cat, operator.add, torch.cat, torch.ops.aten.add.Tensor, torch.ops.aten.mm.default)
    found = []
    for graph in (Graph(), torch.fx.Graph()):
        nodes = [graph.create_node("placeholder", name, name=name) for name in candidates * 3]
        nodes[0]._rename("taken")
        nodes += [graph.placeholder("taken"), graph.placeholder("taken"), graph.call_method("__iAdd__")]
        nodes += [graph.call_function(function) for function in functions * 2]
        found.append([node.name for node in nodes])
    assert found[0] == found[1]


def test_hooks_of_the_module_see_new_nodes() -> None:
    graph, seen_names = Graph(), []
    module = torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph())
    graph.owning_module = module
    module._register_create_node_hook(lambda node: seen_names.append(node.name))
    graph.call_function(torch.relu, (graph.placeholder("x"),))
    assert seen_names == ["x", "relu"]


def test_a_module_without_hooks_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph of a trace has a module that holds its constants. torch.fx's own way would walk through all
    arguments.
    """
    monkeypatch.setattr(torch.fx.Graph, "create_node", None)
    assert seen(build(Graph(torch.nn.Module())))[-1] == ["cat"]


@pytest.mark.parametrize(
    "name", ["x", "l_x_", "l_x_0", "CamelCase", "aB", "__add__", "_x", "x.y", "ß", "x1", "x.y_2", ""]
)
def test_same_names_of_placeholders(name: str) -> None:
    ours, theirs = Graph(), torch.fx.Graph()
    assert [g.placeholder(name).name for g in (ours, ours)] == [
        g.placeholder(name).name for g in (theirs, theirs)
    ]
