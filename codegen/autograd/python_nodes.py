"""Nodes of autograd's graph that are made in Python, by `torch.autograd.Function`.

In:  the parts of a backward, all that the forward gave, and its arguments.
Out: the results, joined to autograd's graph.

The nodes are made here where native code does not build them (native/autograd/training_function.c). This
skips `torch.autograd.Function.apply`, whose checks are for functorch: graphs are not called under functorch's
transforms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

try:
    import _capture
except ImportError:
    _capture = None

from codegen.autograd.replay import Replay, Views
from codegen.autograd.segment_form import Runs, SegmentForm
from codegen.launch.compiled import CompiledGraph


class Segment(Runs, Protocol):
    """A part of the backward (`segment_backward.py`, `codegen.stored.training`).

    `part`: its slots, edges and what it saves (`partition.BackwardPart`).
    """

    part: Any
    form: SegmentForm

    def __hash__(self) -> int: ...

    def compiled(self) -> list[CompiledGraph]: ...


def nodes_in_python(
    result_count: int, segments: Sequence[Segment], views: Sequence[Replay] = ()
) -> Callable[..., tuple[Any, ...]]:
    """A function that maps (all values of the forward, *arguments) to the results, and the views behind them.

    `views`: all of them, if an edge leads to one.
    """
    functions: list[Callable[..., Any]] = []  # of the segments, made at the first call: most have none

    def wrap(given: tuple[Any, ...], *args: Any) -> tuple[Any, ...]:
        made = Views(views, args, given)
        places = [*args, *(None for _ in views)]  # what the edges lead to; then what is in the slots
        if not functions:
            functions.extend(map(apply_of, segments))
        for segment, apply in zip(segments, functions):
            for place in segment.part.edges:
                if places[place] is None:
                    places[place] = made.view(place - len(args))
            ends = [places[place] for place in segment.part.edges]
            places += apply(in_slots(segment, given), saved_by(segment, given, args), *ends)
        return *given[:result_count], *made.all()

    return wrap


def in_slots(segment: Segment, given: Sequence[Any]) -> list[torch.Tensor]:
    """The tensors that the node is joined to: results, and new ones in place of other values."""
    found = []
    for result, stand_in in zip(segment.part.slots, segment.stand_ins, strict=True):
        if result is not None:
            found.append(given[result])
        else:
            assert stand_in is not None
            found.append(torch.empty_strided(stand_in.shape, stand_in.stride(), dtype=stand_in.dtype))
    return found


def saved_by(segment: Segment, given: Sequence[Any], args: Sequence[Any]) -> list[torch.Tensor]:
    """What the node saves. Results of later nodes are detached: they would hold this one."""
    part = segment.part
    own = set(part.slots)
    found = [args[i] for i in part.saved_inputs]
    for result, apart in zip(part.saved_results, segment.form.kept_apart, strict=True):
        found.append(given[result].detach() if apart and result not in own else given[result])
    return found


def apply_of(segment: Segment) -> Callable[..., tuple[Any, ...]]:
    class CapturedGraph(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, slots: list[Any], saved: list[Any], *ends: Any) -> Any:
            ctx.save_for_backward(*saved)
            ctx.set_materialize_grads(False)
            ctx.ends = [_capture.edge_to(end) for end in ends]
            return tuple(slots)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            saved = ctx.saved_tensors if segment.form.kept_apart or segment.part.saved_inputs else ()
            return None, None, *segment.run(None, saved, grads, ctx.ends)

    made: Callable[..., tuple[Any, ...]] = super(torch.autograd.Function, CapturedGraph).apply
    return made
