"""Calls of a class.

In:  a class and the variables of the arguments.
Out: the new instance. The rules are an ordered table: the first that applies to the class makes the instance.
"""

from __future__ import annotations

import enum
import types
from typing import TYPE_CHECKING

import torch

from capture.report.break_reasons import GraphBreak, finalized
from capture.variables.containers.named_tuple import overrides_sequence
from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.class_lookup import MISSING, class_value, lookup_type
from capture.variables.core.constant import fold
from capture.variables.core.exception import ExceptionVariable, raise_new, raise_python
from capture.variables.core.makers import makes
from capture.variables.objects.exception_group import make_group
from capture.variables.objects.native_base import native_base, new_base_value
from capture.variables.objects.type_object import ClassVariable
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.operations.refusals import error_of
from capture.variables.tensors import tensor_subclass

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


IS_ABSTRACT = 1 << 20  # Py_TPFLAGS_IS_ABSTRACT


def new_instance(tx: Interpreter, cls: ClassVariable) -> ObjectVariable:
    """`object.__new__(cls)`.

    Python runs the frame for a class with a finalizer, which it calls when the last reference goes.
    """
    for name in ("__new__", "__init__", "__del__"):
        tx.output.guarding.class_entry(cls, cls.cls, name)
    if lookup_type(cls.cls, "__del__") is not MISSING:
        raise finalized(cls)
    if cls.cls.__flags__ & IS_ABSTRACT:  # Python raises an error that names the missing methods
        raise GraphBreak("call", value=cls)
    result = ObjectVariable(cls.cls, output=tx.output)
    tx.output.side_effects.remember_class_source(result, cls.source)
    return result


def _make_exception(
    tx: Interpreter, cls: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    own_init = lookup_type(cls.cls, "__init__") not in BUILTIN_EXCEPTION_INITS
    made_otherwise = isinstance(cls.cls.__new__, types.FunctionType)
    if made_otherwise or (kwargs and not own_init and cls.cls not in TAKE_KEYWORDS):
        raise GraphBreak("call", value=cls)
    is_group = issubclass(cls.cls, BaseExceptionGroup)
    kind = _class_of_error(cls, args)
    result = make_group(tx, kind, args) if is_group else ExceptionVariable(kind, args)
    if not own_init:
        refused = error_of(kind, [], dict.fromkeys(kwargs, "")) if kwargs else None
        if refused is not None:
            raise raise_python(refused)
        result.keywords = kwargs
    tx.output.side_effects.remember_class_source(result, cls.source)
    if own_init:
        result.get_attr(tx, "__init__").call(tx, args, kwargs)
    return result


def _class_of_error(cls: ClassVariable, args: list[Variable]) -> type:
    """The class of the error that the call makes: `OSError(2, text)` makes a FileNotFoundError."""
    if cls.cls is not OSError or len(args) < 2:
        return cls.cls
    try:
        return type(OSError(*[arg.as_constant() for arg in args]))
    except NotConstant:
        raise GraphBreak("call", value=cls) from None


#: Exceptions that take keyword arguments. Their positional arguments have no names.
TAKE_KEYWORDS = (ImportError, ModuleNotFoundError, AttributeError, NameError, UnboundLocalError)
BUILTIN_EXCEPTION_INITS = frozenset(
    c.__init__
    for c in vars(__import__("builtins")).values()
    if isinstance(c, type) and issubclass(c, BaseException)
)


def _is_plain_named_tuple(cls: type) -> bool:
    if not (issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "_make")):
        return False
    own_new = lookup_type(cls, "__new__") is not vars(_named_tuple_base(cls))["__new__"]
    return not own_new and not overrides_sequence(cls)


def _make_named_tuple(
    tx: Interpreter, cls: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """What the generated `__new__` does: its defaults may be replaced."""
    if lookup_type(cls.cls, "__init__") is not object.__init__:
        raise GraphBreak("call", value=cls)
    tx.output.guarding.class_entry(cls, cls.cls, "__init__")
    return cls.get_attr(tx, "__new__").call(tx, [cls, *args], kwargs)


def _named_tuple_base(cls: type) -> type:
    return next(c for c in cls.__mro__ if "_fields" in vars(c))


def _make_constant(
    tx: Interpreter, cls: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    return fold(cls.cls, args, kwargs)


def _is_plain_class(cls: type) -> bool:
    return (
        lookup_type(cls, "__new__") is object.__new__
        and bool(cls.__flags__ & (1 << 9))  # a heap type: a class written in Python
    )


def _make_object(
    tx: Interpreter, cls: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    if (args or kwargs) and lookup_type(cls.cls, "__init__") is object.__init__:
        raise raise_new(TypeError, f"{cls.cls.__name__}() takes no arguments")
    result = new_instance(tx, cls)
    made = result.call_method(tx, "__init__", args, kwargs)
    if not made.is_exactly(None):
        kind = made.python_type().__name__
        raise raise_new(TypeError, f"__init__() should return None, not '{kind}'")
    return result


def _is_native_subclass(cls: type) -> bool:
    """Whether it is a Python class based on a built-in one with contents, whose `__new__` it has."""
    base = native_base(cls)
    return bool(cls.__flags__ & (1 << 9)) and base is not object and cls.__new__ is base.__new__


def _make_native_subclass(
    tx: Interpreter, cls: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    result = native_new(tx, native_base(cls.cls), cls, args, kwargs)
    result.call_method(tx, "__init__", args, kwargs)
    return result


@makes(object)
def native_new(
    tx: Interpreter, base: type, cls: Variable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """`base.__new__(cls, *args, **kwargs)` for a built-in class."""
    if base is torch.Tensor or base is torch._C.TensorBase:
        return tensor_subclass.new_tensor(tx, cls, args)
    if not isinstance(cls, ClassVariable) or native_base(cls.cls) is not base:
        raise GraphBreak("call", value=f"{base.__name__}.__new__")
    if cls.cls is base:
        return cls.make_instance(tx, args, kwargs)
    if base is object and (args or kwargs):
        if lookup_type(cls.cls, "__new__") is not object.__new__:
            text = "object.__new__() takes exactly one argument (the type to instantiate)"
            raise raise_new(TypeError, text)
        if lookup_type(cls.cls, "__init__") is object.__init__:
            raise raise_new(TypeError, f"{cls.cls.__name__}() takes no arguments")
    result = new_instance(tx, cls)
    result.base_value = new_base_value(tx, base, args, kwargs)
    return result


def _is_generic_new(cls: type) -> bool:
    """Whether the class has a `__new__` written in Python."""
    return isinstance(lookup_type(cls, "__new__"), staticmethod) and not issubclass(
        cls, (torch.nn.Module, torch.Tensor)
    )


def _make_by_new(
    tx: Interpreter, cls: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    new = class_value(tx, cls, lookup_type(cls.cls, "__new__").__func__, "__new__", "__func__")
    result = new.call(tx, [cls, *args], kwargs)
    if isinstance(result, ObjectVariable) and issubclass(result.cls, cls.cls):
        result.call_method(tx, "__init__", args, kwargs)
    elif issubclass(result.python_type(), cls.cls) and isinstance(
        lookup_type(cls.cls, "__init__"), types.FunctionType
    ):
        raise GraphBreak("call", value=cls)
    return result


CONSTANT_CLASSES = (torch.device, torch.dtype, torch.finfo, torch.iinfo, enum.Enum)

#: (applies, maker), in the order of the search: instances of classes without a rule of their own
INSTANCE_RULES = (
    (lambda cls: issubclass(cls, BaseException), _make_exception),
    (tensor_subclass.is_subclass, tensor_subclass.make_instance),
    (_is_plain_named_tuple, _make_named_tuple),
    (lambda cls: issubclass(cls, CONSTANT_CLASSES), _make_constant),
    (_is_plain_class, _make_object),
    (_is_native_subclass, _make_native_subclass),
    (_is_generic_new, _make_by_new),
)


@makes("instance")
def instance_of(
    tx: Interpreter, cls: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    for applies, maker in INSTANCE_RULES:
        if applies(cls.cls):
            made: Variable = maker(tx, cls, args, kwargs)
            return made
    raise GraphBreak("call", value=cls)
