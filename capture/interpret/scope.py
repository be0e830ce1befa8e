"""The globals and builtins that a function sees.

In:  a name of a global or builtin.
Out: its variable, with the source from which a guard reads it.

    load("relu")    ->    the variable of the frame's global `relu`, GlobalSource("relu")
"""

from __future__ import annotations

import builtins
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from capture.variables.core.base import Deleted, Variable
from capture.variables.core.exception import raise_new
from capture.variables.core.wrap import wrap
from guards.kinds.containers import DictContainsGuard
from guards.sources import (
    BuiltinSource,
    ConstantSource,
    DictItemSource,
    GlobalSource,
    GlobalsSource,
    ModuleAttrSource,
    Source,
)

if TYPE_CHECKING:
    from capture.interpret.output_graph import OutputGraph


class Scope:
    """`frame` is None in the scope of the captured frame. The scope of an inlined function of another module
    gets the captured frame's scope there.
    """

    def __init__(self, globals_: dict[str, Any], frame: Scope | None = None) -> None:
        self.globals = globals_
        self.root = frame is None
        held = globals_.get("__builtins__", builtins)
        self.builtins: dict[str, Any] = held.__dict__ if isinstance(held, ModuleType) else held
        self.own_builtins = frame is not None and self.builtins is not frame.builtins

    def source_of(self, name: str) -> Source:
        if self.root:
            return GlobalSource(name)
        module = sys.modules.get(self.globals.get("__name__", ""))
        if type(module) is ModuleType and module.__dict__ is self.globals:
            return ModuleAttrSource(ConstantSource(module), name)
        return DictItemSource(ConstantSource(self.globals), name)

    def builtin_source(self, name: str) -> Source:
        return (
            DictItemSource(ConstantSource(self.builtins), name) if self.own_builtins else BuiltinSource(name)
        )

    def load(self, output: OutputGraph, name: str) -> Variable:
        """The variable of a global or builtin. Raises the program's NameError."""
        output.objects.check_namespace(self.globals)
        pending = output.side_effects.pending_global(self.globals, name)
        deleted = isinstance(pending, Deleted)
        if pending is not None and not deleted:
            return pending
        if name in self.globals and not deleted:
            return wrap(output, self.globals[name], self.source_of(name))
        if not deleted:
            self._guard_presence(output, name)
        if name in self.builtins:
            return wrap(output, self.builtins[name], self.builtin_source(name))
        raise raise_new(NameError, f"name '{name}' is not defined")

    def delete(self, output: OutputGraph, name: str) -> None:
        """`del name` of a global. Raises the program's NameError."""
        output.objects.check_no_dict_of(self.globals)
        pending = output.side_effects.pending_global(self.globals, name)
        held = name in self.globals
        self._guard_presence(output, name)
        if isinstance(pending, Deleted) or (pending is None and not held):
            raise raise_new(NameError, f"name '{name}' is not defined")
        output.side_effects.delete_global(self.globals, name, held)

    def _guard_presence(self, output: OutputGraph, name: str) -> None:
        namespace: Source = GlobalsSource() if self.root else ConstantSource(self.globals)
        output.guards.add(DictContainsGuard.of(namespace, name, name in self.globals))
