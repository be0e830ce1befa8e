"""Our backend for torch.compile: `torch.compile(model, backend="capture")`.

In:  a graph of torch.compile and its example inputs; the `mode` and `options` of torch.compile.
Out: a callable of native code, as the backend "llvm" makes it.

    torch.compile(f, backend="capture")             ->   native code for the sizes of the first call
    torch.compile(f, backend="capture", dynamic=True)   ->   native code for all sizes

A graph with symbolic sizes is compiled at its first call, because only then its sizes are numbers. Graphs
with numbers that only a run knows run operator by operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from capture.backends import registry
from capture.backends.settings import check_mode, make_settings
from capture.backends.value_parts import reads_values
from capture.hooks.switch import OFF, switch
from codegen.launch.compiled import EagerGraph

if TYPE_CHECKING:
    import torch.fx

    from capture.policy.settings import CaptureSettings

SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


def torch_compile_backend(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """`options` are those of the backend "llvm". No input is marked as frozen here, so `freeze` freezes
    nothing. `mode` changes nothing.
    """
    check_mode(mode)
    settings = make_settings("llvm", options=options)
    if reads_values(gm.graph):
        return EagerGraph(gm, "numbers that only a run knows, in a graph of torch.compile")
    if any(isinstance(value, SYMBOLIC) for value in example_inputs):
        return CompiledAtFirstCall(settings, gm)
    return registry.call(settings, gm, list(example_inputs))


class CompiledAtFirstCall:
    """A graph with symbolic sizes, which is compiled for the inputs of its first call and for all others."""

    def __init__(self, settings: CaptureSettings, gm: torch.fx.GraphModule) -> None:
        self.settings = settings
        self.module = gm
        self.compiled: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        if self.compiled is None:
            before = switch(OFF)
            try:
                self.compiled = registry.call(self.settings, self.module, list(args))
            finally:
                switch(before)
        return self.compiled(*args)
