"""Graphs that are called under autocast.

In:  a compiled graph that was traced under autocast: the casts of its operators are operators of the graph.
Out: the same graph; each call of it runs without autocast. Where the graph can't run, its fallback runs under
     autocast.

    with torch.autocast("cpu"): y = graph(x, w)   ->   x.to(bfloat16), w.to(bfloat16), mm: nothing is cast a
                                                       second time

Gradients are traced without autocast: eager computes them so where the backward runs after the region.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from codegen.kernel.wrapper import GraphWrapper

TEMPLATES = 8  # most templates of one graph; the newest are kept


def is_on() -> bool:
    on: bool = torch.is_autocast_enabled("cpu")
    return on


@contextlib.contextmanager
def switched(on: bool) -> Iterator[None]:
    """Switches autocast on or off for a block; its dtype and its cache stay as they are."""
    before = is_on()
    torch.set_autocast_enabled("cpu", on)
    try:
        yield
    finally:
        torch.set_autocast_enabled("cpu", before)


class WithoutAutocast(GraphWrapper):
    """A compiled graph; each call of it runs without autocast."""

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        set_enabled = torch.set_autocast_enabled
        set_enabled("cpu", False)
        try:
            result: tuple[Any, ...] = self.graph(*args)
            return result
        finally:
            set_enabled("cpu", True)


class SizedWithoutAutocast:
    """A compiled symbolic graph whose graphs run without autocast.

    It keeps its own templates, because each graph that a template makes has to be wrapped.
    """

    stored_key: str | None = None

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.templates: list[Any] = []

    def graph_for(self, key: Sequence[int], add_template: Any) -> WithoutAutocast | None:
        made = next((g for t in self.templates if (g := t.graph(*key)) is not None), None)
        made = made or self.graph.graph_for(key, self.templates.append)
        del self.templates[:-TEMPLATES]
        return None if made is None else WithoutAutocast(made)


class WithAutocast:
    """The fallback of a graph, for calls without the autocast that the graph was traced under."""

    def __init__(self, run: Callable[..., tuple[Any, ...]]) -> None:
        self.run = run

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        with switched(True):
            return self.run(*args)
