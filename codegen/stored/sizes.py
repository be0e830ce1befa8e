"""Graphs that were compiled for all sizes as plain data: their templates.

In:  a `SymbolicGraph` or a `SymbolicTraining` with the plans that it has made; or None, where a graph has no
     form for all sizes.
Out: `KeptSizes`: the same, and the store has its templates. `StoredSizes`: the templates, in another process.

    {"forward": [template, ...], "training": {"outputs": ..., "segments": [...]}, "keys": [[7], [12]]}

A template serves all ints that its conditions admit. It is made when it is first tried, and the first to be
tried is the one that was planned for these ints. For others the graph is compiled for all sizes again: from
the module, with symbols of the stored layouts. Then the store gets the new templates too.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import _capture
import torch
from torch import fx

from codegen.autograd.segment_form import saved_apart
from codegen.autograd.training import TrainingGraph
from codegen.dynamic.plans import TEMPLATES
from codegen.launch.compiled import refuse
from codegen.stored.layouts import expression_data, number
from codegen.stored.names import DAMAGES
from codegen.stored.plans import plan_data, plan_of
from codegen.stored.training import Backward, Sizes, StoredSegment, outputs_data, outputs_from, place_of
from codegen.stored.values import Reader, Writer

if TYPE_CHECKING:
    from codegen.autograd.segment_backward import SegmentBackward


class Origin(Protocol):
    """`codegen.stored.graphs.Origin`."""

    @property
    def inputs(self) -> list[Any]: ...

    @property
    def module(self) -> fx.GraphModule: ...

    def module_for(self, inputs: Sequence[Any]) -> fx.GraphModule:
        """A new module, with examples of the sizes of these inputs."""
        ...

    def sizes_again(self, keys: Sequence[tuple[int, ...]]) -> KeptSizes | None:
        """The graph, compiled for all sizes, with plans for these ints."""
        ...


log = logging.getLogger("capture.codegen")

PLANNED_AGAIN = 8  # ints that get a plan where the graph is compiled again; the newest
REFUSED = 16  # most combinations of ints of which is known that they have no plan
Key = tuple[int, ...]


class KeptSizes:
    """As `symbolic`, and None stays None. `put(self)` is called when there is more to store.

    stored_key: its key in the store. has_form: whether there are plans for any ints at all. keys: ints for
    which templates were made. refused: ints for which there is no plan.
    """

    stored_key: str | None = None

    def __init__(self, symbolic: Any, put: Callable[[KeptSizes], None], keys: Sequence[Key] = ()) -> None:
        self.symbolic = symbolic
        self.templates: list[Any] = []
        self.keys: list[Key] = []
        self.refused: list[Key] = []
        self._put = put
        self._stored: Any = None
        self.has_form = symbolic is not None
        self._living: list[int] = []  # the ids of the templates
        self._planned_for: dict[int, Key] = {}  # by the id of a living template
        for key in keys[-PLANNED_AGAIN:]:
            self._plan(key, lambda template: None)

    def graph_for(self, key: Sequence[int], add_template: Callable[[Any], None]) -> Any:
        made = self._plan(tuple(key), add_template)
        known = self._living, len(self.refused)
        if known != self._stored:
            self._stored = known
            self._put(self)
        return made

    def _plan(self, key: Key, add_template: Callable[[Any], None]) -> Any:
        if self.symbolic is None:
            return None

        def add(template: Any) -> None:
            self.templates = [*self.templates, template][-TEMPLATES:]
            add_template(template)

        before = self._living
        made = self.symbolic.graph_for(key, add)
        self._living = [id(template) for plans in plans_of(self) for template in plans]
        if made is None and key not in self.refused:
            self.refused = [*self.refused, key][-REFUSED:]
        elif self._living != before:
            self.keys = [*self.keys, key][-TEMPLATES:]
        if self._living != before:  # also where a part has a plan, and another one has none
            self._planned_for = {template: self._planned_for.get(template, key) for template in self._living}
        return made

    def planned_for(self, template: Any) -> Key:
        """The ints for which it was made."""
        return self._planned_for[id(template)]


def plans_of(kept: KeptSizes) -> list[list[Any]]:
    """The templates of the graph; of the forward and of each segment, where it has gradients."""
    training = kept.symbolic if hasattr(kept.symbolic, "backward") else None
    if training is None:
        return [kept.templates]
    return [plans.templates for plans in (training.forward, *training.backward)]


# --- to data ----------------------------------------------------------------------------------------------


def sizes_data(kept: KeptSizes, writer: Writer, store: Any) -> dict[str, Any]:
    """Raises NotStored."""
    forward, *backward = plans_of(kept)
    return {
        "planned": kept.has_form,
        "forward": templates_data(forward, kept, writer, store),
        "training": training_data(kept, backward, writer, store) if backward else None,
        "keys": kept.keys,
        "refused": kept.refused,
    }


def templates_data(
    templates: Sequence[Any], kept: KeptSizes, writer: Writer, store: Any
) -> list[dict[str, Any]]:
    return [
        {"key": kept.planned_for(template), **template_data(template, writer, store)}
        for template in templates
    ]


def template_data(template: Any, writer: Writer, store: Any) -> dict[str, Any]:
    numbers = (template.rows, template.conditions, template.open_words, template.open_objects)
    return {
        "plan": plan_data(template.first, writer, store),
        "ints": template.ninputs,
        "numbers": [writer.blob(each) for each in numbers],
    }


def training_data(kept: KeptSizes, backward: list[list[Any]], writer: Writer, store: Any) -> dict[str, Any]:
    training = kept.symbolic
    parts = training.parts
    return {
        "names": training.names,
        "outputs": outputs_data(training.joint.outputs, writer),
        "writes": [list(pair) for pair in training.joint.writes],
        "sizes": [parts.input_count, parts.result_count, parts.view_count],
        "segments": [
            segment_data(part, parts.backward[i + 1 :], writer)
            | {"templates": templates_data(plans, kept, writer, store)}
            for i, (part, plans) in enumerate(zip(parts.backward, backward, strict=True))
        ],
    }


def segment_data(part: Any, later: Any, writer: Writer) -> dict[str, Any]:
    return {
        "slots": list(part.slots),
        "edges": list(part.edges),
        "saved_inputs": list(part.saved_inputs),
        "saved_results": list(part.saved_results),
        "needed_by": [f"{edges:x}" for edges in part.needed_by],
        "apart": list(saved_apart(part, later)),
        "tangents": [
            [list(map(expression_data, value.shape)), writer.write(value.dtype)]
            for value in part.tangent_values
        ],
    }


# --- from data --------------------------------------------------------------------------------------------


class StoredSizes:
    """The templates of another process.

    inputs: an int for each int among the inputs of the graph. `module()` is the captured graph, and
    `module_for(inputs)` the same with examples of these sizes. has_form: as for `KeptSizes`.
    """

    stored_key: str | None = None

    def __init__(self, data: dict[str, Any], reader: Reader, origin: Origin) -> None:
        self.inputs: list[Any] = origin.inputs
        self.module: Callable[[], fx.GraphModule] = lambda: origin.module
        self.module_for: Callable[[Sequence[Any]], fx.GraphModule] = origin.module_for
        self.has_form: bool = data["planned"]
        self.keys: list[Key] = [tuple(key) for key in data["keys"]]
        self.refused = {tuple(key) for key in data["refused"]}
        self.lock = threading.Lock()
        self._compile_again = origin.sizes_again
        training = data["training"]
        self.forward = StoredTemplates(data["forward"], reader, refuse)
        self.training = None if training is None else StoredTraining(training, reader)

    def graph_for(self, key: Sequence[int], add_template: Callable[[Any], None]) -> Any:
        if not self.has_form or tuple(key) in self.refused:
            return None
        made = self._from_templates(tuple(key), add_template)
        if made is not None:
            return made
        again = self.again
        return None if again is None else again.graph_for(key, add_template)

    @functools.cached_property
    def again(self) -> KeptSizes | None:
        """The graph, compiled for all sizes in this process."""
        with self.lock:
            return self._compile_again(self.keys)

    def _from_templates(self, key: Key, add_template: Callable[[Any], None]) -> Any:
        if self.training is None:
            return self.forward.graph(key, add_template)
        forward, *backward = (plans.graph(key) for plans in (self.forward, *self.training.backward))
        if forward is None or any(graph is None for graph in backward):
            return None
        return self.training.graph(key, forward, backward, lambda: self._segments(key))

    def _segments(self, key: Key) -> list[SegmentBackward]:
        again = self.again
        graph = None if again is None else again.symbolic.graph_for(key, lambda template: None)
        if graph is None:
            raise RuntimeError(
                f"the backward of a captured graph from the store can't be compiled again for the sizes "
                f"{key}. CAPTURE_DISK_CACHE=0 does without the store."
            )
        segments: list[SegmentBackward] = graph.segments
        return segments


class StoredTraining:
    """What all sizes have in common; `backward` are the templates of each segment."""

    def __init__(self, data: dict[str, Any], reader: Reader) -> None:
        self.reader = reader
        self.names = data["names"]
        self.outputs = outputs_from(data["outputs"], reader)
        self.writes = [(place, result) for place, result in data["writes"]]
        self.sizes = Sizes(*data["sizes"])
        self.places = [place_of(segment) for segment in data["segments"]]
        self.tangents = [
            [(shape, reader.read(dtype)) for shape, dtype in segment["tangents"]]
            for segment in data["segments"]
        ]
        self.backward = [StoredTemplates(segment["templates"], reader, None) for segment in data["segments"]]

    def graph(
        self,
        key: Key,
        forward: Any,
        backward: list[Any],
        compile_again: Callable[[], list[SegmentBackward]],
    ) -> TrainingGraph:
        sizes = {name: size for name, size in zip(self.names, key) if name is not None}
        whole = Backward(compile_again)
        whole.parts = [part for part, _ in self.places]
        rows = zip(self.places, self.tangents, backward, strict=True)
        segments = []
        for i, (place, tangents, graph) in enumerate(rows):
            segments.append(StoredSegment(i, place, _in_numbers(tangents, sizes), whole))
            segments[-1].take(graph)
        return TrainingGraph(self.outputs, self.writes, self.sizes, forward, segments, refuse)


def _in_numbers(tangents: list[Any], sizes: dict[str, int]) -> list[tuple[torch.Size, torch.dtype]]:
    return [(torch.Size([number(n, sizes) for n in shape]), dtype) for shape, dtype in tangents]


class StoredTemplates:
    """The templates of one part of a graph."""

    def __init__(
        self, data: list[dict[str, Any]], reader: Reader, fallback: Callable[..., Any] | None
    ) -> None:
        self._data = [(tuple(each["key"]), each) for each in data]
        self._reader, self._fallback = reader, fallback
        self._made: dict[int, Any] = {}

    def graph(self, key: Key, tell: Callable[[Any], None] = lambda template: None) -> Any:
        """The plan for these ints; None where no template serves them. `tell` gets the one that does."""
        for place in sorted(range(len(self._data)), key=lambda place: self._data[place][0] != key):
            template = self._template(place)
            graph = None if template is None else template.graph(*key)
            if graph is not None:
                tell(template)
                return graph
        return None

    def _template(self, place: int) -> Any:
        """None where it is damaged."""
        if place not in self._made:
            try:
                self._made[place] = template_of(self._data[place][1], self._reader, self._fallback)
            except DAMAGES as damage:
                log.warning("a stored plan is not used: %s: %s", type(damage).__name__, damage)
                self._made[place] = None
        return self._made[place]


def template_of(data: dict[str, Any], reader: Reader, fallback: Callable[..., Any] | None) -> Any:
    numbers = [reader.read({"bytes": place}) for place in data["numbers"]]
    return _capture.PlanTemplate(plan_of(data["plan"], reader, fallback), data["ints"], *numbers)
