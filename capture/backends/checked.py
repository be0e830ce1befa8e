"""The callables of backends, with checks of their results.

In:  the callable that a backend has made of a graph, and the graph.
Out: a callable whose results are those that the graph promises: as many at each call, and at its first call
     of the same kinds.

    CheckedBackend("mine", lambda x: (x.double(),), gm)(x)
        ->   BackendError: backend 'mine': result 0 of its callable is torch.float64[2], the graph has ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from capture.hooks.switch import OFF, switch
from capture.report.errors import BackendError

if TYPE_CHECKING:
    import torch.fx


class CheckedBackend:
    """The callable of the backend `name`. `check_kinds`: the first call checks the kinds of the results."""

    def __init__(
        self, name: str, compiled: Callable[..., Any], gm: torch.fx.GraphModule, check_kinds: bool = True
    ) -> None:
        self.name = name
        self.compiled = compiled
        self.count = len(_outputs(gm))
        self.promises = gm if check_kinds else None  # until the first call has kept them

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        before = switch(OFF)  # neither the backend's own Python code nor sympy must be captured
        try:
            return self._checked(self.compiled(*args), args)
        finally:
            switch(before)

    def _checked(self, outputs: Any, args: Sequence[Any]) -> tuple[Any, ...]:
        if not isinstance(outputs, tuple | list):
            raise BackendError(
                self.name,
                f"its callable returned {type(outputs).__name__}, not a tuple of {self.count} outputs",
            )
        if len(outputs) != self.count:
            raise BackendError(
                self.name, f"its callable returned {len(outputs)} outputs, the graph has {self.count}"
            )
        if self.promises is not None:
            self._check_kinds(self.promises, args, outputs)
            self.promises = None
        return tuple(outputs)

    def _check_kinds(self, gm: torch.fx.GraphModule, args: Sequence[Any], outputs: Sequence[Any]) -> None:
        """The results have the types, dtypes and shapes that the graph promises for these inputs."""
        numbers = _numbers(gm, args)
        for place, (node, result) in enumerate(zip(_outputs(gm), outputs, strict=True)):
            expected, found = node.meta.get("example_value"), _Kind.of(result, {})
            if not isinstance(expected, torch.Tensor):
                continue
            wanted = _Kind.of(expected, numbers)
            if not wanted.fits(found):
                raise BackendError(
                    self.name, f"result {place} of its callable is {found}, the graph has {wanted}"
                )


class _Kind:
    """What is promised of a result. A size is None if only the run knows it."""

    def __init__(self, what: str, shape: tuple[int | None, ...] | None) -> None:
        self.what = what
        self.shape = shape

    @classmethod
    def of(cls, value: Any, numbers: dict[Any, int]) -> _Kind:
        if not isinstance(value, torch.Tensor):
            return cls(f"of type {type(value).__name__}", None)
        place = "" if value.device.type == "cpu" else f" on {value.device}"
        return cls(f"{value.dtype}{place}", tuple(_size(size, numbers) for size in value.shape))

    def fits(self, other: _Kind) -> bool:
        if self.what != other.what or self.shape is None or other.shape is None:
            return False
        same_rank = len(self.shape) == len(other.shape)
        return same_rank and all(a in (None, b) for a, b in zip(self.shape, other.shape, strict=True))

    def __str__(self) -> str:
        shape = ", ".join("?" if size is None else str(size) for size in self.shape or ())
        return self.what if self.shape is None else f"{self.what}[{shape}]"


def _outputs(gm: torch.fx.GraphModule) -> Sequence[torch.fx.Node]:
    (outputs,) = next(node for node in reversed(gm.graph.nodes) if node.op == "output").args
    return outputs


def _numbers(gm: torch.fx.GraphModule, args: Sequence[Any]) -> dict[Any, int]:
    """The values of the graph's symbols in this call."""
    places = [node.meta.get("example_value") for node in gm.graph.nodes if node.op == "placeholder"]
    pairs = zip(places, args, strict=True)
    return {example.node.expr: value for example, value in pairs if isinstance(example, torch.SymInt)}


def _size(size: Any, numbers: dict[Any, int]) -> int | None:
    if not isinstance(size, torch.SymInt):
        return int(size)
    value = size.node.expr.subs(numbers)
    return int(value) if value.is_Integer else None
