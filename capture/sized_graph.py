"""A graph with symbolic sizes in front of launch plans, which hold numbers.

In:  an fx graph some of whose placeholders are ints, and two compilers: one for all sizes at once, one for the present sizes.
Out: `SizedGraph`: for each combination of those ints, at the first call with it, the plan that runs it.

    graph(2, x[2, 4])   ->   compiled; planned for 2;   graph(3, y[3, 4])   ->   planned for 3: no compilation;   graph(2, z[2, 4])   ->   the first again

The ints decide over the layout of every tensor input: its sizes and strides are expressions of them, or numbers, by the guards. Kernels take sizes at
run time where the graph has such a form (`codegen.symbolic_graph`), and a plan costs microseconds. Else each combination is a compilation; past `LIMIT`
of them the graph runs operator by operator: sizes that never come back are not worth one each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from capture import hooks

if TYPE_CHECKING:
    import torch.fx

    from codegen.symbolic_graph import SymbolicGraph

LIMIT = 64  # compilations, and plans that are kept


class SizedGraph:
    """`compiled` holds what was compiled for one combination of ints, `planned` what was planned for it."""

    def __init__(
        self,
        gm: torch.fx.GraphModule,
        example_inputs: Sequence[Any],
        compile_graph: Callable[[Any, Sequence[Any]], Any],
        symbolic: SymbolicGraph | None = None,
    ) -> None:
        self.module = gm
        self.compile_graph = compile_graph
        self.symbolic = symbolic
        self.positions = [i for i, value in enumerate(example_inputs) if type(value) is int]
        self.compiled: dict[tuple[int, ...], Callable[..., Any]] = {}
        self.planned: dict[tuple[int, ...], Callable[..., Any]] = {}
        self.prepare(self.key(example_inputs), example_inputs)

    def key(self, args: Sequence[Any]) -> tuple[int, ...]:
        return tuple(args[i] for i in self.positions)

    def prepare(self, key: tuple[int, ...], args: Sequence[Any]) -> Callable[..., Any]:
        """With the hook off: the compiler is no program of the user."""
        before = hooks.switch(hooks.OFF)
        try:
            return self.plan(key) or self.compile(key, args)
        finally:
            hooks.switch(before)

    def plan(self, key: tuple[int, ...]) -> Callable[..., Any] | None:
        plan = self.symbolic.for_sizes(key) if self.symbolic is not None else None
        if plan is not None:
            if len(self.planned) >= LIMIT:
                self.planned.pop(next(iter(self.planned)), None)  # the oldest
            self.planned[key] = plan
        return plan

    def compile(self, key: tuple[int, ...], args: Sequence[Any]) -> Callable[..., Any]:
        if len(self.compiled) >= LIMIT:
            return self.module.forward
        return self.compiled.setdefault(key, self.compile_graph(self.module, args))

    def __call__(self, *args: Any) -> Any:
        key = self.key(args)
        graph = self.planned.get(key) or self.compiled.get(key) or self.prepare(key, args)
        return graph(*args)
