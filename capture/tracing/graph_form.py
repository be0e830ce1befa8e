"""A graph, in the form in which a trace file has it.

In:  the module of a graph; nodes with their values and places in `meta`.
Out: its nodes, one dict for each, and the places that they name by number.

    add = l_x_ + 1    ->    {"name": "add", "op": "call_function", "text": "add = l_x_ + 1", ...}
"""

from __future__ import annotations

from typing import Any

import torch.fx

from capture.graph.node_text import node_text, target_name
from capture.graph.program_places import Place, places_of
from capture.tracing.places import Form, place_form, value_form


def graph_form(graph: torch.fx.Graph) -> Form:
    numbers: dict[tuple[str, int, str], int] = {}
    nodes = [
        {
            "name": node.name,
            "op": node.op,
            "target": target_name(node),
            "inputs": [source.name for source in node.all_input_nodes],
            "text": node_text(node),
            "value": value_form(node.meta["example_value"]) if "example_value" in node.meta else None,
            "places": [numbers.setdefault(_key(place), len(numbers)) for place in places],
        }
        for node, places in zip(graph.nodes, places_of(graph), strict=True)
    ]
    output = next(iter(reversed(graph.nodes)))
    return {
        "nodes": nodes,
        "places": [place_form(*key) for key in numbers],
        "outputs": [node.name for node in output.all_input_nodes],
    }


def inputs_form(inputs: list[Any]) -> list[Form]:
    return [
        {
            "node": item.node.name,
            "source": item.source.text,
            "value": value_form(item.node.meta["example_value"]),
        }
        for item in inputs
    ]


def _key(place: Place) -> tuple[str, int, str]:
    return place.co_filename, place.line, place.co_qualname
