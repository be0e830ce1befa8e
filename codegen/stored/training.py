"""A training graph as plain data, and back.

In:  a `TrainingGraph`: its compiled forward, its outputs, the segments of its backward.
Out: plain data, and a `TrainingGraph` whose segments are `StoredSegment`s.

    {"forward": plan, "outputs": [...], "segments": [{"slots": ..., "edges": ..., "backward": plan or None}]}

A backward is compiled when it is first needed; then it is added to the stored graph (`add_backward`). It
serves tangents of the strides that it was compiled for. So are the backwards for some of the gradients
(codegen/stored/partials.py). All else needs the graph itself: other strides, gradients of gradients. Then the
module is traced again, and `SegmentBackward` takes over.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import _capture
import torch

from capture_records import dataclass
from codegen.autograd.partial_arguments import Have, set_of
from codegen.autograd.replay import Replay
from codegen.autograd.training import TrainingGraph, ViewsGraph, native_segment
from codegen.launch.compiled import CompiledGraph, refuse
from codegen.stored.names import NotStored
from codegen.stored.partials import StoredPartials, partials_data
from codegen.stored.plans import plan_data, plan_of
from codegen.stored.values import Reader, Writer
from codegen.trace.view_call import ViewCall

if TYPE_CHECKING:
    from codegen.autograd.segment_backward import SegmentBackward


@dataclass(frozen=True, slots=True)
class Sizes:
    input_count: int
    result_count: int
    view_count: int


@dataclass(frozen=True, slots=True)
class Part:
    """What the nodes of autograd's graph read of a segment (`codegen.autograd.partition.BackwardPart`)."""

    slots: list[int | None]
    edges: list[int]
    saved_inputs: list[int]
    saved_results: list[int]
    needed_by: list[int]


class Backward:
    """The backward of a stored graph, as it is compiled when the data do not have what is needed.

    `compile_again()` gives its segments.
    """

    def __init__(self, compile_again: Callable[[], list[SegmentBackward]]) -> None:
        self.compile_again = compile_again
        self.lock = threading.Lock()
        self.parts: list[Part] = []

    @functools.cached_property
    def segments(self) -> list[SegmentBackward]:
        with self.lock:
            found = self.compile_again()
        if [part_of(segment.part) for segment in found] != self.parts:
            raise RuntimeError(
                "the backward of a captured graph from the store was compiled again, and it is not the one "
                "that the forward belongs to. CAPTURE_DISK_CACHE=0 does without the store."
            )
        return found


def part_of(part: Any) -> Part:
    lists = part.slots, part.edges, part.saved_inputs, part.saved_results, part.needed_by
    return Part(*map(list, lists))


class StoredSegment:
    """As `codegen.autograd.segment_backward.SegmentBackward`."""

    def __init__(self, number: int, data: dict[str, Any], reader: Reader, whole: Backward) -> None:
        self.number = number
        self.whole = whole
        lists = data["slots"], data["edges"], data["saved_inputs"], data["saved_results"]
        self.part = Part(*lists, [int(edges, 16) for edges in data["needed_by"]])
        self.have_all: Have = (1 << len(self.part.needed_by)) - 1, (1 << len(self.part.slots)) - 1
        self.apart: list[bool] = data["apart"]
        self.tangents = [(torch.Size(shape), reader.read(dtype)) for shape, dtype in data["tangents"]]
        self.stand_ins = [
            torch.empty_strided(shape, (0,) * len(shape), dtype=dtype) if result is None else None
            for result, (shape, dtype) in zip(self.part.slots, self.tangents, strict=True)
        ]
        #: the strides that the stored backward was compiled for, and how it is made; None: it has been made
        self.strides: list[tuple[int, ...]] = []
        self.backward: Callable[[], CompiledGraph] | None = None
        if data["backward"] is not None:
            strides, plan = data["backward"]
            self.strides = [tuple(each) for each in strides]
            self.backward = functools.partial(plan_of, plan, reader, self.after_failed_check)
        self.partials = StoredPartials(data["partials"], reader, self.after_failed_partial)
        self.on_compiled: Callable[[Any], None] = lambda segment: None
        self.native = native_segment(self)

    def run(
        self, saved: tuple[Any, ...], tangents: Sequence[Any], edges: Sequence[torch.Tensor]
    ) -> tuple[Any, ...]:
        have = set_of(saved), set_of(tangents)
        whole = have == self.have_all and all(map(_capture.is_plain, tangents))
        if self.native.backward is None and self.backward is not None and whole and self.fits(tangents):
            self.native.backward, self.backward = self.backward(), None
        grads: tuple[Any, ...] | None = None
        if not torch.is_grad_enabled():
            if self.native.backward is not None and whole:
                grads = self.native.backward(*saved, *tangents)
            elif self.expects(tangents):
                grads = self.partials.run(have, saved, tangents)
        return self.run_anew(saved, tangents, edges) if grads is None else grads

    def run_anew(
        self, saved: tuple[Any, ...], tangents: Sequence[Any], edges: Sequence[torch.Tensor]
    ) -> tuple[Any, ...]:
        segment = self.whole.segments[self.number]
        segment.on_compiled = self.take
        if segment.native.backward is None and self.native.backward is not None:
            segment.native.backward = self.native.backward
        return segment.run(saved, tangents, edges)

    def take(self, segment: SegmentBackward) -> None:
        """The backward, or one for some of the gradients, has been compiled."""
        if segment.native.backward is not None:
            self.native.backward = segment.native.backward
        self.on_compiled(segment)

    def fits(self, tangents: Sequence[torch.Tensor]) -> bool:
        """Whether the stored backward was compiled for tangents like these."""
        return self.expects(tangents) and all(
            tangent.stride() == strides for tangent, strides in zip(tangents, self.strides, strict=True)
        )

    def expects(self, tangents: Sequence[torch.Tensor | None]) -> bool:
        """Whether the tangents that are there have the sizes and types of the results."""
        return all(
            tangent is None or (tangent.shape, tangent.dtype) == expected
            for tangent, expected in zip(tangents, self.tangents, strict=True)
        )

    def after_failed_check(self, *args: Any) -> tuple[Any, ...]:
        """The operator raises its own error."""
        return self.whole.segments[self.number].by_operators(*args)

    def after_failed_partial(self, have: Have, *given: Any) -> tuple[Any, ...]:
        return self.whole.segments[self.number].partials.by_operators(have, given)

    def compiled(self) -> list[CompiledGraph]:
        whole = [] if self.native.backward is None else [self.native.backward]
        return [*whole, *self.partials.read.values()]


# --- to data ----------------------------------------------------------------------------------------------


def training_data(graph: TrainingGraph, writer: Writer, store: Any) -> dict[str, Any]:
    """Raises NotStored."""
    if graph.lifted:
        raise NotStored("a module that holds tensors")
    return {
        "forward": plan_data(graph.forward, writer, store),
        "outputs": outputs_data(graph.outputs, writer),
        "views": [view_data(view, writer) for view in graph.views],
        "writes": [list(pair) for pair in graph.writes],
        "sizes": [graph.parts.input_count, graph.parts.result_count, graph.parts.view_count],
        "segments": [segment_data(segment, writer, store) for segment in graph.segments],
    }


def views_data(graph: ViewsGraph, writer: Writer, store: Any) -> dict[str, Any]:
    """Raises NotStored."""
    if graph.lifted:
        raise NotStored("a module that holds tensors")
    return {
        "forward": plan_data(graph.forward, writer, store),
        "outputs": outputs_data(graph.outputs, writer),
        "views": [view_data(view, writer) for view in graph.views],
    }


def outputs_data(kinds: Sequence[Any], writer: Writer) -> list[Any]:
    return [[source, writer.write(value)] for source, value in kinds]


def view_data(view: Replay, writer: Writer) -> list[Any]:
    calls = [None if v is None else writer.write((v.func, v.args, v.kwargs, v.index)) for v in view.views]
    return [view.source, view.base, calls, view.detach, sorted(view.modes), view.call]


def segment_data(segment: Any, writer: Writer, store: Any) -> dict[str, Any]:
    part = segment.part
    layouts = segment.tangent_layouts
    backward = segment.native.backward
    return {
        "slots": list(part.slots),
        "edges": list(part.edges),
        "saved_inputs": list(part.saved_inputs),
        "saved_results": list(part.saved_results),
        "needed_by": [f"{edges:x}" for edges in part.needed_by],  # long numbers
        "apart": list(segment.apart),
        "tangents": [[list(shape), writer.write(dtype)] for shape, dtype in layouts],
        "backward": None if backward is None else backward_data(segment, writer, store),
        "partials": partials_data(segment.partials, [], writer, store),
    }


def added_data(data: dict[str, Any], segment: SegmentBackward, writer: Writer, store: Any) -> dict[str, Any]:
    """What the segment has compiled since its data were written. Raises NotStored."""
    added: dict[str, Any] = {}
    if data["backward"] is None and type(segment.native.backward) is CompiledGraph:
        added["backward"] = backward_data(segment, writer, store)
    partials = partials_data(segment.partials, data["partials"], writer, store)
    return added if partials == data["partials"] else {**added, "partials": partials}


def backward_data(segment: SegmentBackward, writer: Writer, store: Any) -> list[Any]:
    """[strides of the tangents, plan]. Raises NotStored."""
    return [[list(each) for each in segment.strides], plan_data(segment.native.backward, writer, store)]


# --- from data --------------------------------------------------------------------------------------------


def training_of(
    data: dict[str, Any], reader: Reader, compile_again: Callable[[], list[SegmentBackward]]
) -> TrainingGraph:
    whole = Backward(compile_again)
    segments = [StoredSegment(i, each, reader, whole) for i, each in enumerate(data["segments"])]
    whole.parts = [segment.part for segment in segments]
    return TrainingGraph(
        outputs_from(data["outputs"], reader),
        [(place, result) for place, result in data["writes"]],
        Sizes(*data["sizes"]),
        plan_of(data["forward"], reader, refuse),
        segments,
        refuse,
        views=[view_of(each, reader) for each in data["views"]],
    )


def views_of(data: dict[str, Any], reader: Reader) -> ViewsGraph:
    views = [view_of(each, reader) for each in data["views"]]
    forward = plan_of(data["forward"], reader, refuse)
    return ViewsGraph(outputs_from(data["outputs"], reader), forward, views, refuse)


def outputs_from(data: list[Any], reader: Reader) -> list[Any]:
    return [(source, reader.read(value)) for source, value in data]


def view_of(data: list[Any], reader: Reader) -> Replay:
    source, base, views, detach, modes, call = data
    calls = [None if view is None else ViewCall(*reader.read(view)) for view in views]
    return Replay(source, base, calls, detach, frozenset(modes), call)
