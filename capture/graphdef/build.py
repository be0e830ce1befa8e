"""The graph of a GraphDef: which nodes are needed, in which order, and the GraphModule that they become.

In:  GraphDef; names of outputs.
Out: GraphModule. GraphDefError: a missing input, a cycle, an unknown operator or output.

    input "sum:1"  ->  the second result of node sum;  "^init"  ->  no value, but init has to exist
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from torch import fx

from capture.graphdef import dtypes
from capture.graphdef.node import Graph, Node, identifier
from capture.graphdef.operators import families  # noqa: F401 (fills the table)
from capture.graphdef.operators.table import RULES
from capture.graphdef.values import Tensor, Value
from capture.report.errors import GraphDefError

_PLACEHOLDERS = ("Placeholder", "PlaceholderWithDefault")
#: nodes that are no result when nothing reads them
_NO_RESULTS = (*_PLACEHOLDERS, "Const", "NoOp")


def build(proto: Any, outputs: str | list[str] | None) -> fx.GraphModule:
    nodes = _by_name(proto)
    names = _results(nodes) if outputs is None else [outputs] if isinstance(outputs, str) else outputs
    single = len(names) == 1 if outputs is None else isinstance(outputs, str)
    order = _in_order(nodes, names)
    importing = _Import(nodes)
    importing.placeholders(order)
    for name in order:
        importing.node(nodes[name])
    return importing.finish(names, single)


def _by_name(proto: Any) -> dict[str, Any]:
    nodes: dict[str, Any] = {}
    for number, node in enumerate(proto.node):
        if not node.name:
            raise GraphDefError(f"node {number} ({node.op or 'no operator'}) has no name")
        if node.name in nodes:
            raise GraphDefError(f"two nodes have the name {node.name!r}")
        nodes[node.name] = node
    return nodes


def _results(nodes: dict[str, Any]) -> list[str]:
    """The nodes that no node reads."""
    read = {_parts(node, text)[0] for node in nodes.values() for text in _data_inputs(node)}
    found = [name for name, node in nodes.items() if name not in read and node.op not in _NO_RESULTS]
    if not found:
        raise GraphDefError("no node is a result: name the outputs")
    return found


def _data_inputs(node: Any) -> list[str]:
    return [text for text in node.input if not text.startswith("^")]


def _parts(node: Any, text: str) -> tuple[str, int]:
    """The node that an input names, and the number of its result."""
    name, colon, number = text.partition(":")
    if colon and not (number.isascii() and number.isdigit()):
        raise GraphDefError(f"node {node.name!r} ({node.op}): the input {text!r} is no name")
    return name, int(number or 0)


def _output_parts(nodes: dict[str, Any], text: str) -> tuple[str, int]:
    name, _, number = text.partition(":")
    if name not in nodes or (number and not number.isdigit()):
        near = difflib.get_close_matches(name, nodes, n=1)
        tail = f": did you mean {near[0]!r}?" if near else ""
        raise GraphDefError(f"the graph has no output {text!r}{tail}")
    return name, int(number or 0)


# --- order ------------------------------------------------------------------------------------------------


def _in_order(nodes: dict[str, Any], outputs: Iterable[str]) -> list[str]:
    """What the outputs need, each node behind its inputs. Without recursion: graphs are deep."""
    order: list[str] = []
    done: set[str] = set()
    for output in outputs:
        first = _output_parts(nodes, output)[0]
        path: dict[str, Iterator[str]] = {} if first in done else {first: _sources(nodes, first)}
        while path:
            name, sources = next(reversed(path.items()))
            source = next((source for source in sources if source not in done), None)
            if source is None:
                path.popitem()
                done.add(name)
                order.append(name)
            elif source in path:
                cycle = [*path][[*path].index(source) :]
                raise GraphDefError(f"node {source!r}: a cycle: {' <- '.join([*cycle, source])}")
            else:
                path[source] = _sources(nodes, source)
    return order


def _sources(nodes: dict[str, Any], name: str) -> Iterator[str]:
    node = nodes[name]
    for text in node.input:
        source = text[1:] if text.startswith("^") else _parts(node, text)[0]
        if source not in nodes:
            raise GraphDefError(f"node {name!r} ({node.op}): its input {text!r} is missing")
        yield source


# --- the GraphModule --------------------------------------------------------------------------------------


class _Import:
    def __init__(self, nodes: dict[str, Any]) -> None:
        self.nodes = nodes
        self.graph = Graph()
        self.values: dict[str, tuple[Value, ...]] = {}
        self.arguments: dict[str, fx.Node] = {}

    def placeholders(self, order: list[str]) -> None:
        """The arguments, in the order of the file; those with a default come last."""
        needed = set(order)
        for kind in _PLACEHOLDERS:
            for name, proto in self.nodes.items():
                if proto.op == kind and name in needed:
                    default = {} if kind == "Placeholder" else {"default_value": None}
                    argument = self.graph.fx.placeholder(identifier(name), **default)
                    argument.meta["graphdef"] = self._declared(proto)
                    self.arguments[name] = argument

    def _declared(self, proto: Any) -> dict[str, Any]:
        """What the file says of an argument: its name, dtype and sizes (-1 is open; None: all are)."""
        node = Node(self.graph, proto, ())
        shape = node.attr("shape", "shape", None)
        sizes = None if shape is None else dtypes.shape_of(shape)
        return {"name": proto.name, "dtype": node.dtype("dtype"), "shape": sizes}

    def node(self, proto: Any) -> None:
        node = Node(self.graph, proto, [self._input(proto, text) for text in _data_inputs(proto)])
        if proto.op == "Placeholder":
            found: Any = Tensor(self.arguments[proto.name])
        else:
            if proto.op not in RULES:
                raise node.error(f"the operator is unknown{_nearest(proto.op)}")
            if proto.op == "PlaceholderWithDefault":
                node.inputs.insert(0, Tensor(self.arguments[proto.name]))
            found = RULES[proto.op](node)
        self.values[proto.name] = found if isinstance(found, tuple) else (found,)

    def _input(self, proto: Any, text: str) -> Value:
        name, number = _parts(proto, text)
        results = self.values[name]
        if number >= len(results):
            raise GraphDefError(
                f"node {proto.name!r} ({proto.op}): its input {text!r} is missing: "
                f"{name!r} ({self.nodes[name].op}) has {len(results)} results"
            )
        return results[number]

    def finish(self, outputs: list[str], single: bool) -> fx.GraphModule:
        results = tuple(self._output(text) for text in outputs)
        self.graph.fx.output(results[0] if single else results)
        self.graph.fx.eliminate_dead_code()
        read = {node.target for node in self.graph.fx.nodes if node.op == "get_attr"}
        for name, _ in list(self.graph.root.named_buffers()):
            if name not in read:
                delattr(self.graph.root, name)
        return fx.GraphModule(self.graph.root, self.graph.fx, "GraphDef")

    def _output(self, text: str) -> fx.Node:
        name, number = _output_parts(self.nodes, text)
        results = self.values[name]
        node = Node(self.graph, self.nodes[name], ())
        if number >= len(results):
            raise node.error(f"the output {text!r} is missing: the node has {len(results)} results")
        return node.as_tensor(results[number])


def _nearest(op: str) -> str:
    near = difflib.get_close_matches(op, RULES, n=1)
    return f": the nearest that is known is {near[0]}" if near else ""
