"""Classes.

In:  a class that exists.
Out: a variable: attribute look-up on the class, and the operators of its metaclass. `instance.py` has the
     rules for calls of it.
"""

from __future__ import annotations

import collections
import enum
import functools
import types
from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.function import BoundMethodVariable
from capture.variables.callables.generic_alias import MODULES, subscript
from capture.variables.callables.native_method import ClassMethodVariable, UnboundMethodVariable
from capture.variables.callables.polyfills import POLYFILLS
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import ObservedException, Variable
from capture.variables.core.class_lookup import (
    MISSING,
    call_descriptor,
    class_value,
    is_data_descriptor,
    lookup_type,
    note_pending,
)
from capture.variables.core.constant import NONE, ConstantVariable, fold
from capture.variables.core.exception import raise_new
from capture.variables.core.makers import make, makes
from capture.variables.core.rules import CALLS
from capture.variables.core.wrap import wrap, wrap_class
from capture.variables.iterators.generator import GeneratorVariable
from capture.variables.objects.class_dict import ClassDictVariable
from capture.variables.objects.user_object import answer_of_bool
from capture.variables.tensors.tensor_descriptor import TensorDescriptorVariable
from guards.properties.class_relatives import bases_are
from guards.sources import CLASS_NAMES, HEAP_TYPE, AttrSource, ClassNameSource, TypeAttrSource

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source

IMMUTABLE_TYPE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: `int.x = 1` raises
CLASS_CONSTANTS = frozenset(("__name__", "__qualname__", "__module__", "__doc__"))
#: what `type` says of the bases of a class
CLASS_RELATIONS = frozenset(("__mro__", "__bases__", "__base__"))


@makes(type)
class ClassVariable(Variable):
    def __init__(self, cls: type, source: Source | None) -> None:
        super().__init__(source)
        self.cls = cls

    def python_type(self) -> type:
        return type(self.cls)

    def describe(self) -> str:
        return f"class {self.cls.__name__}"

    def real_value(self) -> Any:
        return self.cls

    def as_class(self) -> type:
        return self.cls

    def as_proxy(self) -> Any:
        return self.cls

    def truth(self, tx: Interpreter) -> bool:
        result = self.dunder(tx, "__bool__", [])
        if result is not None:
            return answer_of_bool(tx, result)
        length = self.dunder(tx, "__len__", [])
        return True if length is None else length.truth(tx)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name in CLASS_CONSTANTS:
            return self._constant(tx, name)
        if name == "__class__":
            return wrap_class(tx.output, type(self.cls))
        if name in CLASS_RELATIONS:
            return self._relation(tx, name)
        if name == "__dict__":
            return ClassDictVariable(self)
        reader = self.meta_entry(tx, "__getattribute__")
        if isinstance(reader, types.FunctionType):
            raise GraphBreak("property", name=name, value=self)
        pending = tx.output.side_effects.pending_attr(self, name)
        if pending is not None:
            return pending
        meta = self.meta_entry(tx, name)
        if isinstance(meta, property) and meta.fget is not None:
            return self._property(tx, name, meta.fget)
        if meta is type.__dict__.get(name) and name == "__annotations__":
            own = ClassDictVariable(self).find(tx, ConstantVariable(name))
            if own is not None:  # reading them of a class without any would make them
                return own
        if meta is not MISSING and is_data_descriptor(meta):
            raise GraphBreak("property", name=name, value=self)
        found = lookup_type(self.cls, name)
        if found is MISSING:
            return self._from_metaclass(tx, name, meta)
        if isinstance(found, classmethod):
            if not isinstance(found.__func__, types.FunctionType):
                raise GraphBreak("property", name=name, value=self)  # it has its own `__get__`
            source = TypeAttrSource(self.source, name) if self.source else None
            function = wrap(tx.output, found.__func__, AttrSource(source, "__func__") if source else None)
            return BoundMethodVariable(function, self)
        if isinstance(found, staticmethod):
            return class_value(tx, self, found.__func__, name, "__func__")
        if isinstance(found, (types.ClassMethodDescriptorType, types.BuiltinFunctionType)):
            return ClassMethodVariable(self, name)
        if isinstance(found, (types.WrapperDescriptorType, types.MethodDescriptorType)):
            return UnboundMethodVariable(found)
        if isinstance(found, types.GetSetDescriptorType) and issubclass(torch.Tensor, found.__objclass__):
            return TensorDescriptorVariable(found)
        if lookup_type(type(found), "__get__") is not MISSING and not isinstance(found, GIVE_THEMSELVES):
            return call_descriptor(tx, self, self.cls, found, name)
        return wrap(tx.output, found, TypeAttrSource(self.source, name) if self.source else None)

    def _relation(self, tx: Interpreter, name: str) -> Variable:
        """The bases, or the order of look-up. The program may give a class other bases."""
        tx.output.guarding.bases(self, self.cls)
        if self.source is not None and self.cls.__flags__ & HEAP_TYPE:
            tx.output.guarding.state(*bases_are(self.cls))
        found = type.__dict__[name].__get__(self.cls)
        if name == "__base__":
            return NONE if found is None else wrap_class(tx.output, found)
        return TupleVariable([wrap_class(tx.output, cls) for cls in found])

    def _constant(self, tx: Interpreter, name: str) -> Variable:
        if self.source is None or not self.cls.__flags__ & HEAP_TYPE:
            return ConstantVariable(getattr(self.cls, name))
        if name in CLASS_NAMES:
            return wrap(tx.output, getattr(self.cls, name), ClassNameSource(self.source, name))
        return wrap(tx.output, lookup_type(self.cls, name), TypeAttrSource(self.source, name))

    def _property(self, tx: Interpreter, name: str, getter: Any) -> Variable:
        try:
            return class_value(tx, self.metaclass(tx), getter, name, "fget").call(tx, [self], {})
        except ObservedException as raised:
            if not issubclass(raised.variable.python_type(), AttributeError):
                raise
            found = self._fallback(tx, name)
            if found is None:
                raise
            return found

    def _fallback(self, tx: Interpreter, name: str) -> Variable | None:
        """The answer of the `__getattr__` of the metaclass, if it has one."""
        getter = self.meta_entry(tx, "__getattr__")
        if not isinstance(getter, types.FunctionType):
            return None
        function = class_value(tx, self.metaclass(tx), getter, "__getattr__")
        return function.call(tx, [self, ConstantVariable(name)], {})

    def _from_metaclass(self, tx: Interpreter, name: str, meta: Any) -> Variable:
        tx.output.guarding.class_entry(self, self.cls, name)
        if meta is MISSING:
            found = self._fallback(tx, name)
            if found is None:
                text = f"type object '{self.cls.__name__}' has no attribute '{name}'"
                raise raise_new(AttributeError, text)
            return found
        if isinstance(meta, types.FunctionType):
            return BoundMethodVariable(class_value(tx, self.metaclass(tx), meta, name), self)
        if isinstance(meta, types.MethodDescriptorType) and meta.__objclass__ is type:
            return make(types.MethodDescriptorType, self, meta, name)
        if lookup_type(type(meta), "__get__") is MISSING:
            return class_value(tx, self.metaclass(tx), meta, name)
        raise GraphBreak("property", name=name, value=self)

    def metaclass(self, tx: Interpreter) -> Variable:
        return wrap_class(tx.output, type(self.cls))

    def meta_entry(self, tx: Interpreter, name: str) -> Any:
        """The raw entry of the metaclass under a guard; MISSING if there is none."""
        tx.output.guarding.class_entry(self.metaclass(tx), type(self.cls), name)
        return lookup_type(type(self.cls), name)

    def has_class_attribute(self, name: str, below: type | None = None) -> bool:
        """Whether the metaclass has an operator written in Python."""
        return isinstance(lookup_type(type(self.cls), name), types.FunctionType)

    def dunder(self, tx: Interpreter, name: str, args: list[Variable]) -> Variable | None:
        """Calls an operator on the class itself; None if its metaclass defines none in Python."""
        found = self.meta_entry(tx, name)
        if not isinstance(found, types.FunctionType):
            return None
        return class_value(tx, self.metaclass(tx), found, name).call(tx, [self, *args], {})

    def length(self, tx: Interpreter) -> int:
        result = self.dunder(tx, "__len__", [])
        if result is None:
            raise raise_new(TypeError, f"object of type '{type(self.cls).__name__}' has no len()")
        value = result.as_constant()
        assert isinstance(value, int)
        return value

    def iterate(self, tx: Interpreter) -> Variable:
        result = None if isinstance(self.cls, enum.EnumMeta) else self.dunder(tx, "__iter__", [])
        return result if result is not None else super().iterate(tx)

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        # The break is at the statement, because the program may catch the error there.
        if self.cls.__flags__ & IMMUTABLE_TYPE:
            raise GraphBreak("set_attr", value=self, name=name)
        if self.meta_entry(tx, "__setattr__") is not type.__setattr__ or is_data_descriptor(
            self.meta_entry(tx, name)
        ):
            raise GraphBreak("set_attr", value=self, name=name)
        note_pending(self.cls, name)
        tx.output.side_effects.store_attr(self, name, value)

    def get_item(self, tx: Interpreter, key: Variable) -> Variable:
        if self.meta_entry(tx, "__getitem__") is enum.EnumMeta.__getitem__:
            return fold(functools.partial(enum.EnumMeta.__getitem__, self.cls), [key], {})
        own = self.dunder(tx, "__getitem__", [key])
        if own is not None:
            return own
        found = lookup_type(self.cls, "__class_getitem__")
        if isinstance(found, classmethod) and found.__func__.__module__ not in MODULES:
            return self.get_attr(tx, "__class_getitem__").call(tx, [key], {})
        if found is not MISSING or self.cls is type:
            return subscript(self, self.real_value(), key)
        raise raise_new(TypeError, f"type '{self.cls.__name__}' is not subscriptable")

    def unpack(self, tx: Interpreter) -> list[Variable]:
        if isinstance(self.cls, enum.EnumMeta):
            return [ConstantVariable(member) for member in list[Any](self.cls)]
        return super().unpack(tx)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        own = self.meta_entry(tx, "__call__")
        if isinstance(own, types.FunctionType) and not isinstance(self.cls, enum.EnumMeta):
            return class_value(tx, self.metaclass(tx), own, "__call__").call(tx, [self, *args], kwargs)
        return self.make_instance(tx, args, kwargs)

    def make_instance(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """`type.__call__`."""
        handler = CALLS.get(self.cls)
        if handler is not None:
            return handler(tx, *args, **kwargs)
        polyfill = POLYFILLS.get(self.cls)
        if polyfill is not None:
            made = tx.wrap_function(polyfill).call(tx, args, kwargs)
            if isinstance(made, GeneratorVariable):
                made.kind = self.cls
            return made
        return make("instance", tx, self, args, kwargs)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name in ("__instancecheck__", "__subclasscheck__"):
            raise GraphBreak("method", name=name, value=self)
        return super().call_method(tx, name, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.cls)


#: Descriptors that a class returns unchanged.
GIVE_THEMSELVES: tuple[type, ...] = (
    types.FunctionType, type, property, types.MemberDescriptorType,
    collections._tuplegetter,  # type: ignore[attr-defined]
)  # fmt: skip
