"""A result recipe makes the value of a frame that is one whole graph, without any bytecode.

In:  the variable that the frame returns.
Out: a `Recipe`: postfix instructions for the hook, over the graph's outputs and the guard program's slots.
     None where Python has to run.

    return x + 1, {"scale": 2}    ->   ("out", 0), ("const", 2), ("dict", ("scale",)), ("tuple", 2)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from guards.sources import ConstantSource, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch.fx

    from capture.interpret.output_graph import OutputGraph
    from capture.variables.core.base import Variable


class Recipe:
    """Each kind of variable adds its own instructions in `Variable.add_to_recipe`. A method that adds returns
    whether the recipe can make the value.

    `program` names a slot by its source, because the inputs of the graph are known only at its end.
    """

    def __init__(self, output_graph: OutputGraph) -> None:
        self.output_graph = output_graph
        self.program: list[tuple[str, Any]] = []
        self._places: dict[torch.fx.Node, int] = {}
        self._containers: set[int] = set()

    def add(self, variable: Variable) -> bool:
        variable = self.output_graph.objects.resolve_place(variable)
        if variable.source is None:
            return variable.add_to_recipe(self)
        if isinstance(variable.source, ConstantSource):
            return self.constant(variable.source.value)
        return self.slot(variable.source)

    def slot(self, source: Source) -> bool:
        self.program.append(("slot", source))
        return True

    def constant(self, value: Any) -> bool:
        self.program.append(("const", value))
        return True

    def output(self, node: torch.fx.Node) -> bool:
        self.program.append(("out", self._places.setdefault(node, len(self._places))))
        return True

    @property
    def outputs(self) -> list[torch.fx.Node]:
        """The nodes whose results the recipe takes."""
        return list(self._places)

    def container(self, variable: Variable, items: Sequence[Variable], kind: str, operand: Any) -> bool:
        """A new tuple, list or dict of `items`. A recipe can't put one object into two places."""
        if id(variable) in self._containers:
            return False
        self._containers.add(id(variable))
        if not all(self.add(item) for item in items):
            return False
        self.program.append((kind, operand))
        return True

    def numbered(self, inputs: list[Source]) -> tuple[tuple[Any, ...], list[Source]]:
        """The program with numbers in place of sources, and all slots: the graph's inputs come first."""
        slots = list(inputs)
        places = {source: place for place, source in reversed([*enumerate(slots)])}
        for kind, operand in self.program:
            if kind == "slot" and operand not in places:
                places[operand] = len(slots)
                slots.append(operand)
        program = tuple(
            (kind, places[operand] if kind == "slot" else operand) for kind, operand in self.program
        )
        return program, slots


def result_recipe(output: OutputGraph, value: Variable) -> Recipe | None:
    """None also where the frame has side effects or leaves the thread in another state."""
    if output.side_effects or not output.modes.are_as_at_entry() or not output.operation_count():
        return None
    recipe = Recipe(output)
    return recipe if recipe.add(value) else None
