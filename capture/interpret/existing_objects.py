"""The existing objects that a frame has met, each with its one variable.

In:  an object of the program, or a variable.
Out: the variable of the object; whether an object, a module's dict for one, was changed by the frame.

    a = self.table; b = self.table   ->   two lazy variables, one object: one variable from the first look on
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.mapping import DictVariable
from capture.variables.core.base import LazyVariable, Variable
from capture.variables.torch.nn_module import ModuleVariable
from guards.lookup import is_nn_module
from guards.sources import AttrSource, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from capture.interpret.output_graph import OutputGraph


class ExistingObjects:
    """The part of an `OutputGraph` that knows the program's objects by their identity."""

    def __init__(self, output: OutputGraph) -> None:
        self.output = output
        self._objects: dict[int, tuple[Any, Variable]] = {}
        self._modules: dict[int, Variable] = {}  # those of them that are modules

    def forget(self) -> None:
        self._objects.clear()
        self._modules.clear()

    def with_variables(self) -> Iterable[tuple[Any, Variable]]:
        return self._objects.values()

    def known(self, value: Any) -> Variable | None:
        held = self._objects.get(id(value))
        return held[1] if held is not None else None

    def object_of(self, variable: Variable) -> Any:
        """The existing object behind a variable; None where the frame made it, or where it is a mere
        constant.
        """
        return next((value for value, known in self._objects.values() if known is variable), None)

    def remember(self, value: Any, variable: Variable) -> None:
        self._objects[id(value)] = (value, variable)
        if is_nn_module(value):
            self._modules[id(value)] = variable

    def resolve(self, variable: Variable) -> Variable:
        """A lazy variable whose object was wrapped meanwhile is that variable, and guarded to stay it."""
        if isinstance(variable, LazyVariable) and self.known(variable.value) is not None:
            return variable.realize()
        return variable

    def resolve_place(self, variable: Variable) -> Variable:
        """The same for loading the object: one that came another way is loaded from there, and needs no
        guard.
        """
        known = self.known(variable.value) if isinstance(variable, LazyVariable) else None
        return variable if known is None or known.source != variable.source else known

    def check_namespace(self, namespace: dict[str, Any]) -> None:
        """Before a name of a module is read: the frame may have changed the module's dict (`globals()`) as a
        dict.
        """
        if self.changed_dict(namespace) is not None:
            raise GraphBreak("mutation", value="the dict of a module that the frame wrote to,")

    def check_no_dict_of(self, namespace: dict[str, Any]) -> None:
        """Before a name of a module is bound or deleted: what the frame knows of the module's dict would be
        out of date.
        """
        if isinstance(self.known(namespace), DictVariable):
            raise GraphBreak("mutation", value="a module whose dict the frame has")

    def pending_item(self, mapping: Any, key: Any) -> Variable | None:
        """What the frame stored in an existing dict (a module's registry) that it also changed as a dict."""
        known = self.known(mapping)
        if isinstance(known, DictVariable):
            entry = known.entries.get(key)
            if entry is not None and not isinstance(entry[1], LazyVariable):
                return entry[1]
        return None

    def changed_dict(self, mapping: Any) -> Any:
        """The variable of an existing dict that the frame has changed; None of any other."""
        known = self.known(mapping)
        return (
            known if isinstance(known, DictVariable) and self.output.side_effects.is_mutated(known) else None
        )

    def is_of_module(self, source: Source) -> bool:
        """Whether what is found there belongs to an nn.Module: an attribute, or what is inside of one."""
        owners = {step.base for step in source.chain() if isinstance(step, AttrSource)}
        return bool(owners) and any(
            isinstance(variable, ModuleVariable) and variable.source in owners
            for variable in self._modules.values()
        )
