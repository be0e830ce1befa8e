"""How a segment of the backward lies in its graph: the same for all sizes.

In:  what a segment saves, its slots and its edges, as lists (`partition.BackwardPart`).
Out: `SegmentForm`, and the `_capture.Segment` that nodes of autograd's graph read.

    form = form_of(part, apart);   form.native(segment)      in each graph for other sizes
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch

try:
    import _capture
except ImportError:
    _capture = None

from capture_records import dataclass
from codegen.autograd.partial_arguments import Have


class Lists(Protocol):
    @property
    def slots(self) -> Sequence[int | None]: ...

    @property
    def edges(self) -> Sequence[int]: ...

    @property
    def saved_inputs(self) -> Sequence[int]: ...

    @property
    def saved_results(self) -> Sequence[int]: ...

    @property
    def needed_by(self) -> Sequence[int]: ...


class Runs(Protocol):
    """A segment for given sizes. `backward`: what runs all of it, once it is compiled."""

    backward: Any

    @property
    def stand_ins(self) -> Sequence[torch.Tensor | None]: ...

    def run(
        self, native: Any, saved: tuple[Any, ...], tangents: Sequence[Any], edges: Sequence[torch.Tensor]
    ) -> tuple[Any, ...]: ...


@dataclass(frozen=True, slots=True)
class SegmentForm:
    """`have_all`: the sets of saved values and tangents of which none is missing."""

    slots: tuple[int, ...]
    saved_arguments: tuple[int, ...]
    saved_results: tuple[int, ...]
    kept_apart: tuple[int, ...]
    edges: tuple[int, ...]
    needed_by: bytes
    have_all: Have

    def native(self, segment: Runs) -> Any:
        """It holds the segment, which does not hold it: so a graph that nobody uses goes at once."""
        made = _capture.Segment(
            segment.run,
            slots=self.slots,
            stand_ins=tuple(segment.stand_ins),
            saved_arguments=self.saved_arguments,
            saved_results=self.saved_results,
            kept_apart=self.kept_apart,
            edges=self.edges,
            needed_by=self.needed_by,
        )
        if segment.backward is not None:
            made.backward = segment.backward
        return made


def form_of(part: Lists, apart: Sequence[bool]) -> SegmentForm:
    """`apart`: for each saved result, whether it would hold the segment's own node."""
    row = (len(part.edges) + 7) // 8
    return SegmentForm(
        slots=tuple(-1 if result is None else result for result in part.slots),
        saved_arguments=tuple(part.saved_inputs),
        saved_results=tuple(part.saved_results),
        kept_apart=tuple(map(int, apart)),
        edges=tuple(part.edges),
        needed_by=b"".join(edges.to_bytes(row, "little") for edges in part.needed_by),
        have_all=((1 << len(part.needed_by)) - 1, (1 << len(part.slots)) - 1),
    )


def saved_apart(part: Lists, later: Sequence[Lists]) -> list[bool]:
    """For each saved result, whether it would hold the part's own node.

    It does if it is in a slot of the part, or of a part behind (`later`) that leads to it.
    """
    holding = {result for each in (part, *later) for result in each.slots}
    return [result in holding for result in part.saved_results]


def forms_of(parts: Sequence[Lists]) -> list[SegmentForm]:
    return [form_of(part, saved_apart(part, parts[i + 1 :])) for i, part in enumerate(parts)]


def ignore(segment: Any) -> None:
    """Nobody waits for what it compiles."""


def give(native: Any, backward: Any) -> None:
    """From now on nodes run it. Those that are made in Python have no `native`."""
    if native is not None and native.backward is not backward:
        native.backward = backward
