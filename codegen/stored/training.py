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
from codegen.autograd.segment_form import SegmentForm, form_of, give, ignore
from codegen.autograd.training import TrainingGraph, ViewsGraph
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

    def __init__(
        self,
        number: int,
        place: tuple[Part, SegmentForm],
        tangents: list[tuple[torch.Size, torch.dtype]],
        whole: Backward,
    ) -> None:
        """`place`: as `place_of` reads it. `tangents`: their sizes and types."""
        self.number = number
        self.part, self.form = place
        self.tangents = tangents
        self.whole = whole
        self.stand_ins = [
            torch.empty_strided(shape, (0,) * len(shape), dtype=dtype) if result is None else None
            for result, (shape, dtype) in zip(self.part.slots, self.tangents, strict=True)
        ]
        #: None until it is read, or compiled again
        self.backward: CompiledGraph | None = None
        #: reads the stored one, which was compiled for tangents of these strides; None: there is none
        self.read_backward: Callable[[], CompiledGraph] | None = None
        self.strides: list[tuple[int, ...]] = []
        self.partials: StoredPartials | None = None
        self.on_compiled: Callable[[Any], None] = ignore

    def read(self, data: dict[str, Any], reader: Reader) -> None:
        """Take the backwards among the data."""
        if data["backward"] is not None:
            strides, plan = data["backward"]
            self.strides = [tuple(each) for each in strides]
            self.read_backward = functools.partial(plan_of, plan, reader, self.fallback())
        if data["partials"]:
            fallback = functools.partial(partial_by_operators, self.whole, self.number)
            self.partials = StoredPartials(data["partials"], reader, fallback)

    def take(self, backward: CompiledGraph) -> None:
        """One that is filled for the segment's sizes."""
        backward.fallback = self.fallback()
        self.backward = backward

    def tell_compiled(self, listener: Callable[[Any], None]) -> None:
        self.on_compiled = listener

    def run(
        self, native: Any, saved: tuple[Any, ...], tangents: Sequence[Any], edges: Sequence[torch.Tensor]
    ) -> tuple[Any, ...]:
        have = set_of(saved), set_of(tangents)
        whole = have == self.form.have_all and all(map(_capture.is_plain, tangents))
        read = self.read_backward  # another thread may be here, too
        if self.backward is None and read is not None and whole and self.fits(tangents):
            self.backward, self.read_backward = read(), None
        grads: tuple[Any, ...] | None = None
        if not torch.is_grad_enabled():
            if self.backward is not None and whole and self.backward.expects(tuple(tangents)):
                grads = self.backward(*saved, *tangents)
            elif self.partials is not None and self.expects(tangents):
                grads = self.partials.run(have, saved, tangents)
        if grads is None:
            grads = self.run_anew(saved, tangents, edges)
        give(native, self.backward)
        return grads

    def run_anew(
        self, saved: tuple[Any, ...], tangents: Sequence[Any], edges: Sequence[torch.Tensor]
    ) -> tuple[Any, ...]:
        segment = self.whole.segments[self.number]
        segment.tell_compiled(self.on_compiled)
        if segment.backward is None:
            segment.backward = self.backward
        grads = segment.run(None, saved, tangents, edges)
        self.backward = segment.backward
        return grads

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

    def fallback(self) -> Callable[..., tuple[Any, ...]]:
        """What runs after a failed check: the operator raises its own error. It does not hold the segment."""
        return functools.partial(by_operators, self.whole, self.number)

    def compiled(self) -> list[CompiledGraph]:
        whole = [] if self.backward is None else [self.backward]
        return [*whole, *({} if self.partials is None else self.partials.graphs).values()]


def by_operators(whole: Backward, number: int, *args: Any) -> tuple[Any, ...]:
    return whole.segments[number].by_operators(*args)


def partial_by_operators(whole: Backward, number: int, have: Have, *given: Any) -> tuple[Any, ...]:
    return whole.segments[number].partials.by_operators(have, given)


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
    backward = segment.backward
    return {
        "slots": list(part.slots),
        "edges": list(part.edges),
        "saved_inputs": list(part.saved_inputs),
        "saved_results": list(part.saved_results),
        "needed_by": [f"{edges:x}" for edges in part.needed_by],  # long numbers
        "apart": list(map(bool, segment.form.kept_apart)),
        "tangents": [[list(shape), writer.write(dtype)] for shape, dtype in layouts],
        "backward": None if backward is None else backward_data(segment, writer, store),
        "partials": partials_data(segment.partials, [], writer, store),
    }


def added_data(data: dict[str, Any], segment: SegmentBackward, writer: Writer, store: Any) -> dict[str, Any]:
    """What the segment has compiled since its data were written. Raises NotStored."""
    added: dict[str, Any] = {}
    if data["backward"] is None and type(segment.backward) is CompiledGraph:
        added["backward"] = backward_data(segment, writer, store)
    partials = partials_data(segment.partials, data["partials"], writer, store)
    return added if partials == data["partials"] else {**added, "partials": partials}


def backward_data(segment: Any, writer: Writer, store: Any) -> list[Any]:
    """[strides of the tangents, plan]. Raises NotStored."""
    return [[list(each) for each in segment.strides], plan_data(segment.backward, writer, store)]


# --- from data --------------------------------------------------------------------------------------------


def training_of(
    data: dict[str, Any], reader: Reader, compile_again: Callable[[], list[SegmentBackward]]
) -> TrainingGraph:
    whole = Backward(compile_again)
    segments = []
    for number, each in enumerate(data["segments"]):
        tangents = [(torch.Size(shape), reader.read(dtype)) for shape, dtype in each["tangents"]]
        segments.append(StoredSegment(number, place_of(each), tangents, whole))
        segments[-1].read(each, reader)
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


def place_of(data: dict[str, Any]) -> tuple[Part, SegmentForm]:
    lists = data["slots"], data["edges"], data["saved_inputs"], data["saved_results"]
    part = Part(*lists, [int(edges, 16) for edges in data["needed_by"]])
    return part, form_of(part, data["apart"])


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
