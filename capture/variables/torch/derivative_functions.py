"""Functions that `torch.func.vjp` and `torch.func.linearize` return with their results.

In:  a call of `vjp` or `linearize`, and calls of the function that it returns.
Out: for each call a node on the body that was interpreted for the first one.

    out, pull = vjp(f, x); pull(g)    ->    vjp(x), on a body that is f; vjp_gradients(x, g), on the same body
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import Variable
from capture.variables.core.constant import FALSE
from capture.variables.core.rules import rule
from capture.variables.tensors import subgraph
from capture.variables.torch.transforms import (
    bodies_to_run,
    given_values,
    no_tensor,
    on_fakes,
    run_bodies,
    transform_node,
    transformed,
)

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


class DerivativeFunction(Variable):
    """A call of it does `run(function, primals, args, **options)`."""

    def __init__(
        self,
        tx: Interpreter,
        name: str,
        run: Callable[..., Any],
        primals: list[Variable],
        body: subgraph.Body,
    ) -> None:
        super().__init__(None)
        self.name = name
        self.run = run
        self.primals = primals
        self.body = body
        self.born = tx.output.root_step
        self.versions = self.versions_now(tx)

    def python_type(self) -> type:
        return types.FunctionType

    def describe(self) -> str:
        return f"a function that {self.name} returned"

    def truth(self, tx: Interpreter) -> bool:
        return True

    def versions_now(self, tx: Interpreter) -> list[int | None]:
        """How often the program has written to the tensors that the body reads."""
        nodes = [*given_values(tx, TupleVariable(self.primals), {})[1], *self.body.lifted]
        return [subgraph.version_of(node) for node in nodes]

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        # The function that Python makes keeps the values that it needs, so the frame breaks where it is made.
        if self.versions_now(tx) != self.versions:
            signal = GraphBreak("reconstruct", value=self)
            signal.born = self.born
            raise signal
        options = {name: subgraph.plain(tx, v, no_tensor) for name, v in kwargs.items()}

        apply = functools.partial(self.run, **options)
        given, nodes = given_values(tx, TupleVariable([TupleVariable(self.primals), TupleVariable(args)]), {})
        run = functools.partial(
            run_bodies, apply, bodies_to_run([self.body]), subgraph.Structure(given), len(nodes)
        )
        lifted = [node.meta["example_value"] for node in self.body.lifted]
        example = on_fakes(tx, self.name, functools.partial(run, *subgraph.tensors_of(given), *lifted))
        return transform_node(tx, f"{self.name}_function", apply, [self.body], given, nodes, example)

    def children(self) -> list[Variable]:
        return self.primals


@rule(torch.func.vjp)
def _vjp(tx: Interpreter, func: Variable, *primals: Variable, has_aux: Variable = FALSE) -> Variable:
    aux = has_aux.truth(tx)

    seen: list[subgraph.Body] = []
    results = functools.partial(_results, aux)
    made = transformed(tx, "vjp", results, func, TupleVariable(list(primals)), {}, keep=seen)
    pull = DerivativeFunction(tx, "vjp", functools.partial(_gradients, aux), list(primals), seen[0])
    if not aux:
        return TupleVariable([made, pull])
    out, extra = made.unpack(tx)
    return TupleVariable([out, pull, extra])


def _results(aux: bool, function: Callable[..., Any], *primals: Any) -> Any:
    out: Any = torch.func.vjp(function, *primals, has_aux=aux)
    return (out[0], out[2]) if aux else out[0]


def _gradients(aux: bool, function: Callable[..., Any], primals: Any, args: Any, **options: Any) -> Any:
    return torch.func.vjp(function, *primals, has_aux=aux)[1](*args, **options)


@rule(torch.func.linearize)
def _linearize(tx: Interpreter, func: Variable, *primals: Variable) -> Variable:
    """torch calls the function twice: for the results, and to record it for the returned function."""
    mode = tx.output.fake_mode
    drawn, mode.has_drawn = mode.has_drawn, False

    seen: list[subgraph.Body] = []
    made = transformed(tx, "linearize", _twice, func, TupleVariable(list(primals)), {}, keep=seen)
    if mode.has_drawn:
        raise GraphBreak("call", value="linearize of a function that draws random numbers")
    mode.has_drawn = drawn
    tangents = DerivativeFunction(tx, "linearize", _tangents, list(primals), seen[1])
    return TupleVariable([made.unpack(tx)[0], tangents])


def _twice(function: Callable[..., Any], *primals: Any) -> tuple[Any, Any]:
    return function(*primals), function(*primals)


def _tangents(function: Callable[..., Any], primals: Any, args: Any) -> Any:
    return torch.func.jvp(function, primals, args)[1]
