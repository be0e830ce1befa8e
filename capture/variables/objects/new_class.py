"""Class statements inside of captured code.

In:  `__build_class__(body, name, *bases)`, before the body runs.
Out: a ClassVariable. The body is interpreted like a function. The class is made at once, as a stand-in on
     which the interpreter looks things up. Functions and values of the frame have their own stand-ins in it.
     The interpreter knows the frame's variable of each of these.

    class A: def f(self): return y      ->   a real class A. Its f is known as the function of the frame, with
                                             the frame's cell of y.

Each run of the program would make another class. So nobody can rebuild such a class or an instance of it. If
the class must exist after the graph, the graph breaks before the statement.
"""

from __future__ import annotations

import abc
import builtins
import collections
import contextlib
import functools
import types
import typing
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.cached_function import NewCachedFunction
from capture.variables.callables.function import (
    BoundMethodVariable,
    CellVariable,
    NestedFunctionVariable,
)
from capture.variables.callables.generic_alias import GenericAliasVariable
from capture.variables.containers.mapping import pairs_of
from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.class_lookup import MISSING, lookup_type
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_python
from capture.variables.core.rules import rule
from capture.variables.objects.type_object import ClassVariable
from capture.variables.objects.user_object import ObjectVariable
from guards.sources import HEAP_TYPE

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter

PLAIN_METACLASSES = (type, abc.ABCMeta)


class NewClassVariable(ClassVariable):
    """`cls` is the stand-in of the class."""

    mutable = True

    def __init__(self, tx: Interpreter, cls: type) -> None:
        super().__init__(cls, None)
        self.born = tx.output.root_step
        tx.output.objects.remember(cls, self)
        tx.output.new_classes.append(self)

    def real_value(self) -> Any:
        return self.cls

    def has_known_base(self) -> bool:
        """Whether a class outside of the frame knows the new class by `__subclasses__()`."""
        bases = self.cls.__bases__
        return any(base.__flags__ & HEAP_TYPE and base not in (typing.Generic, abc.ABC) for base in bases)

    def leave_bases(self) -> None:
        """Take the stand-in out of the program's `__subclasses__()`. It lives until the next collection."""
        if self.has_known_base() and type(self.cls) is type:
            with contextlib.suppress(TypeError):  # the bases have another layout: then only the end helps
                self.cls.__bases__ = (ValueStandIn,)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name == "__annotations__" and name in vars(self.cls):
            return tx.wrap(vars(self.cls)[name], None)
        return super().get_attr(tx, name)

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        if lookup_type(type(self.cls), "__setattr__") is not type.__setattr__:
            raise GraphBreak("set_attr", value=self, name=name)
        type.__setattr__(self.cls, name, stand_in(tx, value))

    def reconstruct(self, code: PythonCode) -> None:
        raise GraphBreak("reconstruct", value=self)


class DescriptorVariable(Variable):
    """`property(f)`, `staticmethod(f)` or `classmethod(f)`, made by the frame."""

    mutable = True

    def __init__(self, kind: type, args: list[Variable]) -> None:
        super().__init__(None)
        self.kind = kind
        self.args = args

    def python_type(self) -> type:
        return self.kind

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if self.kind is property and name in ACCESSORS:
            return BoundMethodVariable(_Accessor(ACCESSORS.index(name)), self)
        if self.kind is not property and name in ("__func__", "__wrapped__"):
            return self.args[0]
        return super().get_attr(tx, name)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if self.kind is not staticmethod:
            raise GraphBreak("call", value=self)
        return self.args[0].call(tx, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(self.kind, self.args)

    def children(self) -> list[Variable]:
        return list(self.args)


ACCESSORS = ("getter", "setter", "deleter")


class _Accessor(Variable):
    """`p.setter(f)`: a copy of `p` in which another function has that place."""

    def __init__(self, place: int) -> None:
        super().__init__(None)
        self.place = place

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        made, function = args
        assert isinstance(made, DescriptorVariable)
        functions = [*made.args, *[ConstantVariable(None)] * (3 - len(made.args))]
        functions[self.place] = function
        return DescriptorVariable(property, functions)


def _descriptor_of(kind: type) -> Any:
    return lambda tx, *args: DescriptorVariable(kind, list(args))


for _kind in (property, staticmethod, classmethod):
    rule(_kind)(_descriptor_of(_kind))


# --- stand-ins --------------------------------------------------------------------------------------------


class ValueStandIn:
    """Stands in a class for a value of the frame that does not influence attribute look-up."""


def stand_in(tx: Interpreter, value: Variable) -> Any:
    """The object that represents `value` in the stand-in of a class."""
    value = tx.output.objects.resolve(value)
    if isinstance(value, NestedFunctionVariable):
        cells = tuple(types.CellType() for _ in value.code.co_freevars)
        function = types.FunctionType(value.code, value.scope.globals, value.code.co_name, None, cells)
        if "__isabstractmethod__" in value.attributes:  # `type` reads it when it makes the class
            function.__dict__["__isabstractmethod__"] = value.attributes["__isabstractmethod__"].as_constant()
        tx.output.objects.remember(function, value)
        return function
    if isinstance(value, DescriptorVariable):
        return value.kind(*[stand_in(tx, argument) for argument in value.args])
    kind: type | None = functools._lru_cache_wrapper if isinstance(value, NewCachedFunction) else None
    kind = value.cls if isinstance(value, ObjectVariable) else kind
    if kind is not None and any(
        lookup_type(kind, name) is not MISSING
        for name in ("__get__", "__set__", "__delete__", "__set_name__")
    ):
        raise GraphBreak("builtin", name="__build_class__", value=value)
    try:
        return value.real_value()
    except NotConstant:
        substitute = ValueStandIn()
        tx.output.objects.remember(substitute, value)
        return substitute


def make_class(
    tx: Interpreter, metaclass: type, name: str, bases: tuple[Any, ...], namespace: dict[str, Variable]
) -> NewClassVariable:
    """`metaclass(name, bases, namespace)`. Breaks if that would run other code of the program."""
    written, bases = bases, types.resolve_bases(bases)
    kinds = [metaclass, *(type(base) for base in bases)]
    hooks = [lookup_type(base, "__init_subclass__") for base in bases]
    if not all(kind in PLAIN_METACLASSES for kind in kinds) or any(map(_is_of_the_program, hooks)):
        raise GraphBreak("builtin", name="__build_class__", value=f"class {name}")
    stand_ins = {key: stand_in(tx, value) for key, value in namespace.items() if key != "__classcell__"}
    if bases is not written:
        stand_ins["__orig_bases__"] = written
    winner = max(kinds, key=lambda kind: len(kind.__mro__))
    try:
        cls = winner(name, bases, stand_ins)
    except (TypeError, ValueError) as error:
        raise GraphBreak("builtin", name="__build_class__", value=f"class {name}") from error
    return NewClassVariable(tx, cls)


def _is_of_the_program(hook: Any) -> bool:
    function = getattr(hook, "__func__", None)
    return isinstance(function, types.FunctionType) and function.__module__ != "typing"


# --- the ways to make a class -----------------------------------------------------------------------------


def _bases(values: list[Variable]) -> tuple[Any, ...]:
    """The real bases: classes, and aliases of classes (`Generic[T]`)."""
    if not all(isinstance(value, (ClassVariable, GenericAliasVariable)) for value in values):
        raise GraphBreak("builtin", name="__build_class__", value="bases that are no classes")
    return tuple(value.real_value() for value in values)


@rule(builtins.__build_class__)
def _build_class(
    tx: Interpreter, body: Variable, name: Variable, *bases: Variable, metaclass: Variable | None = None
) -> Variable:
    if not isinstance(body, NestedFunctionVariable):  # the program calls it by name with its own function
        raise GraphBreak("builtin", name="__build_class__", value=body)
    kind = metaclass.real_value() if isinstance(metaclass, ClassVariable) else type
    frame = tx.callee(body, [], {})
    cell = frame.run()
    result = make_class(tx, kind, name.as_constant(), _bases(list(bases)), frame.locals)
    if isinstance(cell, CellVariable):
        cell.contents = result
    return result


def make_by_type(tx: Interpreter, name: Variable, bases: Variable, namespace: Variable) -> Variable:
    """`type(name, bases, namespace)`."""
    values = {key.as_constant(): value for key, value in pairs_of(tx, namespace)}
    values.setdefault("__module__", ConstantVariable(tx.scope.globals.get("__name__")))
    return make_class(tx, type, name.as_constant(), _bases(bases.unpack(tx)), values)


@rule(collections.namedtuple)
def _namedtuple(tx: Interpreter, name: Variable, fields: Variable, **kwargs: Variable) -> Variable:
    try:
        names = _constant_or_list(tx, fields)
        options = {key: _constant_or_list(tx, value) for key, value in kwargs.items()}
        options.setdefault("module", tx.scope.globals.get("__name__"))
        make: Any = collections.namedtuple
        made = make(name.as_constant(), names, **options)
    except NotConstant:
        raise GraphBreak("builtin", name="namedtuple", value=fields) from None
    except (TypeError, ValueError) as error:
        raise raise_python(error) from None
    return NewClassVariable(tx, made)


def _constant_or_list(tx: Interpreter, value: Variable) -> Any:
    return value.as_constant() if value.is_constant() else [item.as_constant() for item in value.unpack(tx)]
