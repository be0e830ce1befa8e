"""The source of a function by line, with the graphs that each line went to.

In:  a function and the story.
Out: a `SourceLine` for each line: the pieces whose graphs have operations of it, the breaks at it.

A line belongs to a graph if it is on the way to one of its operations: the line itself, or a call in it.
"""

from __future__ import annotations

from collections import defaultdict

from capture.pages.story import Function, Story, is_of_library
from capture.tracing.read import Event
from capture_records import dataclass


@dataclass(frozen=True)
class SourceLine:
    """pieces: numbers of the pieces of the function, for the band. graphs: (number, operations) pairs."""

    number: int
    text: str
    pieces: tuple[int, ...]
    graphs: tuple[tuple[int, int], ...]
    breaks: tuple[int, ...]


Places = dict[tuple[str, int], dict[int, int]]


def graphs_by_place(story: Story) -> Places:
    """(file, line) -> graph -> how many of its operations come from there."""
    result: Places = defaultdict(lambda: defaultdict(int))
    for graph in story.trace.of("graph"):
        for node in graph["nodes"]:
            for place in {(place["file"], place["line"]) for place in places_of(graph, node)}:
                result[place][graph["graph"]] += 1
    return result


def places_of(graph: Event, node: Event) -> list[Event]:
    """The calls that lead to a node, the outermost first."""
    return [graph["places"][number] for number in node["places"]]


def own_place(graph: Event, node: Event) -> Event | None:
    """The last call that leads to a node and stands in the program; else the last one."""
    places = places_of(graph, node)
    own = [place for place in places if not is_of_library(place["file"])]
    return next(iter(reversed(own or places)), None)


def lines_of(function: Function, story: Story, places: Places) -> list[SourceLine]:
    file, first = function.code["file"], function.code["first"]
    piece_of = {
        graph["graph"]: capture.frame["piece"] for capture in function.captures for graph in capture.graphs
    }
    breaks: dict[int, list[int]] = defaultdict(list)
    for number, group in enumerate(story.breaks):
        if group.place["file"] == file:
            breaks[group.place["line"]].append(number)
    result = []
    for offset, text in enumerate((function.code["source"] or "").splitlines()):
        line = first + offset
        graphs = places.get((file, line), {})
        pieces = sorted({piece_of[graph] for graph in graphs if graph in piece_of})
        result.append(
            SourceLine(line, text, tuple(pieces), tuple(graphs.items()), tuple(breaks.get(line, ())))
        )
    return result
