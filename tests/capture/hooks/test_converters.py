"""Keys of equal settings: one object while something refers to it, and gone with its backend."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import _capture
import pytest
import torch

import capture
from capture.explain import Collector
from capture.report.observe import observing


def made_backend() -> Callable[..., Any]:
    def backend(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        return gm.forward

    return backend


def made_function() -> Callable[[torch.Tensor], torch.Tensor]:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    return double


def compiled(backend: Any) -> Any:
    return capture.compile(made_function(), backend=backend)


def in_a_block(backend: Any) -> Any:
    def run(x: torch.Tensor) -> torch.Tensor:
        with capture.enable(backend):
            return function(x)

    function = made_function()
    return run


def explained(backend: Any) -> Any:
    return capture.explain(made_function(), backend=backend)


@pytest.mark.parametrize("use", [compiled, in_a_block, explained])
def test_a_backend_dies_with_what_it_was_used_for(use: Callable[[Any], Any]) -> None:
    backend = made_backend()
    reference = weakref.ref(backend)
    fast = use(backend)
    fast(torch.ones(2))
    del backend, fast
    gc.collect()
    gc.collect()
    assert reference() is None


def test_a_backend_with_options_dies() -> None:
    def backend(gm: torch.fx.GraphModule, inputs: Any, *, level: int) -> Any:
        return gm.forward

    reference = weakref.ref(backend)
    capture.compile(made_function(), backend=backend, options={"level": 3})(torch.ones(2))
    del backend
    gc.collect()
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("options", [None, {"level": 3}], ids=str)
def test_blocks_with_equal_settings_share_entries(options: Any) -> None:
    def backend(gm: torch.fx.GraphModule, inputs: Any, *, level: int = 0) -> Any:
        return gm.forward

    function = made_function()
    with observing(collector := Collector()):
        for _ in range(3):
            with capture.enable(backend, options=options):
                function(torch.ones(2))
            gc.collect()
    assert collector.found.graph_count == 1


class Backends:
    def make(self, gm: torch.fx.GraphModule, inputs: Any) -> Any:
        return gm.forward


def test_methods_of_one_object_are_one_backend() -> None:
    function, backends = made_function(), Backends()
    with observing(collector := Collector()):
        for _ in range(3):
            capture.compile(function, backend=backends.make)(torch.ones(2))
    assert collector.found.graph_count == 1
    reference = weakref.ref(backends)
    del backends
    gc.collect()
    assert reference() is None


def test_entries_of_a_dead_backend_are_gone() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    for _ in range(3):
        capture.compile(function, backend=made_backend())(torch.ones(2))
        gc.collect()
    assert _capture.entries(function.__code__) == []
