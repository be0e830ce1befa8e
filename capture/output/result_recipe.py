"""How the value of a frame that is one whole graph is made without running any bytecode.

In:  the variable that the frame returns.
Out: `Recipe`: postfix instructions for the hook over the graph's outputs and the guard program's slots; None
     where Python has to run.

    return x + 1, {"scale": 2}    ->   ("out", 0), ("const", 2), ("dict", ("scale",)), ("tuple", 2)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from capture.variables.containers.lists import ListVariable
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import LazyVariable, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.numbers.symbolic import is_unbacked
from capture.variables.tensors.tensor import TensorVariable
from guards.sources import ConstantSource, Source

if TYPE_CHECKING:
    import torch.fx

    from capture.interpret.output_graph import OutputGraph


class NeedsPython(Exception):
    """The value can't be made by a recipe."""


@dataclass
class Recipe:
    """`program` names what the guard program loads by its source: which of these the graph reads is known
    once the graph is finished.
    """

    program: tuple[Any, ...] = ()
    outputs: list[torch.fx.Node] = field(default_factory=list)

    def numbered(self, inputs: list[Source]) -> tuple[tuple[Any, ...], list[Source]]:
        """The program with numbers in place of sources, and all slots: the graph's inputs first."""
        slots = list(inputs)
        for kind, operand in self.program:
            if kind == "slot" and operand not in slots:
                slots.append(operand)
        program = tuple(
            (kind, slots.index(operand) if kind == "slot" else operand) for kind, operand in self.program
        )
        return program, slots

    def out(self, node: torch.fx.Node) -> int:
        if node not in self.outputs:
            self.outputs.append(node)
        return self.outputs.index(node)


def result_recipe(output: OutputGraph, value: Variable) -> Recipe | None:
    """None also where the frame has side effects or leaves the thread in another state."""
    if output.side_effects or not output.modes.are_as_at_entry() or not output.operation_count():
        return None
    recipe = Recipe()
    try:
        recipe.program = tuple(_instructions(output, recipe, value, set()))
    except NeedsPython:
        return None
    return recipe


def _instructions(output: OutputGraph, recipe: Recipe, value: Variable, seen: set[int]) -> list[Any]:
    value = output.objects.resolve_place(value)
    if isinstance(value, LazyVariable) or value.source is not None:
        assert value.source is not None
        if isinstance(value.source, ConstantSource):
            return [("const", value.source.value)]
        return [("slot", value.source)]
    if isinstance(value, TensorVariable):
        if value.attributes or value.cls is not torch.Tensor or value.is_choice or value.is_alias:
            raise NeedsPython
        return [("out", recipe.out(value.node))]
    if is_unbacked(value) and value.python_type() is not float:
        return [("out", recipe.out(value.as_proxy()))]
    if isinstance(value, ConstantVariable):
        return [("const", value.value)]
    if id(value) in seen:
        raise NeedsPython  # one object in two places
    seen.add(id(value))
    if type(value) in (TupleVariable, ListVariable):
        parts = [i for item in value.children() for i in _instructions(output, recipe, item, seen)]
        return [*parts, ("tuple" if type(value) is TupleVariable else "list", len(value.children()))]
    if (
        isinstance(value, DictVariable)
        and value.cls is dict
        and all(k.is_constant() for k, _ in value.entries.values())
    ):
        entries = list(value.entries.values())
        parts = [i for _, item in entries for i in _instructions(output, recipe, item, seen)]
        return [*parts, ("dict", tuple(k.as_constant() for k, _ in entries))]
    raise NeedsPython
