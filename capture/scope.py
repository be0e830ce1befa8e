"""The globals and builtins that a function sees, and where each name comes from."""

from __future__ import annotations

import builtins
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from capture.variables.base import Variable
from capture.variables.exception import raise_new
from guards import guard as make_guard
from guards.source import (
    BuiltinSource,
    ConstantSource,
    DictItemSource,
    GlobalSource,
    ModuleAttrSource,
    Source,
)

if TYPE_CHECKING:
    from capture.output_graph import OutputGraph
    from capture.reconstruct import PythonCode


class Scope:
    """`root`: the scope of the captured frame itself; others belong to inlined functions of other modules."""

    def __init__(self, globals_: dict[str, Any], *, root: bool) -> None:
        self.globals = globals_
        self.root = root
        held = globals_.get("__builtins__", builtins)
        self.builtins: dict[str, Any] = held.__dict__ if isinstance(held, ModuleType) else held

    def source_of(self, name: str) -> Source:
        if self.root:
            return GlobalSource(name)
        module = sys.modules.get(self.globals.get("__name__", ""))
        if module is not None and module.__dict__ is self.globals:
            return ModuleAttrSource(ConstantSource(module), name)
        return DictItemSource(ConstantSource(self.globals), name)

    def load(self, output: OutputGraph, name: str) -> Variable:
        """What `name` means as a global. Raises the program's NameError."""
        from capture.wrap import wrap

        pending = output.pending_global(self.globals, name)
        if pending is not None:
            return pending
        if name in self.globals:
            return wrap(output, self.globals[name], self.source_of(name))
        if name in self.builtins:
            if self.root:
                output.guards.add(make_guard.builtin_not_hidden(name))
            else:
                output.guards.add(make_guard.dict_contains(ConstantSource(self.globals), name, False))
            return wrap(output, self.builtins[name], BuiltinSource(name))
        raise raise_new(NameError, f"name '{name}' is not defined")

    def load_globals(self, code: PythonCode) -> None:
        code.load_constant(self.globals)
