"""Instances of user-defined classes, and any other object reached by attribute.

In:  an object that existed before the frame, or one that the frame makes.
Out: Python's attribute protocol on a variable. `attributes` holds what the frame has stored on the object and
     not yet replayed. Under it lies the object itself, if it existed before.
"""

from __future__ import annotations

import collections
import operator
import types
import weakref
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Deleted, NotConstant, ObservedException, Variable
from capture.variables.core.class_lookup import (
    MISSING,
    SETTERS,
    call_descriptor,
    class_attribute,
    class_value,
    is_data_descriptor,
    lookup_type,
    plain_setattr,
    reads_attributes_plainly,
)
from capture.variables.core.constant import ConstantVariable, fold
from capture.variables.core.exception import raise_new
from capture.variables.core.makers import make
from capture.variables.core.overriding import HANDLER, is_enabled, overrides
from capture.variables.core.replay import store_attributes
from capture.variables.core.shown_names import shown_name
from capture.variables.core.wrap import wrap, wrap_class
from capture.variables.iterators.user_iterator import IndexProtocolIterator, UserIterator
from capture.variables.objects.instance_dict import InstanceDictVariable
from capture.variables.objects.native_base import (
    ASKED_BY_FUNCTIONS,
    LITERAL_BASES,
    defines_operators,
    make_native,
)
from capture.variables.objects.object_methods import OBJECT_METHOD_NAMES, OBJECT_METHODS
from guards.kinds.attributes import HasAttributeGuard
from guards.kinds.containers import DictContainsGuard
from guards.lookup import instance_dict
from guards.sources import HEAP_TYPE, AttrSource, DictItemSource, DictSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source

#: what Python says of an object whose class has None there: for other names it tries to call None
REFUSED_BY_NONE = {
    "__hash__": "unhashable type: '{}'",
    "__iter__": "'{}' object is not iterable",
    "__contains__": "'{}' object is not a container",
}
TUPLE_GETTER: type = collections._tuplegetter  # type: ignore[attr-defined]


def iterates(value: Variable) -> bool:
    """Whether Python would ask the value for its items; only constants and objects say no."""
    names = "__iter__", "__getitem__"
    if isinstance(value, ObjectVariable):
        return any(value.has_class_attribute(name) for name in names)
    return any(hasattr(value.python_type(), name) for name in names) or not value.is_constant()


class ObjectVariable(Variable):
    """An instance. `value` is None if the frame made it (by `cls.__new__` without arguments)."""

    mutable = True
    has_own_methods = True

    def __init__(
        self, cls: type, value: Any = None, source: Source | None = None, output: Output | None = None
    ) -> None:
        super().__init__(source)
        self.cls = cls
        self.value = value
        self.output = output  # set for an existing object: its attributes are wrapped there
        self.attributes: dict[str, Variable] = {}
        #: For a class based on a built-in one (`class Foo(list)`): the built-in part.
        self.base_value: Variable | None = None
        #: `__dict__`, as long as something holds it. A cycle would keep the program's objects alive.
        self.namespace: Callable[[], Variable | None] = lambda: None

    def is_overriding(self) -> bool:
        return self.class_entry(HANDLER) is not MISSING and overrides(self.cls) and is_enabled()

    def python_type(self) -> type:
        return self.cls

    def describe(self) -> str:
        return f"{self.cls.__name__} object" + (f" {self.source.text}" if self.source else "")

    def real_value(self) -> Any:
        if self.value is None:
            raise NotConstant(self)
        return self.value

    def as_proxy(self) -> Any:
        if self.base_value is not None and not self.defines_operators():
            return self.base_value.as_proxy()
        return super().as_proxy()

    def plain_argument(self) -> Variable:
        """The literal in the built-in part, if the class defines no operator."""
        base = self.base_value
        if base is None or base.python_type() not in LITERAL_BASES:
            return self
        return self if self.defines_operators() else base

    def defines_operators(self) -> bool:
        """Whether the class defines a method that a built-in function calls. A class may add one: guarded."""
        for name in ASKED_BY_FUNCTIONS:
            self.class_entry(name)
        return defines_operators(self.cls)

    def has_class_attribute(self, name: str, below: type | None = None) -> bool:
        """Whether the class has the attribute. With `below`: whether a class before that base defines it."""
        found = self.class_entry(name)
        return found is not MISSING and (below is None or found is not lookup_type(below, name))

    def class_entry(self, name: str) -> Any:
        """The raw entry of the class, MISSING if there is none. Guarded, because the caller depends on it."""
        if self.output is not None:
            self.output.guarding.class_entry(self, self.cls, name)
        return lookup_type(self.cls, name)

    def refuse_none(self, name: str) -> None:
        """Raises Python's TypeError if the class has None there, which says that it has no such operator."""
        if self.class_entry(name) is None:
            raise raise_new(TypeError, REFUSED_BY_NONE[name].format(self.cls.__name__))

    # --- attributes ---

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        reader = self.class_entry("__getattribute__")
        try:
            found = self.found_by(tx, reader, name)
        except ObservedException as raised:  # of a property, a descriptor or the reader
            is_missing = issubclass(raised.variable.python_type(), AttributeError)
            if not is_missing or not self.has_class_attribute("__getattr__"):
                raise
            found = None
        return found if found is not None else self.fallback_get_attr(tx, name)

    def found_by(self, tx: Interpreter, reader: Any, name: str) -> Variable | None:
        """The answer of the `__getattribute__` of the class. None where that of `object` finds nothing."""
        if reads_attributes_plainly(reader):
            return self.generic_get_attr(tx, name)
        if not isinstance(reader, types.FunctionType):
            raise GraphBreak("property", name=name, value=self)
        function = class_value(tx, self, reader, "__getattribute__")
        return function.call(tx, [self, ConstantVariable(name)], {})

    def fallback_get_attr(self, tx: Interpreter, name: str) -> Variable:
        """The look-up after the attribute was not found: `__getattr__`, else AttributeError."""
        if name != "__dict__":  # the layout of the class decides it, and the layout can't change
            self.class_entry(name)
        getter = self.class_entry("__getattr__")
        if getter is not MISSING:
            return class_value(tx, self, getter, "__getattr__").call(tx, [self, ConstantVariable(name)], {})
        raise raise_new(AttributeError, f"'{shown_name(self.cls)}' object has no attribute '{name}'")

    def generic_get_attr(self, tx: Interpreter, name: str) -> Variable | None:
        """`object.__getattribute__`. None if that raises AttributeError."""
        if name == "__class__" and isinstance(self.class_entry(name), types.GetSetDescriptorType):
            return wrap_class(tx.output, self.cls)
        found = lookup_type(self.cls, name)
        if found is not MISSING and is_data_descriptor(found):
            return self.read_descriptor(tx, name, found)
        own = self.instance_attribute(tx, name)
        if own is not None:
            if found is not MISSING:
                self.guard_no_data_descriptor(tx, name, found)
            return own
        if found is MISSING:
            return None
        return class_attribute(tx, self, self.cls, name)

    def guard_no_data_descriptor(self, tx: Interpreter, name: str, found: Any) -> None:
        """Guards that the entry of the class has no `__set__` and no `__delete__`: with one it would win."""
        if type(found).__flags__ & HEAP_TYPE:
            descriptor = class_value(tx, self, found, name)
            for method in SETTERS:
                tx.output.guarding.class_entry(descriptor, type(found), method)

    def descriptor_entry(self, tx: Interpreter, name: str, method: str) -> Any:
        """The entry of the class for a name that is stored or deleted.

        Guards cover the entry, and whether it has that method of a descriptor.
        """
        found = self.class_entry(name)
        if found is not MISSING and type(found).__flags__ & HEAP_TYPE:
            tx.output.guarding.class_entry(class_value(tx, self, found, name), type(found), method)
        return found

    def instance_attribute(self, tx: Interpreter, name: str) -> Variable | None:
        """The entry of the instance dict: the frame's store, else the value from before."""
        if name in self.attributes:
            pending = self.attributes[name]
            return None if isinstance(pending, Deleted) else pending
        if name == "__dict__" and self.cls.__dictoffset__:
            return self.dict_variable()
        namespace = instance_dict(self.value) if self.value is not None else None
        if namespace is not None and name in namespace:
            return wrap(tx.output, namespace[name], self.attribute_source(name))
        if namespace is not None:
            self.guard_lacks(tx, name)
        return None

    def reads_attributes_plainly(self) -> bool:
        return reads_attributes_plainly(lookup_type(self.cls, "__getattribute__"))

    def attribute_source(self, name: str) -> Source | None:
        """The source of an entry of the instance dict.

        The dict itself is the parent if `__getattribute__` is written in Python or a data descriptor hides
        the entry.
        """
        if self.source is None:
            return None
        return (
            AttrSource(self.source, name)
            if self.shows_entry(name)
            else DictItemSource(DictSource(self.source), name)
        )

    def shows_entry(self, name: str) -> bool:
        """Whether reading the attribute gives the entry of the instance dict."""
        return self.reads_attributes_plainly() and not is_data_descriptor(lookup_type(self.cls, name))

    def guard_lacks(self, tx: Interpreter, name: str) -> None:
        """Guards that the instance dict does not have the entry."""
        if self.shows_entry(name) or self.source is None:
            tx.output.guarding.no_attribute(self, name)
        else:
            tx.output.guards.add(DictContainsGuard.of(DictSource(self.source), name, False))

    def dict_variable(self) -> Variable:
        namespace = self.namespace()
        if namespace is None:
            namespace = InstanceDictVariable(self)
            self.namespace = weakref.ref(namespace)
        return namespace

    def read_descriptor(self, tx: Interpreter, name: str, found: Any) -> Variable:
        if name == "__dict__" and isinstance(found, (types.GetSetDescriptorType, types.MemberDescriptorType)):
            return self.dict_variable()
        if isinstance(found, property):
            if found.fget is None:
                raise raise_new(
                    AttributeError, f"property '{name}' of '{self.cls.__name__}' object has no getter"
                )
            getter = class_value(tx, self, found.fget, name, "fget")
            return getter.call(tx, [self], {})
        if self.base_value is not None and _is_field_of_base(found):
            return self.base_value.get_attr(tx, name)
        if isinstance(found, types.MemberDescriptorType) and "__slots__" in vars(found.__objclass__):
            pending = self.attributes.get(name)
            if pending is not None and not isinstance(pending, Deleted):
                return pending
            try:
                value = found.__get__(self.real_value() if pending is None else None)
            except (AttributeError, TypeError, NotConstant):
                if pending is None and self.source is not None:
                    tx.output.guards.add(HasAttributeGuard.of(self.source, self.value, name))
                raise raise_new(
                    AttributeError, f"'{shown_name(self.cls)}' object has no attribute '{name}'"
                ) from None
            return wrap(tx.output, value, AttrSource(self.source, name) if self.source else None)
        if self.base_value is not None and isinstance(found, TUPLE_GETTER):
            index = found.__reduce__()[1][0]
            return self.base_value.get_item(tx, ConstantVariable(index))  # type: ignore[attr-defined]
        if self.base_value is not None and isinstance(found, types.GetSetDescriptorType):
            return self.base_value.get_attr(tx, name)
        if isinstance(lookup_type(type(found), "__get__"), types.FunctionType):
            return call_descriptor(tx, self, self.cls, found, name)
        raise GraphBreak("property", name=name, value=self)

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        setter = self.class_entry("__setattr__")
        if setter in plain_setattr():
            self.generic_set_attr(tx, name, value)
        else:
            class_value(tx, self, setter, "__setattr__").call(tx, [self, ConstantVariable(name), value], {})

    def generic_set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        """`object.__setattr__`."""
        found = self.descriptor_entry(tx, name, "__set__")
        if isinstance(found, property):
            if found.fset is None:
                raise raise_new(
                    AttributeError, f"property '{name}' of '{self.cls.__name__}' object has no setter"
                )
            class_value(tx, self, found.fset, name, "fset").call(tx, [self, value], {})
            return
        if self.base_value is not None and _is_field_of_base(found):
            self.base_value.set_attr(tx, name, value)
            return
        if found is not MISSING and lookup_type(type(found), "__set__") is not MISSING:
            setter = lookup_type(type(found), "__set__")
            if isinstance(setter, types.FunctionType):
                owner = class_value(tx, self, found, name)
                class_value(tx, owner, setter, "__set__").call(tx, [owner, self, value], {})
                return
            if not isinstance(found, types.MemberDescriptorType):
                raise GraphBreak("set_attr", value=self, name=name)
        elif self.cls.__dictoffset__ == 0:
            raise raise_new(AttributeError, f"'{shown_name(self.cls)}' object has no attribute '{name}'")
        tx.output.side_effects.store_attr(self, name, value)

    def del_attr(self, tx: Interpreter, name: str) -> None:
        deleter = self.class_entry("__delattr__")
        if deleter in plain_setattr():
            self.generic_del_attr(tx, name)
        else:
            class_value(tx, self, deleter, "__delattr__").call(tx, [self, ConstantVariable(name)], {})

    def generic_del_attr(self, tx: Interpreter, name: str) -> None:
        """`object.__delattr__`: the deleter of a descriptor, else the entry of the instance dict or slot."""
        found = self.descriptor_entry(tx, name, "__delete__")
        if isinstance(found, property):
            if found.fdel is None:
                text = f"property '{name}' of '{self.cls.__name__}' object has no deleter"
                raise raise_new(AttributeError, text)
            class_value(tx, self, found.fdel, name, "fdel").call(tx, [self], {})
            return
        if self.base_value is not None and _is_field_of_base(found):
            raise GraphBreak("set_attr", value=self, name=name)
        if found is not MISSING and not isinstance(found, types.MemberDescriptorType):
            deleter = lookup_type(type(found), "__delete__")
            if isinstance(deleter, types.FunctionType):
                owner = class_value(tx, self, found, name)
                class_value(tx, owner, deleter, "__delete__").call(tx, [owner, self], {})
                return
            if is_data_descriptor(found):
                raise GraphBreak("set_attr", value=self, name=name)
        if self.instance_attribute(tx, name) is None:
            raise raise_new(AttributeError, f"'{shown_name(self.cls)}' object has no attribute '{name}'")
        tx.output.side_effects.delete_attr(self, name)

    # --- operations through dunder methods ---

    def dunder(self, tx: Interpreter, name: str, args: list[Variable]) -> Variable | None:
        if not self.has_class_attribute(name):
            return None
        return self.call_method(tx, name, args, {})

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        entry = self.class_entry(name) if name in OBJECT_METHOD_NAMES else None
        special = OBJECT_METHODS.get(entry) if isinstance(entry, Hashable) else None
        if special is not None:
            return special(tx, self, *args, **kwargs)
        if name.startswith("__") and name.endswith("__"):
            found = class_attribute(tx, self, self.cls, name)  # on the type, as Python does
            if found is not None:
                return found.call(tx, args, kwargs)
        return self.get_attr(tx, name).call(tx, args, kwargs)

    def truth(self, tx: Interpreter) -> bool:
        result = self.dunder(tx, "__bool__", [])
        if result is None:
            result = self.dunder(tx, "__len__", [])
            if result is None:
                return True
            return (fold(checked_length, [result], {}) if result.is_constant() else result).truth(tx)
        return answer_of_bool(tx, result)

    def len_variable(self, tx: Interpreter) -> Variable:
        result = self.dunder(tx, "__len__", [])
        if result is None:
            raise raise_new(TypeError, f"object of type '{shown_name(self.cls)}' has no len()")
        return result

    def length(self, tx: Interpreter) -> int:
        value = self.len_variable(tx).as_constant()
        assert isinstance(value, int)
        return value

    def get_item(self, tx: Interpreter, key: Variable) -> Variable:
        if not self.has_class_attribute("__getitem__"):
            raise raise_new(TypeError, f"'{shown_name(self.cls)}' object is not subscriptable")
        if self.cls.__module__ == "typing" and self.source is not None:
            tx.output.guarding.identity(self, self.value)
            return make(types.GenericAlias, self, self.value, key)
        return self.call_method(tx, "__getitem__", [key], {})

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if not self.has_class_attribute("__call__"):
            raise raise_new(TypeError, f"'{shown_name(self.cls)}' object is not callable")
        return self.call_method(tx, "__call__", args, kwargs)

    def iterate(self, tx: Interpreter) -> Variable:
        if self.has_class_attribute("__iter__"):
            self.refuse_none("__iter__")
            result = self.call_method(tx, "__iter__", [], {})
            if not hasattr(result.python_type(), "__next__"):
                text = f"iter() returned non-iterator of type '{result.python_type().__name__}'"
                raise raise_new(TypeError, text)
            return UserIterator(result) if isinstance(result, ObjectVariable) else result
        if self.has_class_attribute("__getitem__"):
            return IndexProtocolIterator(self)
        raise raise_new(TypeError, f"'{shown_name(self.cls)}' object is not iterable")

    def unpack(self, tx: Interpreter) -> list[Variable]:
        return self.iterate(tx).unpack(tx)

    def ask_length(self, tx: Interpreter) -> None:
        """Methods of the program may count, or raise. A TypeError says that there is no answer."""
        for name in ("__len__", "__length_hint__"):
            entry = self.class_entry(name)
            if entry is MISSING:
                continue
            if not isinstance(entry, types.FunctionType):
                return
            try:
                answer = self.call_method(tx, name, [], {})
            except ObservedException as raised:
                if issubclass(raised.variable.python_type(), TypeError):
                    continue
                raise
            if answer.is_constant():
                fold(_checked_hint, [ConstantVariable(name), answer], {})
            return

    # --- output ---

    def replay_change(self, code: PythonCode, before: Any) -> None:
        store_attributes(code, self, self.attributes)

    def reconstruct(self, code: PythonCode) -> None:
        """Makes a bare instance, then fills the built-in part, then sets its attributes."""
        make_native(code, self)
        code.output.side_effects.fill_new_object(code, self)

    def children(self) -> list[Variable]:
        return [
            *self.attributes.values(),
            *(self.base_value.children() if self.base_value is not None else ()),
        ]


def checked_length(value: Any) -> int:
    """The result of `len()` for an object whose `__len__` returned `value`."""
    return len(type("sized", (), {"__len__": lambda _: value})())


def _checked_hint(name: str, answer: Any) -> int:
    """The length that Python expects of an object whose method of that name has returned `answer`."""
    return operator.length_hint(type("asked", (), {name: lambda _: answer})())


def _is_field_of_base(found: Any) -> bool:
    """Whether it is a field that methods of the built-in part use: the factory of a defaultdict."""
    return isinstance(found, types.MemberDescriptorType) and found.__objclass__ is collections.defaultdict


def answer_of_bool(tx: Interpreter, result: Variable) -> bool:
    """The result of a `__bool__` written in Python. Python takes nothing but a bool."""
    if result.python_type() is not bool:
        raise raise_new(TypeError, f"__bool__ should return bool, returned {result.python_type().__name__}")
    return result.truth(tx)
