"""Python modules.

In:  a module and the name of an attribute.
Out: the variable of the attribute, under a guard.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch
import torch._VF

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.core.class_lookup import MISSING, is_data_descriptor, lookup_type
from capture.variables.core.exception import raise_new
from capture.variables.core.wrap import wrap
from guards.kinds.attributes import HasAttributeGuard
from guards.kinds.containers import DictContainsGuard
from guards.sources import ConstantSource, DictItemSource, DictSource, ModuleAttrSource

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


class PythonModuleVariable(Variable):
    def __init__(self, module: types.ModuleType, source: Source | None) -> None:
        super().__init__(source)
        self.module = module

    def python_type(self) -> type:
        return types.ModuleType

    def real_value(self) -> Any:
        return self.module

    def describe(self) -> str:
        return f"module {self.module.__name__}"

    def truth(self, tx: Interpreter) -> bool:
        return True

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        namespace = self.module.__dict__
        tx.output.objects.check_namespace(namespace)
        override = tx.output.side_effects.pending_global(namespace, name)
        if override is not None:
            return override
        self.check_class(tx, name)
        if name in namespace:
            return wrap(tx.output, namespace[name], self.attribute_source(name))
        try:
            value = getattr(self.module, name)  # a lazily imported submodule, or the module's own __getattr__
        except AttributeError as error:
            if self.source is not None and self.module.__name__.partition(".")[0] == "torch":
                # `__getattr__` of torch's modules always gives the same answer for a name
                tx.output.guards.add(DictContainsGuard.of(DictSource(self.source), name, False))
            elif self.source is not None:
                tx.output.guards.add(HasAttributeGuard.of(self.source, self.module, name))
            raise raise_new(AttributeError, *error.args) from None
        if isinstance(value, types.ModuleType) or name in namespace:
            return wrap(tx.output, value, self.attribute_source(name))
        if self.module is torch._VF:  # its `__getattr__` only looks into `torch._C._VariableFunctions`
            return wrap(tx.output, value, ConstantSource(value))
        raise GraphBreak("get_attr", value=self, name=name)

    def check_class(self, tx: Interpreter, name: str) -> None:
        """Breaks if the module has its own class, and that class finds the name outside of the dict."""
        cls = type(self.module)
        if cls is types.ModuleType:
            return
        for entry in ("__getattribute__", name):
            tx.output.guarding.class_entry(self, cls, entry)
        reader, found = lookup_type(cls, "__getattribute__"), lookup_type(cls, name)
        if reader is not types.ModuleType.__getattribute__ or (
            found is not MISSING and is_data_descriptor(found)
        ):
            raise GraphBreak("get_attr", value=self, name=name)

    def attribute_source(self, name: str) -> Source | None:
        if self.source is None:
            return None
        if type(self.module) is types.ModuleType:
            return ModuleAttrSource(self.source, name)
        return DictItemSource(DictSource(self.source), name)

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        tx.output.objects.check_no_dict_of(self.module.__dict__)
        tx.output.side_effects.store_global(self.module.__dict__, name, value)
