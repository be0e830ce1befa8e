"""A captured graph as plain data.

In:  a `torch.fx.GraphModule` of torch calls.
Out: its nodes in order; a node is named by its position. And a module with the same nodes. The bodies of
     loops, branches and transforms are graphs among the values of a node's target.

    add = x + 1; return (add,)   ->   [["placeholder"], ["call_function", add, [node 0, 1], {}], ...]

A graph that holds modules or tensors of its own is not stored.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from codegen.kernel.fx_graph import Graph
from codegen.kernel.graph_module import GraphModule
from codegen.stored.names import Malformed, NotStored
from codegen.stored.values import READERS, Reader, Writer, read_items

CALLS = ("call_function", "call_method")


class NodeWriter(Writer):
    """Writes values in which nodes are."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[fx.Node, int] = {}

    def other(self, value: Any) -> Any:
        if isinstance(value, fx.Node):
            return {"node": self.places[value]}
        return {"body": module_data(value)} if isinstance(value, fx.GraphModule) else super().other(value)


class NodeReader(Reader):
    def __init__(self, blobs: list[bytes]) -> None:
        super().__init__(blobs)
        self.nodes: list[fx.Node] = []


def read_node(reader: Reader, place: Any) -> fx.Node:
    if not isinstance(reader, NodeReader) or type(place) is not int or not 0 <= place < len(reader.nodes):
        raise Malformed(f"no node {place!r:.80}")
    return reader.nodes[place]


READERS["node"] = read_node
READERS["body"] = lambda _, rows: module_of(rows)


def module_data(gm: fx.GraphModule) -> list[Any]:
    """Raises NotStored."""
    writer = NodeWriter()
    rows: list[Any] = []
    for place, node in enumerate(gm.graph.nodes):
        writer.places[node] = place
        rows.append(node_data(node, writer))
    if writer.blobs:
        raise NotStored("a graph with bytes")
    return rows


def node_data(node: fx.Node, writer: NodeWriter) -> list[Any]:
    marks = [name for name in ("checked_outside",) if name in node.meta]
    if node.op == "placeholder":
        return [node.op, marks]
    if node.op == "output":
        return [node.op, marks, writer.write(node.args[0])]
    if node.op not in CALLS:
        raise NotStored(f"a node {node.op}: the graph holds modules or tensors")
    return [
        node.op,
        marks,
        writer.write(node.target),
        writer.write(tuple(node.args)),
        writer.write(dict(node.kwargs)),
    ]


def module_of(rows: Any) -> GraphModule:
    """The module with these nodes. Raises Malformed."""
    reader = NodeReader([])
    graph = Graph()
    if type(rows) is not list:
        raise Malformed("a graph that is no list of nodes")
    for row in rows:
        if type(row) is not list or len(row) < 2 or type(row[1]) is not list:
            raise Malformed(f"not a node: {row!r:.80}")
        node = new_node(graph, row, reader)
        node.meta.update(dict.fromkeys(row[1], True))
        reader.nodes.append(node)
    return GraphModule(torch.nn.Module(), graph, class_name="CapturedFromStore")


def new_node(graph: fx.Graph, row: list[Any], reader: NodeReader) -> fx.Node:
    if row[0] == "placeholder":
        return graph.placeholder(f"arg{len(reader.nodes)}")
    if row[0] == "output" and len(row) == 3:
        return graph.output(reader.read(row[2]))
    if row[0] not in CALLS or len(row) != 5:
        raise Malformed(f"not a node: {row!r:.80}")
    target, args, kwargs = read_items(reader, row[2:])
    if (
        type(args) is not tuple
        or type(kwargs) is not dict
        or (row[0] == "call_method") != (type(target) is str)
    ):
        raise Malformed(f"not a call: {row!r:.80}")
    return graph.create_node(row[0], target, args, kwargs)
