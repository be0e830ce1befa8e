"""Outputs that are made outside of the compiled code.

In:  an input of the graph, a result of its compiled forward, or another view.
Out: the view of it that the program returned.

    return x * 2, x[0]   ->   the second output: Replay of select(x, 0, 0), on input 0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from capture_records import dataclass

if TYPE_CHECKING:
    from codegen.trace.view_call import ViewCall


@dataclass(slots=True)
class Replay:
    """An output that is a view of a graph input or of another output.

    It is made outside the compiled code, so that autograd sees the view. `source` is "input", "result" or
    "view": among the graph's inputs, the function's results or the views before this one, the base has the
    position `base`. `views` are applied from first to last; they were made in the grad `modes`. Views
    with the same number `call` are results of one call, the last one: a node of autograd's graph.
    """

    source: str
    base: int
    views: list[ViewCall | None]
    detach: bool
    modes: frozenset[bool]

    call: int | None = None

    @property
    def cut_off(self) -> bool:
        """Whether the program detached it. The grad mode of its views is unknown then."""
        return self.detach and None in self.views

    def beside(self, index: int) -> Replay:
        """Another result of the call that makes the view."""
        last = self.views[-1]
        assert last is not None and last.index is not None
        views = [*self.views[:-1], type(last)(last.func, last.args, last.kwargs, index)]
        return Replay(self.source, self.base, views, self.detach, self.modes, self.call)


class Views:
    """The views that a call of the graph makes. Each is made when it is first asked for."""

    def __init__(self, replays: Sequence[Replay], args: Sequence[Any], results: Sequence[Any]) -> None:
        self.replays = replays
        self.sources = {"input": args, "result": results}
        self.made: dict[int, torch.Tensor] = {}
        self.calls: dict[int, Sequence[torch.Tensor]] = {}

    def all(self) -> list[torch.Tensor]:
        return [self.view(number) for number in range(len(self.replays))]

    def view(self, number: int) -> torch.Tensor:
        if number not in self.made:
            replay = self.replays[number]
            is_of_view = replay.source == "view"
            base = self.view(replay.base) if is_of_view else self.sources[replay.source][replay.base]
            self.made[number] = self.make(replay, base)
        return self.made[number]

    def make(self, replay: Replay, base: torch.Tensor) -> torch.Tensor:
        value = base
        for place, view in enumerate(replay.views):
            if view is None:
                keeps = value.requires_grad and not replay.detach
                value = torch.ops.aten.alias(value) if keeps else value.detach()
            elif view.index is None:
                value = view.func(value, *view.args, **view.kwargs)
            else:
                shared = replay.call if place == len(replay.views) - 1 else None
                made = self.calls.get(shared) if shared is not None else None
                if made is None:
                    made = view.func(value, *view.args, **view.kwargs)
                if shared is not None:
                    self.calls[shared] = made
                value = made[view.index]
        return value.detach() if replay.detach and value.requires_grad else value
