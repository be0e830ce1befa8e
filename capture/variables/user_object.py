"""Instances of user-defined classes (and any other object reached by attribute): Python's attribute protocol, symbolically.

`attributes` is what the frame has stored on the object and not yet replayed; under it lies the object itself, if it existed before the frame.
"""

from __future__ import annotations

import collections
import functools
import types
from typing import TYPE_CHECKING, Any

from capture.break_reasons import GraphBreak
from capture.variables.base import NotConstant, ObservedException, Variable
from capture.variables.constant import ConstantVariable
from capture.variables.exception import raise_new
from capture.variables.function import BoundMethodVariable
from guards import guard as make_guard
from guards.lookup import instance_dict
from guards.source import TypeSource

if TYPE_CHECKING:
    from capture.output_graph import OutputGraph
    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from guards.source import Source

MISSING: Any = object()


class Deleted(Variable):
    """An attribute that the frame deleted."""


class ObjectVariable(Variable):
    """`value` None: made by the frame (`cls.__new__` without arguments)."""

    mutable = True

    def __init__(
        self, cls: type, value: Any = None, source: Source | None = None, output: OutputGraph | None = None
    ) -> None:
        super().__init__(source)
        self.cls = cls
        self.value = value
        self.output = output  # of an existing object: where its attributes are wrapped
        self.attributes: dict[str, Variable] = {}
        #: new objects of built-in subclasses (class Foo(list)) keep their base's contents here
        self.base_value: Variable | None = None

    def python_type(self) -> type:
        return self.cls

    def describe(self) -> str:
        return f"{self.cls.__name__} object" + (f" {self.source.text}" if self.source else "")

    def real_value(self) -> Any:
        if self.value is None:
            raise NotConstant(self)
        return self.value

    def has_class_attribute(self, name: str, below: type | None = None) -> bool:
        """Whether the class has the attribute (`below`: defined before that base in the MRO)."""
        found = lookup_type(self.cls, name)
        if found is MISSING:
            self.guard_class_lacks(name)
        return found is not MISSING and (below is None or found is not lookup_type(below, name))

    def guard_class_lacks(self, name: str) -> None:
        """What follows depends on the class not having the attribute."""
        if self.output is not None and self.source is not None:
            self.output.guards.add(make_guard.has_attr(TypeSource(self.source), self.cls, name))

    # --- attributes ---

    def get_attr(self, tx: Translator, name: str) -> Variable:
        reader = lookup_type(self.cls, "__getattribute__")
        if isinstance(
            reader, types.WrapperDescriptorType
        ):  # object's, or that of a built-in base, which does the same
            found = self.generic_get_attr(tx, name)
            return found if found is not None else self.fallback_get_attr(tx, name)
        if not isinstance(reader, types.FunctionType):
            raise GraphBreak("property", name=name, value=self)
        try:
            return class_value(tx, self, reader, "__getattribute__").call(
                tx, [self, ConstantVariable(name)], {}
            )
        except ObservedException as raised:
            if issubclass(raised.variable.python_type(), AttributeError) and self.has_class_attribute(
                "__getattr__"
            ):
                return self.fallback_get_attr(tx, name)
            raise

    def fallback_get_attr(self, tx: Translator, name: str) -> Variable:
        """What Python does where the attribute is not found: `__getattr__`, else AttributeError."""
        getter = lookup_type(self.cls, "__getattr__")
        self.guard_class_lacks(name)
        if getter is MISSING:
            self.guard_class_lacks("__getattr__")
        else:
            return class_value(tx, self, getter, "__getattr__").call(tx, [self, ConstantVariable(name)], {})
        raise raise_new(AttributeError, f"'{self.cls.__name__}' object has no attribute '{name}'")

    def generic_get_attr(self, tx: Translator, name: str) -> Variable | None:
        """`object.__getattribute__`; None where it raises AttributeError."""
        if name == "__class__":
            from capture.wrap import wrap_class

            return wrap_class(tx.output, self.cls)
        found = lookup_type(self.cls, name)
        if found is not MISSING and is_data_descriptor(found):
            return self.read_descriptor(tx, name, found)
        own = self.instance_attribute(tx, name)
        if own is not None:
            return own
        if found is MISSING:
            return self.missing_attribute(tx, name)
        return class_attribute(tx, self, self.cls, name)

    def instance_attribute(self, tx: Translator, name: str) -> Variable | None:
        """From the instance dict: what the frame stored, else what was there."""
        from capture.wrap import wrap

        if name in self.attributes:
            pending = self.attributes[name]
            return None if isinstance(pending, Deleted) else pending
        if name == "__dict__":
            return self.dict_variable(tx)
        namespace = instance_dict(self.value) if self.value is not None else None
        if namespace is not None and name in namespace:
            return wrap(tx.output, namespace[name], self.attribute_source(name))
        if namespace is not None:
            self.guard_lacks(tx, name)
        return None

    def reads_attributes_plainly(self) -> bool:
        return isinstance(lookup_type(self.cls, "__getattribute__"), types.WrapperDescriptorType)

    def attribute_source(self, name: str) -> Source | None:
        """Of an entry of the instance dict; past a `__getattribute__` written in Python, by way of the dict itself."""
        from guards.source import AttrSource, DictItemSource, DictSource

        if self.source is None:
            return None
        return (
            AttrSource(self.source, name)
            if self.reads_attributes_plainly()
            else DictItemSource(DictSource(self.source), name)
        )

    def guard_lacks(self, tx: Translator, name: str) -> None:
        """What follows depends on the instance dict not having the entry."""
        from guards.source import DictSource

        if self.reads_attributes_plainly() or self.source is None:
            tx.output.guard_no_attribute(self, name)
        else:
            tx.output.guards.add(make_guard.dict_contains(DictSource(self.source), name, False))

    def dict_variable(self, tx: Translator) -> Variable:
        from capture.variables.instance_dict import InstanceDictVariable

        return InstanceDictVariable(self)

    def missing_attribute(self, tx: Translator, name: str) -> Variable | None:
        """Hook for classes that keep attributes elsewhere (nn.Module)."""
        return None

    def read_descriptor(self, tx: Translator, name: str, found: Any) -> Variable:
        from capture.wrap import wrap
        from guards.source import AttrSource

        if isinstance(found, property):
            if found.fget is None:
                raise raise_new(
                    AttributeError, f"property '{name}' of '{self.cls.__name__}' object has no getter"
                )
            getter = class_value(tx, self, found.fget, name, "fget")
            return getter.call(tx, [self], {})
        if isinstance(found, types.MemberDescriptorType):
            pending = self.attributes.get(name)
            if pending is not None and not isinstance(pending, Deleted):
                return pending
            try:
                value = found.__get__(self.real_value() if pending is None else None)
            except (AttributeError, TypeError, NotConstant):
                raise raise_new(
                    AttributeError, f"'{self.cls.__name__}' object has no attribute '{name}'"
                ) from None
            return wrap(tx.output, value, AttrSource(self.source, name) if self.source else None)
        if name == "__dict__":
            return self.dict_variable(tx)
        if isinstance(lookup_type(type(found), "__get__"), types.FunctionType):
            return call_descriptor(tx, self, self.cls, found, name)
        raise GraphBreak("property", name=name, value=self)

    def set_attr(self, tx: Translator, name: str, value: Variable) -> None:
        setter = lookup_type(self.cls, "__setattr__")
        if setter in plain_setattr():
            self.generic_set_attr(tx, name, value)
        else:
            class_value(tx, self, setter, "__setattr__").call(tx, [self, ConstantVariable(name), value], {})

    def generic_set_attr(self, tx: Translator, name: str, value: Variable) -> None:
        """`object.__setattr__`."""
        found = lookup_type(self.cls, name)
        if isinstance(found, property):
            if found.fset is None:
                raise raise_new(
                    AttributeError, f"property '{name}' of '{self.cls.__name__}' object has no setter"
                )
            class_value(tx, self, found.fset, name, "fset").call(tx, [self, value], {})
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
            raise raise_new(AttributeError, f"'{self.cls.__name__}' object has no attribute '{name}'")
        tx.output.side_effects.store_attr(self, name, value)

    def del_attr(self, tx: Translator, name: str) -> None:
        deleter = lookup_type(self.cls, "__delattr__")
        if deleter in plain_setattr():
            self.generic_del_attr(tx, name)
        else:
            class_value(tx, self, deleter, "__delattr__").call(tx, [self, ConstantVariable(name)], {})

    def generic_del_attr(self, tx: Translator, name: str) -> None:
        """`object.__delattr__`: a descriptor's own deleter, else the entry of the instance dict or slot."""
        found = lookup_type(self.cls, name)
        if isinstance(found, property):
            if found.fdel is None:
                text = f"property '{name}' of '{self.cls.__name__}' object has no deleter"
                raise raise_new(AttributeError, text)
            class_value(tx, self, found.fdel, name, "fdel").call(tx, [self], {})
            return
        if found is not MISSING and not isinstance(found, types.MemberDescriptorType):
            deleter = lookup_type(type(found), "__delete__")
            if isinstance(deleter, types.FunctionType):
                owner = class_value(tx, self, found, name)
                class_value(tx, owner, deleter, "__delete__").call(tx, [owner, self], {})
                return
            if is_data_descriptor(found):
                raise GraphBreak("set_attr", value=self, name=name)
        if self.instance_attribute(tx, name) is None:
            raise raise_new(AttributeError, f"'{self.cls.__name__}' object has no attribute '{name}'")
        tx.output.side_effects.store_attr(self, name, Deleted())

    # --- operations through dunder methods ---

    def dunder(self, tx: Translator, name: str, args: list[Variable]) -> Variable | None:
        if not self.has_class_attribute(name):
            return None
        return self.call_method(tx, name, args, {})

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        special = OBJECT_METHODS.get(lookup_type(self.cls, name)) if name in OBJECT_METHOD_NAMES else None
        if special is not None:
            return special(tx, self, *args, **kwargs)
        if name.startswith("__") and name.endswith("__"):
            found = class_attribute(tx, self, self.cls, name)  # looked up on the type, as Python does
            if found is not None:
                return found.call(tx, args, kwargs)
        return self.get_attr(tx, name).call(tx, args, kwargs)

    def truth(self, tx: Translator) -> bool:
        result = self.dunder(tx, "__bool__", [])
        if result is None:
            result = self.dunder(tx, "__len__", [])
        return True if result is None else result.truth(tx)

    def length(self, tx: Translator) -> int:
        result = self.dunder(tx, "__len__", [])
        if result is None:
            raise raise_new(TypeError, f"object of type '{self.cls.__name__}' has no len()")
        value = result.as_constant()
        assert isinstance(value, int)
        return value

    def get_item(self, tx: Translator, key: Variable) -> Variable:
        if not self.has_class_attribute("__getitem__"):
            raise raise_new(TypeError, f"'{self.cls.__name__}' object is not subscriptable")
        return self.call_method(tx, "__getitem__", [key], {})

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if not self.has_class_attribute("__call__"):
            raise raise_new(TypeError, f"'{self.cls.__name__}' object is not callable")
        return self.call_method(tx, "__call__", args, kwargs)

    def iterate(self, tx: Translator) -> Variable:
        from capture.variables.user_iterator import IndexProtocolIterator, UserIterator

        if self.has_class_attribute("__iter__"):
            result = self.call_method(tx, "__iter__", [], {})
            return UserIterator(result) if isinstance(result, ObjectVariable) else result
        if self.has_class_attribute("__getitem__"):
            return IndexProtocolIterator(self)
        raise raise_new(TypeError, f"'{self.cls.__name__}' object is not iterable")

    def unpack(self, tx: Translator) -> list[Variable]:
        return self.iterate(tx).unpack(tx)

    # --- output ---

    def reconstruct(self, code: PythonCode) -> None:
        """A bare instance, then what a built-in base holds, then its attributes."""
        base = native_base(self.cls)
        if base is object and self.base_value is not None:
            raise GraphBreak("reconstruct", value=self)
        code.call_object(maker_of(self.cls), [_class_constant(self.cls)])
        code.store_as(self)
        if self.base_value is not None:
            fill_base(code, self, base)
        code.output.side_effects.fill_new_object(code, self)

    def children(self) -> list[Variable]:
        return [
            *self.attributes.values(),
            *(self.base_value.children() if self.base_value is not None else ()),
        ]


#: built-in classes whose subclasses can be made and filled: class -> methods that add an item or a pair
FILLABLE: dict[type, str] = {
    dict: "__setitem__", collections.OrderedDict: "__setitem__", list: "append", set: "add",
}  # fmt: skip


def native_base(cls: type) -> type:
    """The first class of the MRO that is not written in Python."""
    return next(base for base in type.__dict__["__mro__"].__get__(cls) if base in FILLABLE or base is object)


def maker_of(cls: type) -> Any:
    """The `__new__` of the first class of the MRO that is written in C."""
    mro = type.__dict__["__mro__"].__get__(cls)
    return next(base for base in mro if not base.__flags__ & (1 << 9)).__new__


def fill_base(code: PythonCode, owner: ObjectVariable, base: type) -> None:
    """With the new object on the stack: put the items of its built-in base into it, past overridden methods."""
    from capture.variables.mapping import DictVariable

    held = owner.base_value
    assert held is not None
    rows: list[tuple[Variable, ...]] = [(item,) for item in held.children()]
    if isinstance(held, DictVariable):
        rows = list(held.entries.values())
    for row in rows:
        code.call_object(getattr(base, FILLABLE[base]), [owner, *row])
        code.emit("POP_TOP")


def _class_constant(cls: type) -> Variable:
    from capture.variables.type_object import ClassVariable
    from guards.source import ConstantSource

    return ClassVariable(cls, ConstantSource(cls))


# --- look-up on types --------------------------------------------------------------------------------------------------------


def lookup_type(cls: type, name: str) -> Any:
    """The raw entry of the MRO, MISSING if there is none. Runs no user code."""
    for base in type.__dict__["__mro__"].__get__(cls):
        namespace = type.__dict__["__dict__"].__get__(base)
        if name in namespace:
            return namespace[name]
    return MISSING


def is_data_descriptor(value: Any) -> bool:
    return (
        lookup_type(type(value), "__set__") is not MISSING
        or lookup_type(type(value), "__delete__") is not MISSING
    )


@functools.cache
def plain_setattr() -> frozenset[Any]:
    return frozenset({object.__setattr__, object.__delattr__})


def class_value(tx: Translator, owner: Variable, value: Any, name: str, field: str | None = None) -> Variable:
    """A raw value found on the class of `owner` (or a field of it, such as a property's `fget`), with its source."""
    from capture.wrap import wrap
    from guards.source import AttrSource, ConstantSource, TypeAttrSource

    source: Source | None = None
    class_source = tx.output.class_source(owner)
    if class_source is not None:
        source = TypeAttrSource(class_source, name)
        if field is not None:
            source = AttrSource(source, field)
    elif isinstance(value, (types.FunctionType, type)):
        source = ConstantSource(value)
    return wrap(tx.output, value, source)


def class_attribute(tx: Translator, owner: Variable, cls: type, name: str) -> Variable | None:
    """`owner.name` where the name is found on the type: bound as Python binds it. None where the class lacks it."""
    found = lookup_type(cls, name)
    if found is MISSING:
        return None
    return bind(tx, owner, cls, found, name)


def bind(tx: Translator, owner: Variable, cls: type, found: Any, name: str) -> Variable:
    from capture.variables.function import ValueMethod
    from capture.wrap import wrap_class

    if isinstance(found, types.FunctionType):
        return BoundMethodVariable(class_value(tx, owner, found, name), owner)
    if isinstance(found, staticmethod):
        return class_value(tx, owner, found.__func__, name, "__func__")
    if isinstance(found, classmethod):
        return BoundMethodVariable(
            class_value(tx, owner, found.__func__, name, "__func__"), wrap_class(tx.output, cls)
        )
    if isinstance(found, property) and found.fget is not None:
        return class_value(tx, owner, found.fget, name, "fget").call(tx, [owner], {})
    if isinstance(found, functools.cached_property):
        value = class_value(tx, owner, found.func, name, "func").call(tx, [owner], {})
        tx.output.side_effects.store_attr(owner, name, value)
        return value
    if isinstance(
        found, (types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType)
    ):
        return BuiltinMethodVariable(owner, found, name)
    if lookup_type(type(found), "__get__") is not MISSING and not isinstance(
        found, (type, types.BuiltinFunctionType)
    ):
        return call_descriptor(tx, owner, cls, found, name)
    value = class_value(tx, owner, found, name)
    return ValueMethod(value, "__call__") if value is None else value


def call_descriptor(tx: Translator, owner: Variable, cls: type, found: Any, name: str) -> Variable:
    """`type(found).__get__(found, owner, cls)` for a `__get__` written in Python."""
    from capture.wrap import wrap_class

    getter = lookup_type(type(found), "__get__")
    if not isinstance(getter, types.FunctionType):
        raise GraphBreak("property", name=name, value=owner)
    descriptor = class_value(tx, owner, found, name)
    return class_value(tx, descriptor, getter, "__get__").call(
        tx, [descriptor, owner, wrap_class(tx.output, cls)], {}
    )


class BuiltinMethodVariable(Variable):
    """A method written in C, bound to an object: `object.__setattr__`, `Exception.__init__`, `dict.__getitem__` of a subclass."""

    def __init__(self, owner: Variable, descriptor: Any, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.descriptor = descriptor
        self.name = name

    def python_type(self) -> type:
        return types.MethodWrapperType

    def describe(self) -> str:
        return f"method {self.descriptor.__qualname__}"

    def truth(self, tx: Translator) -> bool:
        return True

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        from capture.variables.builtin import call_descriptor_method

        return call_descriptor_method(tx, self.descriptor, [self.owner, *args], kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.owner)
        code.emit("LOAD_ATTR", self.name)

    def children(self) -> list[Variable]:
        return [self.owner]


# --- object's own methods ----------------------------------------------------------------------------------------------------


def _set_attribute(tx: Translator, owner: ObjectVariable, name: Variable, value: Variable) -> Variable:
    owner.generic_set_attr(tx, name.as_constant(), value)
    return ConstantVariable(None)


def _delete_attribute(tx: Translator, owner: ObjectVariable, name: Variable) -> Variable:
    owner.generic_del_attr(tx, name.as_constant())
    return ConstantVariable(None)


def _get_attribute(tx: Translator, owner: ObjectVariable, name: Variable) -> Variable:
    found = owner.generic_get_attr(tx, name.as_constant())
    if found is None:
        raise raise_new(
            AttributeError, f"'{owner.cls.__name__}' object has no attribute '{name.as_constant()}'"
        )
    return found


def _init(tx: Translator, owner: ObjectVariable, *args: Variable, **kwargs: Variable) -> Variable:
    if (args or kwargs) and lookup_type(owner.cls, "__init__") is object.__init__:
        raise raise_new(TypeError, f"{owner.cls.__name__}() takes no arguments")
    return ConstantVariable(None)


def _equals(tx: Translator, owner: ObjectVariable, other: Variable) -> Variable:
    from capture.variables.compare import same_object

    return ConstantVariable(True if same_object(tx, owner, other) else NotImplemented)


def _not_equals(tx: Translator, owner: ObjectVariable, other: Variable) -> Variable:
    from capture.variables.operators import compare

    if not owner.has_class_attribute("__eq__", below=object):
        return ConstantVariable(NotImplemented)
    return ConstantVariable(not compare(tx, "==", owner, other).truth(tx))


def _not_ordered(tx: Translator, owner: ObjectVariable, other: Variable) -> Variable:
    return ConstantVariable(NotImplemented)


OBJECT_METHODS: dict[Any, Any] = {
    object.__setattr__: _set_attribute,
    object.__delattr__: _delete_attribute,
    object.__getattribute__: _get_attribute,
    object.__init__: _init,
    object.__eq__: _equals,
    object.__ne__: _not_equals,
    object.__lt__: _not_ordered,  # type: ignore[operator]
    object.__le__: _not_ordered,  # type: ignore[operator]
    object.__gt__: _not_ordered,  # type: ignore[operator]
    object.__ge__: _not_ordered,  # type: ignore[operator]
}
OBJECT_METHOD_NAMES = frozenset(f.__name__ for f in OBJECT_METHODS)
