"""A graph with symbolic sizes in front of a compiler that wants numbers.

In:  an fx graph some of whose placeholders are ints, and `compile_graph(gm, inputs)`.
Out: `SizedGraph`: compiled anew for each combination of those ints, at the first call with it.

    graph(2, x[2, 4])   ->   compiled for 2;   graph(3, y[3, 4])   ->   compiled for 3;   graph(2, z[2, 4])   ->   the first again

The ints decide over the layout of every tensor input: its sizes and strides are expressions of them, or numbers, by the guards. Past `LIMIT`
combinations the graph runs operator by operator: sizes that never come back are not worth a compilation each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from capture import hooks

if TYPE_CHECKING:
    import torch.fx

LIMIT = 64


class SizedGraph:
    """`compiled` holds what was compiled, by the ints."""

    def __init__(
        self,
        gm: torch.fx.GraphModule,
        example_inputs: Sequence[Any],
        compile_graph: Callable[[Any, Sequence[Any]], Any],
    ) -> None:
        self.module = gm
        self.compile_graph = compile_graph
        self.positions = [i for i, value in enumerate(example_inputs) if type(value) is int]
        self.compiled: dict[tuple[int, ...], Callable[..., Any]] = {}
        self.compile_for(self.key(example_inputs), example_inputs)

    def key(self, args: Sequence[Any]) -> tuple[int, ...]:
        return tuple(args[i] for i in self.positions)

    def compile_for(self, key: tuple[int, ...], args: Sequence[Any]) -> Callable[..., Any]:
        """Compile with the hook off: the compiler is no program of the user."""
        before = hooks.switch(hooks.OFF)
        try:
            return self.compiled.setdefault(key, self.compile_graph(self.module, args))
        finally:
            hooks.switch(before)

    def __call__(self, *args: Any) -> Any:
        key = self.key(args)
        compiled = self.compiled.get(key)
        if compiled is None:
            compiled = self.compile_for(key, args) if len(self.compiled) < LIMIT else self.module.forward
        return compiled(*args)
