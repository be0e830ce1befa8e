"""The existing objects that a frame has used, each with its one variable.

In:  an object of the program, or a variable.
Out: the variable of the object; whether the frame changed the object (for example, the dict of a module).

    a = self.table; b = self.table   ->   two lazy variables, one object; after the first use, one variable
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import LazyVariable, Variable
from capture.variables.tensors.tensor import TensorVariable
from guards.lookup import is_nn_module
from guards.sources import AttrSource, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from capture.interpret.output_graph import OutputGraph
    from capture.variables.containers.mapping import DictVariable


class ExistingObjects:
    """The part of an `OutputGraph` that finds the program's objects by their identity."""

    def __init__(self, output: OutputGraph) -> None:
        self.output = output
        self._objects: dict[int, tuple[Any, Variable]] = {}
        self._modules: dict[Source | None, Variable] = {}  # the variables of nn.Modules, by their places

    def forget(self) -> None:
        for _, variable in self._objects.values():
            if isinstance(variable, TensorVariable):
                variable.value = None  # a gradient dies when the program drops it
        self._objects.clear()
        self._modules.clear()

    def with_variables(self) -> Iterable[tuple[Any, Variable]]:
        return self._objects.values()

    def count(self) -> int:
        return len(self._objects)

    def known(self, value: Any) -> Variable | None:
        held = self._objects.get(id(value))
        return held[1] if held is not None else None

    def object_of(self, variable: Variable) -> Any:
        """The existing object of a variable. None if the frame made it, or if it is only a constant."""
        return next((value for value, known in self._objects.values() if known is variable), None)

    def remember(self, value: Any, variable: Variable) -> None:
        self._objects[id(value)] = (value, variable)
        if is_nn_module(value):
            self._modules[variable.source] = variable

    def resolve(self, variable: Variable) -> Variable:
        """The variable of a lazy variable's object, if that object has one by now. A guard says that both
        places hold one object.
        """
        if isinstance(variable, LazyVariable) and self.known(variable.value) is not None:
            return variable.realize()
        return variable

    def resolve_place(self, variable: Variable) -> Variable:
        """The same for a load of the object. If the object is known from another place, the lazy variable is
        loaded from its own place and needs no guard.
        """
        known = self.known(variable.value) if isinstance(variable, LazyVariable) else None
        return variable if known is None or known.source != variable.source else known

    def check_namespace(self, namespace: dict[str, Any]) -> None:
        """Call this before a read of a module's name: the frame may have changed the module's dict through
        `globals()`.
        """
        if self.changed_dict(namespace) is not None:
            raise GraphBreak("mutation", value="the dict of a module that the frame wrote to,")

    def check_no_dict_of(self, namespace: dict[str, Any]) -> None:
        """Call this before a name of a module is bound or deleted: the frame's variable of the module's dict
        would be out of date.
        """
        if self.known_dict(namespace) is not None:
            raise GraphBreak("mutation", value="a module whose dict the frame has")

    def known_dict(self, mapping: Any) -> DictVariable | None:
        known = self.known(mapping)
        if known is None:
            return None
        from capture.variables.containers.mapping import DictVariable  # lazy: import time

        return known if isinstance(known, DictVariable) else None

    def pending_item(self, mapping: Any, key: Any) -> Variable | None:
        """The value that the frame stored under `key` in an existing dict, such as a module's registry."""
        known = self.known_dict(mapping)
        if known is not None:
            entry = known.entries.get(key)
            if entry is not None and not isinstance(entry[1], LazyVariable):
                return entry[1]
        return None

    def changed_dict(self, mapping: Any) -> Any:
        """The variable of an existing dict, if the frame changed the dict."""
        known = self.known_dict(mapping)
        if known is None or not self.output.side_effects.is_mutated(known):
            return None
        known.guard_keys(self.output)
        return known

    def is_of_module(self, source: Source) -> bool:
        """Whether the source leads through an attribute of an nn.Module."""
        owners = {step.base for step in source.chain() if isinstance(step, AttrSource)}
        found = [self._modules[owner] for owner in owners & self._modules.keys()]
        if not found:
            return False
        from capture.variables.torch.nn_module import ModuleVariable  # lazy: import time

        return any(isinstance(variable, ModuleVariable) for variable in found)
