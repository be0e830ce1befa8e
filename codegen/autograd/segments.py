"""Which parts of a graph's backward are nodes of autograd's graph.

In:  autograd's own graph behind the traced results (its steps are on fake tensors), and the places of the
     inputs in it.
Out: `Segment`s, in an order in which each comes after those that its edges lead to; `grads_of` runs one.

    h = x.exp();  return h, (h * w).sum()     a segment from the sum to w and h, a segment from h to x

In eager each operation is a node. A graph has fewer: the steps behind a result, up to the inputs and the
other results, are one. So hooks on a result, `retain_grad`, gradients of one result by another, and a
backward from some of the results do as in eager: each node runs only where a gradient comes, and frees what
it saved. Steps behind several results are a segment of their own, because they run once, with the sum of what
comes. So a segment has all steps that lead to the same results without passing through others.

A slot is a place where gradients come into a segment: a result, or a value that other segments read.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any

import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge

from capture_records import dataclass
from codegen.fake.shapes.spec import contiguous, like
from codegen.fake.twins import step_name
from codegen.kernel.errors import UntraceableError

Step = Any  # a node of autograd's graph, as Python shows it
Place = tuple[Step, int]  # a step, and which of the gradients that it takes
LEAF = "torch::autograd::AccumulateGrad"  # the step that adds to `tensor.grad`


@dataclass(slots=True)
class Segment:
    """`results`: for each slot, the number of the result that is there, or None.

    `edges`: where the gradients go; `slots` of other segments, and places of inputs. `ways`: for each of its
    steps the edges that it leads to, one bit for each.
    """

    slots: list[Place] = field(default_factory=list)
    results: list[int | None] = field(default_factory=list)
    edges: list[Place] = field(default_factory=list)
    ways: dict[Step, int] = field(default_factory=dict)

    def result_places(self) -> list[Place]:
        return [place for place, result in zip(self.slots, self.results) if result is not None]

    def sequence(self) -> int:
        """When its last slot was made: later steps run first in a backward."""
        return max(int(step._sequence_nr()) for step, _ in self.slots)


def place_of(tensor: torch.Tensor) -> Place:
    edge = get_gradient_edge(tensor)
    return edge.node, edge.output_nr


def find_segments(
    results: dict[int, torch.Tensor], inputs: set[Place], views: Mapping[Place, Place]
) -> list[Segment]:
    """`results`: the results that require grad, by number; `inputs`: those that get gradients; `views`: the
    views that are made outside of the graph, each with the place of its base.
    """
    ends = inputs | views.keys()
    tops = {number: place_of(tensor) for number, tensor in results.items()}
    if len(set(tops.values())) < len(tops):
        raise UntraceableError("two results in one place of autograd's graph")
    bits = {step: 1 << i for i, step in enumerate(dict.fromkeys(step for step, _ in tops.values()))}
    order = consumers_first(list(bits), {step for step, _ in ends})
    if any(step_name(place[0]) == LEAF and place not in ends for place in tops.values()):
        raise UntraceableError("a result that the graph makes a leaf: its gradient stays there")
    keep_ways_to(ends, order, bits)
    reach: dict[Step, int] = {}  # the results that a step leads to; for a result's own step only itself
    for step, following in order.items():
        own = reach[step] = bits.get(step) or reach[step]
        for place in following:
            reach[place[0]] = reach.get(place[0], 0) | own
    segments: dict[int, Segment] = {}
    for number, place in tops.items():
        add_slot(segments.setdefault(reach[place[0]], Segment()), place, number)
    for step, following in order.items():
        segment = segments.setdefault(reach[step], Segment())
        for place in following:
            inner = place[0] in order and reach[place[0]] == reach[step] and place[0] not in bits
            if not inner and place not in segment.edges:
                segment.edges.append(place)
                if place[0] in order:
                    add_slot(segments.setdefault(reach[place[0]], Segment()), place, None)
    for step in reversed(order):
        find_ways(segments[reach[step]], step, order[step])
    return producers_first(list(segments.values()), views)


def find_ways(segment: Segment, step: Step, following: list[Place]) -> None:
    """The steps that `step` leads to come first."""
    segment.ways[step] = 0
    for place in following:
        inner = segment.ways.get(place[0])
        segment.ways[step] |= 1 << segment.edges.index(place) if inner is None else inner


def add_slot(segment: Segment, place: Place, result: int | None) -> None:
    if place not in segment.slots:
        segment.slots.append(place)
        segment.results.append(result)


def consumers_first(tops: Sequence[Step], ends: set[Step]) -> dict[Step, list[Place]]:
    """The steps behind `tops`, each before the places that it leads to. `ends` are not followed."""
    following: dict[Step, list[Place]] = {}
    finished: list[Step] = []
    pending: list[tuple[Step, bool]] = [(step, False) for step in tops]
    while pending:
        step, seen = pending.pop()
        if seen:
            finished.append(step)
        elif step not in following:
            following[step] = [(to, nr) for to, nr in step.next_functions if to is not None]
            pending.append((step, True))
            pending += [(to, False) for to, _ in following[step] if to not in ends and to not in following]
    return {step: following[step] for step in reversed(finished)}


def keep_ways_to(ends: set[Place], order: dict[Step, list[Place]], tops: Container[Step]) -> None:
    """Drops the places from which no gradient reaches an end, and the steps at them."""
    leading: set[Step] = set()
    for step in [*reversed(order)]:
        order[step] = [place for place in order[step] if place in ends or place[0] in leading]
        if order[step]:
            leading.add(step)
        elif step not in tops:
            del order[step]


def producers_first(segments: list[Segment], views: Mapping[Place, Place]) -> list[Segment]:
    """Among those that may come next, the ones that were made first come first."""
    owner = {place: number for number, segment in enumerate(segments) for place in segment.slots}
    waiting = [0] * len(segments)
    readers: dict[int, list[int]] = {}
    for number, segment in enumerate(segments):
        for place in segment.edges:
            while place in views:
                place = views[place]
            if place in owner:
                readers.setdefault(owner[place], []).append(number)
                waiting[number] += 1
    ready = [(segment.sequence(), number) for number, segment in enumerate(segments) if not waiting[number]]
    heapq.heapify(ready)
    ordered = []
    while ready:
        _, number = heapq.heappop(ready)
        ordered.append(segments[number])
        for reader in readers.get(number, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, (segments[reader].sequence(), reader))
    return ordered


# --- gradients of one segment -----------------------------------------------------------------------------


class Borders:
    """While `running` is a segment, no gradient passes the slots of the others, those in `closed`, or views
    that are made outside of the graph.
    """

    def __init__(self) -> None:
        self.running: Segment | None = None
        self.closed: set[Place] = set()

    def hook(self, segment: Segment, step: Step) -> Any:
        def stop(grads: tuple[Any, ...]) -> tuple[Any, ...] | None:
            if segment is not self.running:
                return (None,) * len(grads)
            if not self.closed:
                return None
            return tuple(None if (step, i) in self.closed else grad for i, grad in enumerate(grads))

        return stop

    def hook_behind(self, segment: Segment) -> Any:
        """Some steps compute gradients also where none has come (recurrent layers)."""

        def stop(grads: tuple[Any, ...], incoming: tuple[Any, ...]) -> tuple[Any, ...] | None:
            return None if segment is self.running else (None,) * len(grads)

        return stop


def stop_all(grads: tuple[Any, ...]) -> tuple[Any, ...]:
    return (None,) * len(grads)


@contextmanager
def borders(segments: Sequence[Segment], views: Iterable[Place], own: bool = False) -> Iterator[Borders]:
    """Hooks of autograd's steps hold the borders. The collector does not see them: they are taken off.

    `own`: whether slots of the running segment will be closed.
    """
    found = Borders()
    handles = []
    try:
        for step in dict.fromkeys(step for step, _ in views):
            handles.append(step.register_prehook(stop_all))
        if len(segments) > 1 or own:
            for segment in segments:
                for step in dict.fromkeys(step for step, _ in segment.slots):
                    handles.append(step.register_prehook(found.hook(segment, step)))
                    handles.append(step.register_hook(found.hook_behind(segment)))
        yield found
    finally:
        for handle in handles:
            handle.remove()


def run_autograd(
    targets: Sequence[Any], tangents: Sequence[Any], wanted: Sequence[Any], create_graph: bool = False
) -> tuple[torch.Tensor | None, ...]:
    """`torch.autograd.grad(..., allow_unused=True, retain_graph=True)` without its checks.

    The checks import sympy (0.3 s). The program's anomaly mode would warn of what can't be traced.
    """
    run = torch.autograd.graph._engine_run_backward
    with torch.autograd.set_detect_anomaly(False):
        return run(
            tuple(targets), tuple(tangents), True, create_graph, tuple(wanted), True, accumulate_grad=False
        )


def tangents_of(
    segment: Segment, slots: Sequence[int], results: Sequence[torch.Tensor], mode: Any
) -> list[torch.Tensor]:
    """Fake gradients for these slots.

    They are dense: gradients of elements that share memory are separate numbers.
    """
    found = []
    for slot in slots:
        (step, number), result = segment.slots[slot], segment.results[slot]
        if result is not None:
            found.append(mode.new(like(results[result]), results[result].device))
        else:
            value = step._input_metadata[number]
            found.append(mode.new(contiguous(tuple(value.shape), value.dtype), value.device))
    return found


def edges_to(places: Iterable[Place]) -> list[GradientEdge]:
    return [GradientEdge(step, number) for step, number in places]
