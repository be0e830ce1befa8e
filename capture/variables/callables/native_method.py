"""Methods written in C.

In:  a method of a built-in class: bound to an object, unbound, or of the class itself.
Out: calls of the method on variables.
"""

from __future__ import annotations

import collections
import types
import weakref
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.polyfills import dict_fromkeys
from capture.variables.containers import subclass_polyfills
from capture.variables.containers.sequence import SequenceVariable
from capture.variables.containers.sets import SetVariable
from capture.variables.core.base import Variable
from capture.variables.core.class_lookup import lookup_type, note_pending
from capture.variables.core.constant import NONE, ConstantVariable, fold
from capture.variables.core.exception import ExceptionVariable, raise_new
from capture.variables.core.makers import make, makes
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.rules import CALLS
from capture.variables.core.wrap import guard_identity, wraps
from capture.variables.objects import copy_polyfills
from capture.variables.objects.native_base import IMMUTABLE_BASES
from capture.variables.objects.object_methods import OBJECT_METHODS
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.operations.operator_methods import OPERATOR_METHODS
from capture.variables.tensors.tensor import TensorVariable
from guards.properties.class_relatives import subclasses_are
from guards.sources import ConstantSource, WeakrefSource

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output
    from capture.variables.objects.type_object import ClassVariable
    from guards.sources import Source


def call_descriptor_method(
    tx: Interpreter, descriptor: Any, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """Calls a method written in C with its owner as first argument.

    Examples are `object.__setattr__(x, ...)` and `list.append(x, 1)`.
    """
    if not args:
        raise raise_new(TypeError, f"unbound method {descriptor.__qualname__}() needs an argument")
    owner, rest = args[0], args[1:]
    refuse_other_owner(descriptor, owner)
    special = OBJECT_METHODS.get(descriptor)
    if special is not None and isinstance(owner, ObjectVariable):
        return special(tx, owner, *rest, **kwargs)
    if descriptor in TYPE_METHODS:
        return TYPE_METHODS[descriptor](tx, owner, *rest, **kwargs)
    if isinstance(owner, ExceptionVariable):
        return owner.call_native(tx, descriptor, rest, kwargs)
    if _is_shadowed(descriptor, owner):
        raise GraphBreak("method", name=descriptor.__qualname__, value=owner)
    if isinstance(owner, ObjectVariable):
        if owner.base_value is None and descriptor in CALLS:
            return CALLS[descriptor](tx, owner, *rest, **kwargs)
        if owner.base_value is None:
            raise GraphBreak("method", name=descriptor.__qualname__, value=owner)
        return _call_on_base(tx, descriptor, owner, rest, kwargs)
    if isinstance(owner, TensorVariable):  # this is torch's own method: it skips one of a subclass
        return TensorVariable.call_method(owner, tx, descriptor.__name__, rest, kwargs)
    if lookup_type(owner.python_type(), descriptor.__name__) is not descriptor and owner.is_constant():
        return fold(descriptor, [owner, *rest], kwargs)  # int's method on a bool
    return owner.call_method(tx, descriptor.__name__, rest, kwargs)


def _is_shadowed(descriptor: Any, owner: Variable) -> bool:
    """Whether it is a method of `object` where the built-in class of the owner has another one.

    A call by its name would be a call of the other one.
    """
    if getattr(descriptor, "__objclass__", None) is not object:
        return False
    base = getattr(owner, "base_value", None)
    kind = (base if isinstance(base, Variable) else owner).python_type()
    own = lookup_type(kind, descriptor.__name__)
    return own is not descriptor and not isinstance(own, types.FunctionType)


def refuse_other_owner(descriptor: Any, owner: Variable) -> None:
    """Raises if the owner is no instance of the method's class: `list.append((), 1)`."""
    wanted = getattr(descriptor, "__objclass__", object)
    if isinstance(owner, OpaqueVariable) or wanted in owner.python_type().__mro__:
        return
    kind = owner.python_type().__name__
    if isinstance(descriptor, types.WrapperDescriptorType):
        needs = f"requires a '{wanted.__name__}' object"
        text = f"descriptor '{descriptor.__name__}' {needs} but received a '{kind}'"
        raise raise_new(TypeError, text)
    if isinstance(descriptor, types.MethodDescriptorType):
        name = f"descriptor '{descriptor.__name__}' for '{wanted.__name__}' objects"
        text = f"{name} doesn't apply to a '{kind}' object"
        raise raise_new(TypeError, text)


def _call_on_base(
    tx: Interpreter, descriptor: Any, owner: ObjectVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    base: Any = owner.base_value
    own = subclass_polyfills.METHODS.get((base.python_type(), descriptor.__name__))
    if own is not None:
        return tx.wrap_function(own).call(tx, [owner, *args], kwargs)
    if base.python_type() is collections.OrderedDict and _changes_items(owner):
        return _call_ordered(tx, descriptor, owner, args, kwargs)
    if descriptor.__name__ == "__init__":
        return _fill_from(tx, base, args, kwargs)
    if descriptor is dict.__getitem__ and owner.has_class_attribute("__missing__"):
        held = base.find(tx, args[0])
        return held if held is not None else owner.call_method(tx, "__missing__", args, {})
    if descriptor is collections.defaultdict.__missing__ and base.factory is not None:
        value = base.factory.call(tx, [], {})
        owner.call_method(tx, "__setitem__", [args[0], value], {})
        return value
    if descriptor.__name__ == "__reduce__" and base.python_type() in copy_polyfills.REDUCED_CONTAINERS:
        return tx.wrap_function(copy_polyfills.reduce_container).call(tx, [owner], {})
    result: Variable = base.call_method(
        tx, descriptor.__name__, [arg.plain_argument() for arg in args], kwargs
    )
    if result is not base:
        return result
    if descriptor.__name__ in CHANGE_OWNER:
        return owner
    # The class is based on an immutable one: the result of the method is a plain object.
    if isinstance(base, SetVariable):
        return SetVariable(dict(base.entries), cls=base.cls, table=base.table)
    return base.like(list(base.items)) if isinstance(base, SequenceVariable) else result


def _changes_items(owner: ObjectVariable) -> bool:
    """Whether the class itself defines how items are set, read or deleted."""
    return any(
        owner.class_entry(name) is not getattr(collections.OrderedDict, name)
        for name in ("__setitem__", "__getitem__", "__delitem__", "__contains__")
    )


def _call_ordered(
    tx: Interpreter, descriptor: Any, owner: ObjectVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    name = descriptor.__name__
    if name in ("__init__", "update", "__ior__"):
        update = tx.wrap_function(collections.abc.MutableMapping.update)
        update.call(tx, [owner, *args], kwargs)
        return owner if name == "__ior__" else NONE
    plain = [arg.plain_argument() for arg in args]
    result: Variable = owner.base_value.call_method(tx, name, plain, kwargs)  # type: ignore[union-attr]
    return result


#: In-place operators, which return the instance itself.
CHANGE_OWNER = frozenset(name for name, (_, _, in_place) in OPERATOR_METHODS.items() if in_place)


def _fill_from(tx: Interpreter, base: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """`dict.__init__`, `list.__init__`, `set.__init__`, ... of a subclass instance."""
    kind = base.python_type()
    if kind in IMMUTABLE_BASES:
        return NONE
    if kind is collections.defaultdict and args:
        base.factory, args = args[0], args[1:]
    if kind is collections.deque:
        limit = kwargs.pop("maxlen", args[1] if len(args) > 1 else NONE)
        base.maxlen, args = limit.as_constant(), args[:1]
    if not issubclass(kind, dict):  # `dict.__init__` adds items; the others begin anew
        base.call_method(tx, "clear", [], {})
    if args or kwargs:
        method = "update" if issubclass(kind, (dict, set)) else "extend"
        base.call_method(tx, method, args, kwargs)
    return NONE


def _call_class(tx: Interpreter, cls: Any, *args: Variable, **kwargs: Variable) -> Variable:
    result: Variable = cls.make_instance(tx, list(args), kwargs)
    return result


def _instance_check(tx: Interpreter, cls: Any, value: Variable) -> Variable:
    return ConstantVariable(issubclass(value.python_type(), cls.cls))


def _subclass_check(tx: Interpreter, cls: Any, other: Variable) -> Variable:
    return ConstantVariable(cls.cls in other.real_value().__mro__)


def _set_class_attribute(tx: Interpreter, cls: Any, name: Variable, value: Variable) -> Variable:
    if not issubclass(name.python_type(), str):
        text = f"attribute name must be string, not '{name.python_type().__name__}'"
        raise raise_new(TypeError, text)
    note_pending(cls.cls, name.as_constant())
    tx.output.side_effects.store_attr(cls, name.as_constant(), value)
    return NONE


def _subclasses(tx: Interpreter, cls: Any) -> Variable:
    """`cls.__subclasses__()`. A class that the frame makes has a stand-in, which the program must not see."""
    if tx.output.new_classes:
        raise GraphBreak("method", name="__subclasses__", value=cls)
    tx.output.guarding.state(*subclasses_are(cls.cls))
    below = type.__subclasses__(cls.cls)
    return make(list, [tx.wrap(c, WeakrefSource(ConstantSource(weakref.ref(c)))) for c in below])


def _order_of_lookup(tx: Interpreter, cls: Any) -> Variable:
    return make(list, cls.get_attr(tx, "__mro__").unpack(tx))


#: The methods of `type`, as a class or `super()` in a metaclass calls them.
TYPE_METHODS: dict[Any, Any] = {
    type.__call__: _call_class,
    type.__instancecheck__: _instance_check,
    type.__subclasscheck__: _subclass_check,
    type.__setattr__: _set_class_attribute,
    type.__subclasses__: _subclasses,
    type.mro: _order_of_lookup,
}


@makes(types.MethodDescriptorType)
class BuiltinMethodVariable(Variable):
    """A method written in C, bound to an object.

    Examples are `object.__setattr__`, `Exception.__init__`, and `dict.__getitem__` of a subclass.
    """

    def __init__(self, owner: Variable, descriptor: Any, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.descriptor = descriptor
        self.name = name

    def python_type(self) -> type:
        return types.MethodWrapperType

    def describe(self) -> str:
        return f"method {self.descriptor.__qualname__}"

    def truth(self, tx: Interpreter) -> bool:
        return True

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return call_descriptor_method(tx, self.descriptor, [self.owner, *args], kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        # The descriptor finds the method, because the class may have another one of that name. Methods that
        # need their class crash CPython 3.11 without it.
        code.call_object(
            self.descriptor.__get__, [self.owner, ConstantVariable(self.descriptor.__objclass__)]
        )

    def children(self) -> list[Variable]:
        return [self.owner]


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

    def truth(self, tx: Interpreter) -> bool:
        return True

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name in ("__name__", "__qualname__", "__doc__"):
            return ConstantVariable(getattr(self.descriptor, name))
        return super().get_attr(tx, name)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return call_descriptor_method(tx, self.descriptor, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.descriptor)


class ClassMethodVariable(Variable):
    """A class method or static method written in C: `dict.fromkeys`, `torch.Tensor._make_subclass`."""

    def __init__(self, owner: ClassVariable, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name

    def python_type(self) -> type:
        return types.BuiltinFunctionType

    def describe(self) -> str:
        return f"{self.owner.cls.__name__}.{self.name}"

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        function = getattr(self.owner.cls, self.name)
        if self.name == "fromkeys" and issubclass(self.owner.cls, dict):
            return tx.wrap_function(dict_fromkeys).call(tx, [self.owner, *args], kwargs)
        handler = CALLS.get(function)
        if handler is not None:
            return handler(tx, *args, **kwargs)
        handler = CALLS.get(lookup_type(self.owner.cls, self.name))
        if handler is not None:  # a rule for a class method gets the class, whichever it is
            return handler(tx, self.owner, *args, **kwargs)
        if self.name == "__new__" and args and args[0].as_class() is not None:
            return make(object, tx, function.__self__, args[0], args[1:], kwargs)
        return tx.call_pure(function, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.owner)
        code.load_attribute(self.name)


@wraps(types.WrapperDescriptorType, types.MethodDescriptorType)
def wrap_method_descriptor(output: Output, value: Any, source: Source | None) -> Variable:
    guard_identity(output, value, source)
    return UnboundMethodVariable(value, source)
