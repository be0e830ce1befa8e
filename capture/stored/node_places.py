"""The places of the program for each node of a graph, as plain data.

In:  for each node the places of its call chain.
Out: data in which each place stands once. They are read where the graph has failed, for the traceback.

    [(a, b), (a, c)]    ->    {"known": [a, b, c], "of_nodes": [[0, 1], [0, 2]]}
"""

from __future__ import annotations

from collections.abc import Sequence

from capture.graph.program_places import Place
from capture.stored.places import file_as_data, file_from_data
from guards.plain_values import Plain


def places_data(places: Sequence[Sequence[Place]]) -> dict[str, Plain]:
    known: dict[Place, int] = {}
    of_nodes = [[known.setdefault(place, len(known)) for place in chain] for chain in places]
    return {"known": [[file_as_data(file), *rest] for file, *rest in known], "of_nodes": of_nodes}


def places_of(data: dict[str, Plain]) -> list[tuple[Place, ...]]:
    known = [_place(*place) for place in data["known"]]
    return [tuple(known[number] for number in chain) for chain in data["of_nodes"]]


def _place(file: Plain, name: str, qualname: str, first: int, line: int, positions: Plain) -> Place:
    return Place(file_from_data(file), name, qualname, first, line, tuple(positions))
