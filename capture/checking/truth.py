"""A graph in float64: the truth that results are measured by.

In:  a graph, its inputs.
Out: its results, as `runs.results_of` names them, all floats in float64. `NoTruth` where the graph can't run
     so.

    linear(x[float32], w[float32]) under autocast    ->    linear(x[float64], w[float64]), without autocast

An operation that draws random numbers draws them in its own dtype: other dtypes get other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.fx
from torch.fx.node import map_aggregate

from capture.checking.runs import Results, results_of

ROUNDED = (torch.float32, torch.float16, torch.bfloat16)
CONVERSIONS = {"float": "double", "half": "double", "bfloat16": "double"}


class NoTruth(Exception):
    """The graph can't run in float64."""


def truth_of(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> Results:
    """The results of the graph in float64. Errors: NoTruth."""
    default = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        return results_of(_InDouble(module).run, inputs, in_double)
    except Exception as error:  # whatever an operation says to float64
        raise NoTruth(f"{type(error).__name__}: {error}") from error
    finally:
        torch.set_default_dtype(default)


def in_double(value: torch.Tensor) -> torch.Tensor:
    if value.dtype in ROUNDED:
        return value.double()
    return value.to(torch.complex128) if value.dtype is torch.complex64 else value


class _InDouble(torch.fx.Interpreter):
    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.held: dict[str, Any] = {}

    def fetch_attr(self, target: str) -> Any:
        if target not in self.held:
            value = super().fetch_attr(target)
            self.held[target] = in_double(value) if isinstance(value, torch.Tensor) else value
        return self.held[target]

    def run_node(self, n: torch.fx.Node) -> Any:
        if getattr(n.target, "__name__", "") in ("_enter_autocast", "_exit_autocast"):
            return None
        before, versions = torch.get_rng_state(), self._versions(n)
        result = super().run_node(n)
        if torch.equal(before, torch.get_rng_state()):
            return result
        if self._versions(n) != versions:
            raise NoTruth(f"{n.name} draws random numbers in place")
        torch.set_rng_state(before)
        args, kwargs = map_aggregate((n.args, n.kwargs), self._rounded)
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            drawn = getattr(super(), n.op)(n.target, args, kwargs)
        finally:
            torch.set_default_dtype(default)
        return map_aggregate(drawn, lambda a: in_double(a) if isinstance(a, torch.Tensor) else a)

    def _versions(self, n: torch.fx.Node) -> list[int]:
        values = [self.env[argument] for argument in n.all_input_nodes if argument in self.env]
        return [value._version for value in values if isinstance(value, torch.Tensor)]

    def _rounded(self, argument: Any) -> Any:
        """The argument of a random operation in its own dtype."""
        if not isinstance(argument, torch.fx.Node):
            return argument
        value, example = self.env[argument], argument.meta.get("example_value")
        return value.to(example.dtype) if isinstance(example, torch.Tensor) else value

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        return super().call_function(target, *_double_arguments(args, kwargs))

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        return super().call_method(CONVERSIONS.get(target, target), *_double_arguments(args, kwargs))

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        raise NoTruth(f"{target} is a module")


def _double_arguments(args: Any, kwargs: Any) -> Any:
    return map_aggregate((args, kwargs), lambda a: torch.float64 if a in ROUNDED else a)
