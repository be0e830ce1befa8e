"""Classes: attribute look-up on them, and making instances."""

from __future__ import annotations

import enum
import types
from typing import TYPE_CHECKING, Any

import torch

from capture.break_reasons import GraphBreak
from capture.variables.base import Variable
from capture.variables.constant import ConstantVariable, fold
from capture.variables.exception import ExceptionVariable, raise_new
from capture.variables.function import BoundMethodVariable
from capture.variables.user_object import (
    MISSING,
    ObjectVariable,
    class_value,
    is_data_descriptor,
    lookup_type,
    native_base,
)

if TYPE_CHECKING:
    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from guards.source import Source

CLASS_CONSTANTS = frozenset(("__name__", "__qualname__", "__module__", "__doc__"))


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

    def as_proxy(self) -> Any:
        return self.cls

    def truth(self, tx: Translator) -> bool:
        for name in ("__bool__", "__len__"):
            result = self.dunder(tx, name, [])
            if result is not None:
                return result.truth(tx)
        return True

    def get_attr(self, tx: Translator, name: str) -> Variable:
        from capture.wrap import wrap, wrap_class
        from guards.source import TypeAttrSource

        if name in CLASS_CONSTANTS:
            return ConstantVariable(getattr(self.cls, name))
        if name == "__class__":
            return wrap_class(tx.output, type(self.cls))
        if name in ("__mro__", "__bases__"):
            from capture.variables.sequence import TupleVariable

            return TupleVariable([wrap_class(tx.output, c) for c in getattr(self.cls, name)])
        pending = tx.output.side_effects.pending_attr(self, name)
        if pending is not None:
            return pending
        meta = lookup_type(type(self.cls), name)
        if isinstance(meta, property) and meta.fget is not None:
            return class_value(tx, self.metaclass(tx), meta.fget, name, "fget").call(tx, [self], {})
        if meta is not MISSING and is_data_descriptor(meta):
            raise GraphBreak("property", name=name, value=self)
        found = lookup_type(self.cls, name)
        if found is MISSING:
            return self._from_metaclass(tx, name, meta)
        if isinstance(found, classmethod):
            source = TypeAttrSource(self.source, name) if self.source else None
            from guards.source import AttrSource

            function = wrap(tx.output, found.__func__, AttrSource(source, "__func__") if source else None)
            return BoundMethodVariable(function, self)
        if isinstance(found, staticmethod):
            return class_value(tx, self, found.__func__, name, "__func__")
        if isinstance(found, (types.ClassMethodDescriptorType, types.BuiltinFunctionType)):
            return ClassMethodVariable(self, name)
        if isinstance(found, (types.WrapperDescriptorType, types.MethodDescriptorType)):
            return UnboundMethodVariable(found)
        if lookup_type(type(found), "__get__") is not MISSING and not isinstance(
            found, (types.FunctionType, type, property, types.MemberDescriptorType)
        ):
            raise GraphBreak("property", name=name, value=self)
        return wrap(tx.output, found, TypeAttrSource(self.source, name) if self.source else None)

    def _from_metaclass(self, tx: Translator, name: str, meta: Any) -> Variable:
        if meta is MISSING:
            raise raise_new(AttributeError, f"type object '{self.cls.__name__}' has no attribute '{name}'")
        if isinstance(meta, types.FunctionType):
            return BoundMethodVariable(class_value(tx, self.metaclass(tx), meta, name), self)
        raise GraphBreak("property", name=name, value=self)

    def metaclass(self, tx: Translator) -> Variable:
        from capture.wrap import wrap_class

        return wrap_class(tx.output, type(self.cls))

    def dunder(self, tx: Translator, name: str, args: list[Variable]) -> Variable | None:
        """An operator on the class itself, written in Python in its metaclass; None where there is none."""
        found = lookup_type(type(self.cls), name)
        if not isinstance(found, types.FunctionType):
            return None
        return class_value(tx, self.metaclass(tx), found, name).call(tx, [self, *args], {})

    def length(self, tx: Translator) -> int:
        result = self.dunder(tx, "__len__", [])
        if result is None:
            raise raise_new(TypeError, f"object of type '{type(self.cls).__name__}' has no len()")
        value = result.as_constant()
        assert isinstance(value, int)
        return value

    def iterate(self, tx: Translator) -> Variable:
        result = None if isinstance(self.cls, enum.EnumMeta) else self.dunder(tx, "__iter__", [])
        return result if result is not None else super().iterate(tx)

    def set_attr(self, tx: Translator, name: str, value: Variable) -> None:
        if lookup_type(type(self.cls), "__setattr__") is not type.__setattr__:
            raise GraphBreak("set_attr", value=self, name=name)
        tx.output.side_effects.store_attr(self, name, value)

    def get_item(self, tx: Translator, key: Variable) -> Variable:
        if isinstance(self.cls, enum.EnumMeta):
            return fold(self.cls.__getitem__, [key], {})
        own = self.dunder(tx, "__getitem__", [key])
        if own is not None:
            return own
        if hasattr(self.cls, "__class_getitem__"):  # list[int] and the like: a typing construct
            return self
        raise raise_new(TypeError, f"type '{self.cls.__name__}' is not subscriptable")

    def unpack(self, tx: Translator) -> list[Variable]:
        if isinstance(self.cls, enum.EnumMeta):
            return [ConstantVariable(member) for member in list[Any](self.cls)]
        return super().unpack(tx)

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        from capture.variables.builtin import CALLS

        handler = CALLS.get(self.cls)
        if handler is not None:
            return handler(tx, *args, **kwargs)
        from capture.polyfills import POLYFILLS

        polyfill = POLYFILLS.get(self.cls)
        if polyfill is not None:
            return tx.wrap_function(polyfill).call(tx, args, kwargs)
        for applies, make in INSTANCE_RULES:
            if applies(self.cls):
                return make(tx, self, args, kwargs)
        raise GraphBreak("call", value=self)

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name in ("mro", "__subclasses__", "__instancecheck__", "__subclasscheck__"):
            raise GraphBreak("method", name=name, value=self)
        return super().call_method(tx, name, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.cls)


class ClassMethodVariable(Variable):
    """A class method or static method written in C, such as `dict.fromkeys`, `torch.Tensor._make_subclass`."""

    def __init__(self, owner: ClassVariable, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name

    def python_type(self) -> type:
        return types.BuiltinFunctionType

    def describe(self) -> str:
        return f"{self.owner.cls.__name__}.{self.name}"

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        from capture.variables.builtin import CALLS, call_pure

        function = getattr(self.owner.cls, self.name)
        if self.owner.cls is dict and self.name == "fromkeys":
            from capture.polyfills import dict_fromkeys

            return tx.wrap_function(dict_fromkeys).call(tx, args, kwargs)
        handler = CALLS.get(function)
        if handler is not None:
            return handler(tx, *args, **kwargs)
        if self.name == "__new__" and args and isinstance(args[0], ClassVariable):
            return new_instance(tx, args[0])
        return call_pure(tx, function, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.owner)
        code.emit("LOAD_ATTR", self.name)


class UnboundMethodVariable(Variable):
    """A method of a built-in class, unbound: `list.append`, `torch.Tensor.add`, `object.__setattr__`."""

    def __init__(self, descriptor: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.descriptor = descriptor

    def python_type(self) -> type:
        return type(self.descriptor)

    def describe(self) -> str:
        return f"method {self.descriptor.__qualname__}"

    def real_value(self) -> Any:
        return self.descriptor

    def truth(self, tx: Translator) -> bool:
        return True

    def get_attr(self, tx: Translator, name: str) -> Variable:
        if name in ("__name__", "__qualname__", "__doc__"):
            return ConstantVariable(getattr(self.descriptor, name))
        return super().get_attr(tx, name)

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        from capture.variables.builtin import call_descriptor_method

        return call_descriptor_method(tx, self.descriptor, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.descriptor)


# --- making instances: rules in order, (does it apply to the class, make) ----------------------------------------------------


IS_ABSTRACT = 1 << 20  # Py_TPFLAGS_IS_ABSTRACT


def new_instance(tx: Translator, cls: ClassVariable) -> ObjectVariable:
    """`object.__new__(cls)`. Objects with a finalizer are left to Python: when it runs depends on when the object is let go of."""
    if lookup_type(cls.cls, "__del__") is not MISSING:
        raise GraphBreak("finalizer", value=cls)
    if cls.cls.__flags__ & IS_ABSTRACT:  # Python raises, naming the methods that are missing
        raise GraphBreak("call", value=cls)
    result = ObjectVariable(cls.cls)
    tx.output.side_effects.remember_class_source(result, cls.source)
    return result


def _make_exception(
    tx: Translator, cls: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    own_init = lookup_type(cls.cls, "__init__") not in BUILTIN_EXCEPTION_INITS
    made_otherwise = isinstance(cls.cls.__new__, types.FunctionType) or type(cls.cls) is not type
    if made_otherwise or (kwargs and not own_init) or issubclass(cls.cls, BaseExceptionGroup):
        raise GraphBreak("call", value=cls)
    result = ExceptionVariable(cls.cls, args)
    tx.output.side_effects.remember_class_source(result, cls.source)
    if own_init:
        result.get_attr(tx, "__init__").call(tx, args, kwargs)
    return result


BUILTIN_EXCEPTION_INITS = frozenset(
    c.__init__
    for c in vars(__import__("builtins")).values()
    if isinstance(c, type) and issubclass(c, BaseException)
)


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "_make")


def _make_named_tuple(
    tx: Translator, cls: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    from capture.variables.sequence import NamedTupleVariable, field_names, overrides_sequence
    from capture.wrap import wrap

    fields = field_names(cls.cls)
    values = dict(zip(fields, args)) | kwargs
    for name, default in getattr(cls.cls, "_field_defaults", {}).items():
        if name not in values:
            values[name] = wrap(tx.output, default, None)
    base = _named_tuple_base(cls.cls)
    own_new = lookup_type(cls.cls, "__new__") is not vars(base)["__new__"]
    if len(args) > len(fields) or set(values) != set(fields) or own_new or overrides_sequence(cls.cls):
        raise GraphBreak("call", value=cls)
    return NamedTupleVariable([values[n] for n in fields], cls.cls)


def _named_tuple_base(cls: type) -> type:
    return next(c for c in cls.__mro__ if "_fields" in vars(c))


def _make_constant(
    tx: Translator, cls: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    return fold(cls.cls, args, kwargs)


def _is_plain_class(cls: type) -> bool:
    return (
        type(cls).__call__ is type.__call__
        and lookup_type(cls, "__new__") is object.__new__
        and bool(cls.__flags__ & (1 << 9))  # a heap type: written in Python
    )


def _make_object(
    tx: Translator, cls: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    result = new_instance(tx, cls)
    result.call_method(tx, "__init__", args, kwargs)
    return result


def _is_container_class(cls: type) -> bool:
    """A class written in Python on top of dict, list or set, with the `__new__` of that base."""
    base = native_base(cls)
    heap = bool(cls.__flags__ & (1 << 9))
    return heap and base is not object and type(cls).__call__ is type.__call__ and cls.__new__ is base.__new__


def new_base_value(base: type) -> Variable:
    from capture.variables.mapping import DictVariable, SetVariable
    from capture.variables.sequence import ListVariable

    if issubclass(base, dict):
        return DictVariable({}, cls=base)
    return ListVariable([]) if base is list else SetVariable({})


def _make_container(
    tx: Translator, cls: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    result = new_instance(tx, cls)
    result.base_value = new_base_value(native_base(cls.cls))
    result.call_method(tx, "__init__", args, kwargs)
    return result


def _is_generic_new(cls: type) -> bool:
    """A `__new__` written in Python, on top of object's."""
    return (
        isinstance(lookup_type(cls, "__new__"), staticmethod)
        and type(cls).__call__ is type.__call__
        and (not issubclass(cls, (torch.nn.Module, torch.Tensor, tuple, int, float, str, list, dict, set)))
    )


def _make_by_new(
    tx: Translator, cls: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    new = class_value(tx, cls, lookup_type(cls.cls, "__new__").__func__, "__new__", "__func__")
    result = new.call(tx, [cls, *args], kwargs)
    if isinstance(result, ObjectVariable) and issubclass(result.cls, cls.cls):
        result.call_method(tx, "__init__", args, kwargs)
    return result


CONSTANT_CLASSES = (torch.device, torch.dtype, torch.finfo, torch.iinfo, enum.Enum)
INSTANCE_RULES: tuple[tuple[Any, Any], ...] = (
    (lambda cls: issubclass(cls, BaseException), _make_exception),
    (_is_named_tuple, _make_named_tuple),
    (lambda cls: issubclass(cls, CONSTANT_CLASSES), _make_constant),
    (_is_plain_class, _make_object),
    (_is_container_class, _make_container),
    (_is_generic_new, _make_by_new),
)
