"""Rules for isinstance, issubclass, callable and type.

In:  a call with variables of values and classes.
Out: a constant or the variable of a class, with guards on what the answer depends on.
"""

from __future__ import annotations

import abc
import types
import typing
from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.sequence import SizeVariable, TupleVariable
from capture.variables.core.base import NotConstant, ObservedException, Variable
from capture.variables.core.class_lookup import MISSING, lookup_type
from capture.variables.core.constant import ConstantVariable, fold
from capture.variables.core.exception import raise_new
from capture.variables.core.granted import granted
from capture.variables.core.rules import rule
from capture.variables.core.wrap import wrap_class
from capture.variables.numbers.symbolic import is_symbolic
from capture.variables.objects.new_class import make_by_type
from capture.variables.objects.type_object import ClassVariable
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.tensors.tensor import TensorVariable
from capture.variables.tensors.tensor_attributes import MARKS, has_mark
from guards.kinds.identity import ExactTypeGuard
from guards.sources import HEAP_TYPE, ConstantSource

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


def _classes(tx: Interpreter, value: Variable) -> Any:
    """The second argument of isinstance as real classes."""
    if isinstance(value, TupleVariable):
        return tuple(_classes(tx, item) for item in value.unpack(tx))
    try:
        return value.real_value()
    except NotConstant:
        raise GraphBreak("builtin", name="isinstance", value=value) from None


def _is_plain_check(classes: Any) -> bool:
    """Whether no user code decides: plain classes, ABCs, and torch's own metaclasses over plain types."""
    if isinstance(classes, tuple):
        return all(map(_is_plain_check, classes))
    if isinstance(classes, types.UnionType):
        return all(map(_is_plain_check, typing.get_args(classes)))
    check = getattr(type(classes), "__instancecheck__", None)
    return not isinstance(check, types.FunctionType) or check.__module__.startswith(
        ("abc", "torch", "typing", "enum")
    )


def _guard_registrations(tx: Interpreter, kinds: Any, cls: type) -> None:
    """Guards the token that any registration with an abstract base class changes.

    The base class answers for classes that were registered with it. Another process asks it about `cls`.
    """
    if isinstance(kinds, (tuple, types.UnionType)):
        for kind in kinds if isinstance(kinds, tuple) else typing.get_args(kinds):
            _guard_registrations(tx, kind, cls)
    elif isinstance(kinds, abc.ABCMeta):
        tx.output.guarding.state(abc.get_cache_token)
        if _is_plain_check(kinds) and isinstance(cls, type):
            granted().fact(issubclass, (cls, kinds))
        else:
            granted().only_here("a class that decides which objects are its instances")


def _guard_metaclasses(tx: Interpreter, kinds: Any, method: str) -> None:
    """Guards the metaclass of a class of the program, and the metaclass's method that answers."""
    if isinstance(kinds, (tuple, types.UnionType)):
        for kind in kinds if isinstance(kinds, tuple) else typing.get_args(kinds):
            _guard_metaclasses(tx, kind, method)
    elif isinstance(kinds, type) and type(kinds) is not type and kinds.__flags__ & HEAP_TYPE:
        tx.output.guards.add(ExactTypeGuard.of(ConstantSource(kinds), kinds))
        tx.output.guarding.class_entry(wrap_class(tx.output, type(kinds)), type(kinds), method)


def _data_protocols(kinds: Any) -> list[Any]:
    """The protocols with members that an instance must have. `isinstance` looks each of them up."""
    parts = kinds if isinstance(kinds, tuple) else typing.get_args(kinds) or (kinds,)
    nested = [part for kind in parts if isinstance(kind, tuple) for part in _data_protocols(kind)]
    return nested + [kind for kind in parts if getattr(kind, "_is_runtime_protocol", False)]


def _has_members(tx: Interpreter, value: Variable, protocol: Any) -> bool:
    """The answer of `Protocol.__instancecheck__`, member by member. Each member is guarded."""
    names = typing._get_protocol_attrs(protocol)  # type: ignore[attr-defined]
    for name in sorted(names):
        try:
            member = value.get_attr(tx, name)
        except ObservedException as raised:
            if issubclass(raised.variable.python_type(), AttributeError):
                return False
            raise
        if callable(getattr(protocol, name, None)) and member.is_exactly(None):
            return False
    return True


@rule(isinstance)
def _isinstance(tx: Interpreter, value: Variable, classes: Variable) -> Variable:
    kinds = _classes(tx, classes)
    value.note_class_use(tx)
    if is_symbolic(value) or isinstance(value, SizeVariable):
        return _issubclass_of_type(value, kinds)
    _guard_registrations(tx, kinds, value.python_type())
    _guard_metaclasses(tx, kinds, "__instancecheck__")
    if not _is_plain_check(kinds):
        return _user_check(tx, "__instancecheck__", value, classes)
    for protocol in _data_protocols(kinds):
        if _has_members(tx, value, protocol):
            return ConstantVariable(True)
    tx.output.guarding.bases(value, value.python_type())
    if isinstance(value, ObjectVariable) and isinstance(lookup_type(value.cls, "__class__"), property):
        return ConstantVariable(_is_shown_instance(tx, value, kinds))
    try:
        if isinstance(value, TensorVariable) and value.cls is not torch.Tensor:
            return _issubclass_of_type(value, kinds)
        if isinstance(value, TensorVariable):
            probe: Any = value.value if value.value is not None else value.fake
            found = _isinstance_tensor(probe, value.python_type(), kinds)
            return ConstantVariable(found or _is_marked(tx, value, kinds))
        real = value.real_value()
    except NotConstant:
        return _issubclass_of_type(value, kinds)
    return fold(isinstance, [_Held(real), _Held(kinds)], {})


def _is_shown_instance(tx: Interpreter, value: ObjectVariable, kinds: Any) -> bool:
    """For an object with a property `__class__`: that of a mock or a proxy may say anything."""
    if isinstance(kinds, (tuple, types.UnionType)):
        parts = kinds if isinstance(kinds, tuple) else typing.get_args(kinds)
        return any(_is_shown_instance(tx, value, kind) for kind in parts)
    tx.output.guarding.class_entry(value, value.cls, "__class__")
    if _issubclass_of_type(value, kinds).as_constant():
        return True
    try:
        shown = value.get_attr(tx, "__class__").real_value()
    except ObservedException as raised:
        if issubclass(raised.variable.python_type(), AttributeError):
            return False
        raise
    if not isinstance(shown, type):
        return False
    _guard_registrations(tx, kinds, shown)
    return issubclass(shown, kinds)


def _user_check(tx: Interpreter, name: str, value: Variable, classes: Variable) -> Variable:
    """Inlines `__instancecheck__` or `__subclasscheck__` of a metaclass."""
    if isinstance(classes, ClassVariable):
        if name == "__instancecheck__" and value.python_type() is classes.cls:
            return ConstantVariable(True)
        result = classes.dunder(tx, name, [value])
        if result is not None:
            return ConstantVariable(result.truth(tx))
    raise GraphBreak(
        "builtin", name="isinstance" if name == "__instancecheck__" else "issubclass", value=classes
    )


class _Held(Variable):
    """A real object passed to `fold`."""

    def __init__(self, value: Any) -> None:
        super().__init__(None)
        self.value = value

    def as_constant(self) -> Any:
        return self.value


def _isinstance_tensor(probe: torch.Tensor, cls: type, kinds: Any) -> bool:
    if isinstance(kinds, tuple):
        return any(_isinstance_tensor(probe, cls, kind) for kind in kinds)
    if isinstance(kinds, types.UnionType):
        return any(_isinstance_tensor(probe, cls, kind) for kind in typing.get_args(kinds))
    if kinds in (torch.Tensor, torch.nn.Parameter, torch.nn.parameter.Buffer) or type(kinds) is type:
        return issubclass(cls, kinds)
    if type(probe) is cls:
        return isinstance(probe, kinds)
    # `torch.FloatTensor` and similar types look at the dtype.
    return isinstance(torch.empty(0, dtype=probe.dtype), kinds)


def _is_marked(tx: Interpreter, tensor: TensorVariable, kinds: Any) -> bool:
    """Whether a plain tensor has the mark of one of torch's own kinds.

    `nn.Buffer(x)` only sets such a mark on `x`.
    """
    parts = kinds if isinstance(kinds, tuple) else typing.get_args(kinds) or (kinds,)
    return any(
        _is_marked(tx, tensor, part)
        if isinstance(part, tuple)
        else part in MARKS and has_mark(tx, tensor, part)
        for part in parts
    )


def _issubclass_of_type(value: Variable, kinds: Any) -> Variable:
    cls = value.python_type()
    try:
        return ConstantVariable(issubclass(cls, kinds))
    except TypeError as error:
        raise raise_new(TypeError, *error.args) from None


@rule(issubclass)
def _issubclass(tx: Interpreter, cls: Variable, classes: Variable) -> Variable:
    kinds = _classes(tx, classes)
    _guard_registrations(tx, kinds, _classes(tx, cls))
    _guard_metaclasses(tx, kinds, "__subclasscheck__")
    if not _is_plain_check(kinds):
        return _user_check(tx, "__subclasscheck__", cls, classes)
    checked = _classes(tx, cls)
    if isinstance(checked, type):
        tx.output.guarding.bases(cls, checked)
    return fold(issubclass, [_Held(checked), _Held(kinds)], {})


@rule(callable)
def _callable(tx: Interpreter, value: Variable) -> Variable:
    if isinstance(value, ObjectVariable):
        return ConstantVariable(value.has_class_attribute("__call__"))
    return ConstantVariable(lookup_type(value.python_type(), "__call__") is not MISSING)


@rule(type)
def _type(tx: Interpreter, value: Variable, *rest: Variable, **kwargs: Variable) -> Variable:
    if kwargs:
        raise GraphBreak("builtin", name="type", value=value)
    if rest:
        return make_by_type(tx, value, *rest)
    value.note_class_use(tx)
    return wrap_class(tx.output, value.python_type())
