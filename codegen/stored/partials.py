"""The backwards for some of the gradients of a segment as plain data.

In:  `Partials` with the backwards that were compiled, and the data that the store has already.
Out: a row for each, and `StoredPartials`, which runs them in another process.

    [["3", "2", saved places, layouts of zeros, plan], ...]      sets of saved values and tangents, in hex

Requests for other gradients compile their backward (`codegen.autograd.partial_backward`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import _capture
import torch

from codegen.autograd.partial_arguments import Have, Layout, PartialArguments
from codegen.stored.names import Malformed
from codegen.stored.plans import StoredGraph, plan_data, plan_of
from codegen.stored.values import Reader, Writer

if TYPE_CHECKING:
    from codegen.autograd.partial_backward import Partials

MOST = 16  # rows of a segment that are stored


class StoredPartials:
    """`graphs` has those whose plans have been read. `fallback(have, *given)` runs operator by operator."""

    def __init__(self, rows: list[Any], reader: Reader, fallback: Callable[..., tuple[Any, ...]]) -> None:
        self.rows = {have_of(row): (arguments_of(row, reader), row[4]) for row in rows}
        self.reader = reader
        self.fallback = fallback
        self.graphs: dict[Have, StoredGraph] = {}

    def run(self, have: Have, saved: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...] | None:
        """None where there is none for such arguments."""
        if have not in self.rows:
            return None
        arguments, plan = self.rows[have]
        given = arguments.of(saved, tangents)
        if not all(map(_capture.is_plain, given)):
            return None
        if have not in self.graphs:
            self.graphs[have] = plan_of(plan, self.reader, functools.partial(self.fallback, have))
        grads: tuple[Any, ...] = self.graphs[have](*given)
        return grads


def have_of(row: list[Any]) -> Have:
    return int(row[0], 16), int(row[1], 16)


def arguments_of(row: list[Any], reader: Reader) -> PartialArguments:
    saved, _ = have_of(row)
    if not all(type(place) is int and saved >> place & 1 for place in row[2]):
        raise Malformed("a backward that takes a missing value")
    zeros: list[Layout] = [
        (torch.Size(size), tuple(strides), reader.read(dtype)) for size, strides, dtype in row[3]
    ]
    return PartialArguments(list(row[2]), zeros)


def partials_data(partials: Partials, known: list[Any], writer: Writer, store: Any) -> list[Any]:
    """The rows that are known, and those of the backwards that are not among them. Raises NotStored."""
    rows = list(known)
    found = set(map(have_of, known))
    for have, graph in partials.compiled.items():
        if have in found or len(rows) == MOST:
            continue
        arguments = partials.graphs[have].arguments
        zeros = [[list(size), list(strides), writer.write(dtype)] for size, strides, dtype in arguments.zeros]
        plan = plan_data(graph, writer, store)
        rows.append([*(f"{values:x}" for values in have), arguments.saved, zeros, plan])
    return rows
