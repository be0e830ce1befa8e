"""Python modules.

In:  a module and the name of an attribute.
Out: the variable of the attribute, under a guard.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch
import torch._VF

from capture.policy import frame_filter
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


NAMESPACE: Any = lookup_type(types.ModuleType, "__dict__")


class PythonModuleVariable(Variable):
    def __init__(self, module: types.ModuleType, source: Source | None) -> None:
        super().__init__(source)
        self.module = module
        #: the dict itself: a class of the program may see who asks the module for it
        self.namespace: dict[str, Any] = NAMESPACE.__get__(module)

    def python_type(self) -> type:
        return type(self.module)

    def real_value(self) -> Any:
        return self.module

    def describe(self) -> str:
        return f"module {self.namespace.get('__name__')}"

    def truth(self, tx: Interpreter) -> bool:
        cls = type(self.module)
        if any(lookup_type(cls, method) is not MISSING for method in ("__bool__", "__len__")):
            raise GraphBreak("truth_value", value=self)
        return True

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        namespace = self.namespace
        tx.output.objects.check_namespace(namespace)
        override = tx.output.side_effects.pending_global(namespace, name)
        if override is not None:
            return override
        self.check_class(tx, name)
        if name in namespace:
            return wrap(tx.output, namespace[name], self.attribute_source(name))
        if self.asks_the_program():
            raise GraphBreak("get_attr", value=self, name=name)
        try:
            value = getattr(self.module, name)  # a lazily imported submodule, or the module's own __getattr__
        except AttributeError as error:
            if self.source is not None and str(namespace.get("__name__")).partition(".")[0] == "torch":
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

    def asks_the_program(self) -> bool:
        """Whether a `__getattr__` of the program's own answers for missing names: it may do anything.

        Those of libraries import a submodule, or say that there is none.
        """
        answers = (self.namespace.get("__getattr__"), lookup_type(type(self.module), "__getattr__"))
        return any(
            isinstance(answer, types.FunctionType) and frame_filter.is_of_the_program(answer.__code__)
            for answer in answers
        )

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
        cls = type(self.module)
        if cls is not types.ModuleType:
            tx.output.guarding.class_entry(self, cls, "__setattr__")
            found = lookup_type(cls, name)
            has_setter = found is not MISSING and is_data_descriptor(found)
            if lookup_type(cls, "__setattr__") is not object.__setattr__ or has_setter:
                raise GraphBreak("set_attr", value=self, name=name)
        tx.output.objects.check_no_dict_of(self.namespace)
        tx.output.side_effects.store_global(self.namespace, name, value)
