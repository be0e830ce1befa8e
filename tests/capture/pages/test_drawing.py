"""The layers of a drawn graph: nothing overlaps, all edges lead down, few of them cross."""

from __future__ import annotations

import random
import re
from xml.etree import ElementTree

import pytest

from capture.pages import drawing
from capture.pages.drawing import Node, draw


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    root = ElementTree.fromstring(svg)
    found = [element.attrib for element in root.iter() if element.tag == "rect"]
    return [tuple(float(a[name]) for name in ("x", "y", "width", "height")) for a in found]  # type: ignore[misc]


def random_graph(seed: int, count: int) -> tuple[list[Node], list[tuple[str, str]]]:
    chosen = random.Random(seed)
    kinds = ("operation", "operation", "input")
    nodes = [Node(f"n{i}", "op" * chosen.randint(1, 8), chosen.choice(kinds)) for i in range(count)]
    edges = [
        (f"n{chosen.randrange(i)}", f"n{i}") for i in range(1, count) for _ in range(chosen.randint(0, 3))
    ]
    return nodes, edges


@pytest.mark.parametrize("seed", range(20))
def test_nothing_overlaps(seed: int) -> None:
    nodes, edges = random_graph(seed, 30)
    svg = draw(nodes, edges, "a graph")
    found = boxes(svg)
    assert len(found) == 30
    width, height = (float(text) for text in re.findall(r'viewBox="0 0 (\d+) (\d+)"', svg)[0])
    for place, (x, y, w, h) in enumerate(found):
        assert x >= 0 and y >= 0 and x + w <= width + 1 and y + h <= height
        for x2, y2, w2, _ in found[place + 1 :]:
            assert y != y2 or x + w <= x2 + 1 or x2 + w2 <= x + 1


def test_an_input_stands_above_its_users() -> None:
    svg = draw([Node("a", "aa"), Node("b", "bb"), Node("c", "cc")], [("a", "b"), ("a", "c"), ("b", "c")], "x")
    tops = [y for _, y, _, _ in boxes(svg)]
    assert tops == sorted(tops) and len(set(tops)) == 3


def test_the_sweeps_untangle() -> None:
    nodes = [Node(f"{side}{i}", side) for side in "ab" for i in range(6)]
    edges = [(f"a{i}", f"b{5 - i}") for i in range(6)]
    layers, lines = drawing._layers(nodes, edges)
    neighbours = drawing._neighbours(lines)
    assert drawing._crossings(layers, neighbours) == 15
    drawing._order(layers, neighbours)
    assert drawing._crossings(layers, neighbours) == 0


def test_large_graphs_show_their_first_nodes() -> None:
    nodes = [Node(f"n{i}", "op") for i in range(drawing.MOST_NODES + 20)]
    edges = [(f"n{i}", f"n{i + 1}") for i in range(drawing.MOST_NODES + 19)]
    svg = draw(nodes, edges, "large")
    assert len(boxes(svg)) == drawing.MOST_NODES and "and 20 more nodes" in svg


def test_a_graph_with_many_inputs_shows_operations() -> None:
    inputs = [Node(f"i{k}", "in", "input") for k in range(200)]
    operations = [Node(f"o{k}", "op") for k in range(200)]
    svg = draw([*inputs, *operations], [(f"i{k}", f"o{k}") for k in range(200)], "wide")
    assert svg.count('class="node input"') == svg.count('class="node operation"') == drawing.MOST_NODES // 2


def test_texts_are_escaped() -> None:
    svg = draw([Node("a", "<lt>&", tip='"<&>"')], [], 'a "graph" <b>')
    assert ElementTree.fromstring(svg) is not None and "<lt>" not in svg


def test_an_empty_graph() -> None:
    assert ElementTree.fromstring(draw([], [], "nothing")).tag == "svg"
