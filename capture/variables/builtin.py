"""Built-in functions and classes, and other callables with a rule: one table, `CALLS`.

A handler is `handler(tx, *args, **kwargs) -> Variable`, registered with `@rule(len)`. What is pure and gets constants is simply called
(`PURE`); what can be written in Python is a polyfill that is inlined (`capture.polyfills`).
"""

from __future__ import annotations

import builtins
import collections
import copy
import functools
import inspect
import itertools
import math
import operator
import sys
import types
import typing
from typing import TYPE_CHECKING, Any

import torch

from capture.break_reasons import GraphBreak
from capture.variables.base import NotConstant, ObservedException, Variable
from capture.variables.constant import ConstantVariable, fold
from capture.variables.exception import ExceptionVariable, raise_new
from capture.variables.function import BoundMethodVariable, PartialVariable
from capture.variables.iterator import (
    ComposedIterator,
    CountIterator,
    EnumerateIterator,
    IteratorVariable,
    RangeIterator,
)
from capture.variables.library import MAKERS, LibraryCallable
from capture.variables.mapping import DictVariable, SetVariable, pairs_of
from capture.variables.operators import (
    BINARY,
    UNARY,
    binary_operator,
    compare,
    contains,
    del_item,
    get_item,
    in_place_operator,
    set_item,
    unary_operator,
)
from capture.variables.sequence import (
    DequeVariable,
    ListVariable,
    NamedTupleVariable,
    RangeVariable,
    SequenceVariable,
    SizeVariable,
    SliceVariable,
    TupleVariable,
)
from capture.variables.symbolic import EXTREMES, compute, extreme, is_symbolic
from capture.variables.tensor import TensorVariable
from capture.variables.user_object import MISSING, OBJECT_METHODS, ObjectVariable, lookup_type
from guards.source import ConstantSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from guards.source import Source

CALLS: dict[Any, Callable[..., Variable]] = {}
NONE = ConstantVariable(None)


def rule(*functions: Any) -> Callable[[Callable[..., Variable]], Callable[..., Variable]]:
    def register(handler: Callable[..., Variable]) -> Callable[..., Variable]:
        for function in functions:
            CALLS[function] = handler
        return handler

    return register


class BuiltinVariable(Variable):
    """A function written in C."""

    def __init__(self, function: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.function = function

    def python_type(self) -> type:
        return type(self.function)

    def describe(self) -> str:
        return f"builtin {getattr(self.function, '__qualname__', self.function)}"

    def real_value(self) -> Any:
        return self.function

    def as_proxy(self) -> Any:
        return self.function

    def truth(self, tx: Translator) -> bool:
        return True

    def get_attr(self, tx: Translator, name: str) -> Variable:
        value = getattr(self.function, name, None)
        if isinstance(value, (str, type(None))) and hasattr(self.function, name):
            return ConstantVariable(value)
        raise GraphBreak("get_attr", value=self, name=name)

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        handler = lookup(self.function)
        if handler is not None:
            return handler(tx, *args, **kwargs)
        return call_pure(tx, self.function, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.function)


def lookup(function: Any) -> Callable[..., Variable] | None:
    try:
        return CALLS.get(function)
    except TypeError:
        return None  # an unhashable callable has no rule


PURE_MODULES = ("math", "_operator", "cmath", "_struct", "_string", "time_none")
PURE = frozenset(
    [abs, ascii, bin, chr, divmod, format, hash, hex, oct, ord, pow, repr, round, operator.index, math.prod]
    + [str.maketrans, int.from_bytes, bytes.fromhex, float.fromhex, sum, max, min]
)


def call_pure(tx: Translator, function: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """Call a function without side effects on constants; break for anything else."""
    from capture.polyfills import POLYFILLS

    computed = compute(function, args) if not kwargs else None
    if computed is not None:
        return computed
    if function in EXTREMES and not kwargs:
        items = args if len(args) > 1 else args[0].unpack(tx) if args else []
        largest = extreme(function, items)
        if largest is not None:
            return largest
    pure = function in PURE or getattr(function, "__module__", None) in PURE_MODULES
    if function in (sum, math.prod) and args and is_symbolic_sequence(args[0]):
        pure = False
    if pure and all(a.is_constant() for a in [*args, *kwargs.values()]):
        return fold(function, args, kwargs)
    polyfill = POLYFILLS.get(function)
    if polyfill is not None:
        return tx.wrap_function(polyfill).call(tx, args, kwargs)
    raise GraphBreak(
        "builtin", name=getattr(function, "__qualname__", repr(function)), value=describe_all(args)
    )


def is_symbolic_sequence(value: Variable) -> bool:
    return isinstance(value, SequenceVariable) and any(map(is_symbolic, value.items))


def describe_all(args: list[Variable]) -> str:
    return ", ".join(a.describe() for a in args) or "no arguments"


# --- operators as functions ----------------------------------------------------------------------------------------------------


def _binary(symbol: str) -> Callable[..., Variable]:
    return lambda tx, left, right: binary_operator(tx, symbol, left, right)


def _in_place(symbol: str) -> Callable[..., Variable]:
    return lambda tx, left, right: in_place_operator(tx, symbol, left, right)


def _comparison(symbol: str) -> Callable[..., Variable]:
    return lambda tx, left, right: compare(tx, symbol, left, right)


def _unary(symbol: str) -> Callable[..., Variable]:
    return lambda tx, value: unary_operator(tx, symbol, value)


for _symbol, (_function, _changing, _) in BINARY.items():
    CALLS[_function] = _binary(_symbol)
    CALLS[_changing] = _in_place(_symbol)
for _symbol, (_function, _) in UNARY.items():
    CALLS[_function] = _unary(_symbol)
for _symbol, _function in {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}.items():  # fmt: skip
    CALLS[_function] = _comparison(_symbol)


@rule(operator.getitem)
def _operator_getitem(tx: Translator, container: Variable, key: Variable) -> Variable:
    return get_item(tx, container, key)


@rule(operator.setitem)
def _operator_setitem(tx: Translator, container: Variable, key: Variable, value: Variable) -> Variable:
    set_item(tx, container, key, value)
    return NONE


@rule(operator.delitem)
def _operator_delitem(tx: Translator, container: Variable, key: Variable) -> Variable:
    del_item(tx, container, key)
    return NONE


@rule(operator.contains)
def _operator_contains(tx: Translator, container: Variable, item: Variable) -> Variable:
    return contains(tx, container, item)


@rule(operator.is_)
def _operator_is(tx: Translator, left: Variable, right: Variable) -> Variable:
    from capture.variables.compare import same_object

    return ConstantVariable(same_object(tx, left, right))


@rule(operator.is_not)
def _operator_is_not(tx: Translator, left: Variable, right: Variable) -> Variable:
    from capture.variables.compare import same_object

    return ConstantVariable(not same_object(tx, left, right))


@rule(operator.not_)
def _operator_not(tx: Translator, value: Variable) -> Variable:
    return ConstantVariable(not value.truth(tx))


@rule(operator.truth, bool)
def _bool(tx: Translator, value: Variable = ConstantVariable(False)) -> Variable:
    return ConstantVariable(value.truth(tx))


# --- questions about objects -----------------------------------------------------------------------------------------------------


@rule(len)
def _len(tx: Translator, value: Variable) -> Variable:
    length = getattr(value, "length", None)
    if length is not None:
        return tx.wrap_constant(length(tx))
    return fold(len, [value], {})


def _classes(tx: Translator, value: Variable) -> Any:
    """The second argument of isinstance as real classes."""
    if isinstance(value, TupleVariable):
        return tuple(_classes(tx, item) for item in value.unpack(tx))
    try:
        return value.real_value()
    except NotConstant:
        raise GraphBreak("builtin", name="isinstance", value=value) from None


def _is_plain_check(classes: Any) -> bool:
    """No user code decides: plain classes, ABCs and torch's own metaclasses over plain types."""
    if isinstance(classes, tuple):
        return all(map(_is_plain_check, classes))
    if isinstance(classes, types.UnionType):
        return all(map(_is_plain_check, typing.get_args(classes)))
    check = getattr(type(classes), "__instancecheck__", None)
    return not isinstance(check, types.FunctionType) or check.__module__.startswith(
        ("abc", "torch", "typing", "enum")
    )


@rule(isinstance)
def _isinstance(tx: Translator, value: Variable, classes: Variable) -> Variable:
    kinds = _classes(tx, classes)
    if not _is_plain_check(kinds):
        return _user_check(tx, "__instancecheck__", value, classes)
    try:
        if isinstance(value, TensorVariable):
            probe: Any = value.value if value.value is not None else value.fake
            return ConstantVariable(_isinstance_tensor(probe, value.python_type(), kinds))
        real = value.real_value()
    except NotConstant:
        return _issubclass_of_type(value, kinds)
    return fold(isinstance, [_Held(real), _Held(kinds)], {})


def _user_check(tx: Translator, name: str, value: Variable, classes: Variable) -> Variable:
    """`__instancecheck__` or `__subclasscheck__` of a metaclass, inlined."""
    from capture.variables.type_object import ClassVariable

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
    return isinstance(
        torch.empty(0, dtype=probe.dtype), kinds
    )  # torch.FloatTensor and the like look at the dtype


def _issubclass_of_type(value: Variable, kinds: Any) -> Variable:
    cls = value.python_type()
    try:
        return ConstantVariable(issubclass(cls, kinds))
    except TypeError as error:
        raise raise_new(TypeError, *error.args) from None


@rule(issubclass)
def _issubclass(tx: Translator, cls: Variable, classes: Variable) -> Variable:
    kinds = _classes(tx, classes)
    if not _is_plain_check(kinds):
        return _user_check(tx, "__subclasscheck__", cls, classes)
    return fold(issubclass, [_Held(_classes(tx, cls)), _Held(kinds)], {})


@rule(getattr)
def _getattr(tx: Translator, value: Variable, name: Variable, default: Variable | None = None) -> Variable:
    try:
        return value.get_attr(tx, name.as_constant())
    except ObservedException as raised:
        if default is not None and issubclass(raised.variable.python_type(), AttributeError):
            return default
        raise


@rule(hasattr)
def _hasattr(tx: Translator, value: Variable, name: Variable) -> Variable:
    try:
        value.get_attr(tx, name.as_constant())
    except ObservedException as raised:
        if issubclass(raised.variable.python_type(), AttributeError):
            return ConstantVariable(False)
        raise
    return ConstantVariable(True)


@rule(setattr)
def _setattr(tx: Translator, value: Variable, name: Variable, new: Variable) -> Variable:
    value.set_attr(tx, name.as_constant(), new)
    return NONE


@rule(delattr)
def _delattr(tx: Translator, value: Variable, name: Variable) -> Variable:
    value.del_attr(tx, name.as_constant())
    return NONE


@rule(callable)
def _callable(tx: Translator, value: Variable) -> Variable:
    return ConstantVariable(lookup_type(value.python_type(), "__call__") is not MISSING)


@rule(type)
def _type(tx: Translator, value: Variable, *rest: Variable, **kwargs: Variable) -> Variable:
    from capture.wrap import wrap_class

    if rest or kwargs:
        raise GraphBreak("builtin", name="type", value=value)
    return wrap_class(tx.output, value.python_type())


@rule(id)
def _id(tx: Translator, value: Variable) -> Variable:
    try:
        real = value.real_value()
    except NotConstant:
        raise GraphBreak("builtin", name="id", value=value) from None
    if value.source is None:
        raise GraphBreak("builtin", name="id", value=value)
    tx.output.guard_identity(value, real)
    return ConstantVariable(id(real))


@rule(hash)
def _hash(tx: Translator, value: Variable) -> Variable:
    if isinstance(value, ObjectVariable) and value.has_class_attribute("__hash__", below=object):
        return value.call_method(tx, "__hash__", [], {})
    return fold(hash, [value], {})


# --- containers ----------------------------------------------------------------------------------------------------------------


@rule(list)
def _list(tx: Translator, items: Variable | None = None) -> Variable:
    return ListVariable(items.iterate(tx).unpack(tx) if items is not None else [])


@rule(tuple)
def _tuple(tx: Translator, items: Variable | None = None) -> Variable:
    if type(items) is TupleVariable:
        return items
    return TupleVariable(items.iterate(tx).unpack(tx) if items is not None else [])


@rule(tuple.__new__)
def _new_tuple(tx: Translator, cls: Variable, items: Variable | None = None) -> Variable:
    kind = cls.real_value()
    values = items.iterate(tx).unpack(tx) if items is not None else []
    if kind is tuple:
        return TupleVariable(values)
    if not hasattr(kind, "_fields"):
        raise GraphBreak("call", value=cls)
    return NamedTupleVariable(values, kind)


@rule(set)
def _set(tx: Translator, items: Variable | None = None) -> Variable:
    return SetVariable.from_items(tx, items.iterate(tx).unpack(tx) if items is not None else [])


@rule(frozenset)
def _frozenset(tx: Translator, items: Variable | None = None) -> Variable:
    return SetVariable.from_items(tx, items.iterate(tx).unpack(tx) if items is not None else [], frozenset)


def _dict_of(cls: type) -> Callable[..., Variable]:
    def make(tx: Translator, items: Variable | None = None, **kwargs: Variable) -> Variable:
        result = DictVariable({}, cls=cls)
        for key, value in pairs_of(tx, items) if items is not None else []:
            result.set_item(tx, key, value)
        for name, value in kwargs.items():
            result.set_item(tx, ConstantVariable(name), value)
        return result

    return make


CALLS[dict] = _dict_of(dict)
CALLS[collections.OrderedDict] = _dict_of(collections.OrderedDict)


@rule(collections.defaultdict)
def _defaultdict(
    tx: Translator, factory: Variable = NONE, items: Variable | None = None, **kwargs: Variable
) -> Variable:
    result = CALLS[dict](tx, *([items] if items is not None else []), **kwargs)
    assert isinstance(result, DictVariable)
    result.cls, result.factory = collections.defaultdict, factory
    return result


@rule(collections.deque)
def _deque(tx: Translator, items: Variable | None = None, maxlen: Variable = NONE) -> Variable:
    values = items.iterate(tx).unpack(tx) if items is not None else []
    return DequeVariable(values, maxlen=maxlen.as_constant())


@rule(range)
def _range(tx: Translator, *args: Variable) -> Variable:
    result = fold(range, list(args), {})
    return result if isinstance(result, RangeVariable) else RangeVariable(result.as_constant())


@rule(slice)
def _slice(tx: Translator, *args: Variable) -> Variable:
    parts = list(args) if len(args) > 1 else [NONE, *args]
    return SliceVariable([*parts, *[NONE] * (3 - len(parts))])


@rule(torch.Size)
def _size(tx: Translator, items: Variable | None = None) -> Variable:
    return SizeVariable(items.iterate(tx).unpack(tx) if items is not None else [])


# --- iterators -----------------------------------------------------------------------------------------------------------------


@rule(iter)
def _iter(tx: Translator, value: Variable, sentinel: Variable | None = None) -> Variable:
    if sentinel is not None:
        raise GraphBreak("builtin", name="iter", value=value)
    if isinstance(value, RangeVariable):
        return RangeIterator(value.value)
    return value.iterate(tx)


def next_item(tx: Translator, iterator: Variable) -> Variable | None:
    """The next item of any iterator variable; None at its end."""
    if isinstance(iterator, IteratorVariable):
        return iterator.next_item(tx)
    try:
        return iterator.call_method(tx, "__next__", [], {})
    except ObservedException as raised:
        if issubclass(raised.variable.python_type(), StopIteration):
            return None
        raise


@rule(next)
def _next(tx: Translator, iterator: Variable, default: Variable | None = None) -> Variable:
    if isinstance(iterator, IteratorVariable):
        item = iterator.next_item(tx)
    elif default is None:
        return iterator.call_method(tx, "__next__", [], {})
    else:
        item = next_item(tx, iterator)
    if item is None:
        if default is None:
            assert isinstance(iterator, IteratorVariable)
            raise iterator.stop()
        return default
    return item


@rule(enumerate)
def _enumerate(tx: Translator, items: Variable, start: Variable = ConstantVariable(0)) -> Variable:
    return EnumerateIterator(_iter(tx, items), start.as_constant())


@rule(zip)
def _zip(tx: Translator, *iterables: Variable, strict: Variable = ConstantVariable(False)) -> Variable:
    iterators = [_iter(tx, i) for i in iterables]
    exact = strict.truth(tx)

    def step(tx: Translator) -> Variable | None:
        items: list[Variable] = []
        for index, iterator in enumerate(iterators):
            item = next_item(tx, iterator)
            if item is None:
                if exact:
                    _check_strict(tx, iterators, index)
                return None
            items.append(item)
        return TupleVariable(items) if iterators else None

    return ComposedIterator(zip, iterators, step)


def _check_strict(tx: Translator, iterators: list[Variable], index: int) -> None:
    """Iterator `index` ended: with strict=True all have to end in the same round."""
    if index:
        who = "argument 1" if index == 1 else f"arguments 1-{index}"
        raise raise_new(ValueError, f"zip() argument {index + 1} is shorter than {who}")
    for later, iterator in enumerate(iterators[1:], 2):
        if next_item(tx, iterator) is not None:
            who = "argument 1" if later == 2 else f"arguments 1-{later - 1}"
            raise raise_new(ValueError, f"zip() argument {later} is longer than {who}")


@rule(map)
def _map(tx: Translator, function: Variable, *iterables: Variable) -> Variable:
    iterators = [_iter(tx, i) for i in iterables]

    def step(tx: Translator) -> Variable | None:
        items = []
        for iterator in iterators:
            item = next_item(tx, iterator)
            if item is None:
                return None
            items.append(item)
        return function.call(tx, items, {})

    return ComposedIterator(map, [function, *iterators], step)


@rule(filter)
def _filter(tx: Translator, function: Variable, items: Variable) -> Variable:
    iterator = _iter(tx, items)
    plain = function.is_exactly(None)

    def step(tx: Translator) -> Variable | None:
        while (item := next_item(tx, iterator)) is not None:
            if (item if plain else function.call(tx, [item], {})).truth(tx):
                return item
        return None

    return ComposedIterator(filter, [function, iterator], step)


@rule(reversed)
def _reversed(tx: Translator, items: Variable) -> Variable:
    from capture.variables.iterator import SequenceIterator

    if isinstance(items, ObjectVariable) and items.has_class_attribute("__reversed__"):
        return items.call_method(tx, "__reversed__", [], {})
    return SequenceIterator(items.unpack(tx)[::-1])


@rule(itertools.count)
def _count(
    tx: Translator, start: Variable = ConstantVariable(0), step: Variable = ConstantVariable(1)
) -> Variable:
    return CountIterator(start.as_constant(), step.as_constant())


@rule(sorted)
def _sorted(
    tx: Translator, items: Variable, *, key: Variable | None = None, reverse: Variable | None = None
) -> Variable:
    from capture.variables.compare import sort_items

    return ListVariable(sort_items(tx, items.iterate(tx).unpack(tx), key, reverse))


# --- numbers and text ------------------------------------------------------------------------------------------------------------


def _number(cls: type, method: str) -> Callable[..., Variable]:
    def make(tx: Translator, *args: Variable, **kwargs: Variable) -> Variable:
        if args and isinstance(args[0], (TensorVariable, ObjectVariable)):
            return args[0].call_method(tx, method, list(args[1:]), kwargs)
        computed = compute(cls, list(args)) if len(args) == 1 else None
        if computed is not None:
            return computed
        return fold(cls, list(args), kwargs)

    return make


CALLS[int] = _number(int, "__int__")
CALLS[float] = _number(float, "__float__")
CALLS[complex] = _number(complex, "__complex__")


@rule(abs)
def _abs(tx: Translator, value: Variable) -> Variable:
    if isinstance(value, TensorVariable):
        return tx.output.call_function(tx, torch.abs, [value], {})
    if isinstance(value, ObjectVariable):
        return value.call_method(tx, "__abs__", [], {})
    return compute(abs, [value]) or fold(abs, [value], {})


@rule(pow)
def _pow(tx: Translator, base: Variable, exponent: Variable, modulus: Variable | None = None) -> Variable:
    if modulus is not None:
        return fold(pow, [base, exponent, modulus], {})
    return binary_operator(tx, "**", base, exponent)


@rule(round)
def _round(tx: Translator, value: Variable, digits: Variable | None = None) -> Variable:
    if isinstance(value, (TensorVariable, ObjectVariable)):
        raise GraphBreak("builtin", name="round", value=value)
    return fold(round, [value] if digits is None else [value, digits], {})


@rule(divmod)
def _divmod(tx: Translator, left: Variable, right: Variable) -> Variable:
    if isinstance(left, ConstantVariable) and isinstance(right, ConstantVariable):
        return fold(divmod, [left, right], {})
    return TupleVariable([binary_operator(tx, "//", left, right), binary_operator(tx, "%", left, right)])


@rule(str)
def _str(
    tx: Translator, value: Variable = ConstantVariable(""), *rest: Variable, **kwargs: Variable
) -> Variable:
    from capture.variables.strings import to_text

    if rest or kwargs:
        return fold(str, [value, *rest], kwargs)
    return ConstantVariable(to_text(tx, value))


@rule(repr)
def _repr(tx: Translator, value: Variable) -> Variable:
    from capture.variables.strings import to_repr

    return ConstantVariable(to_repr(tx, value))


@rule(format)
def _format(tx: Translator, value: Variable, spec: Variable | None = None) -> Variable:
    from capture.variables.strings import format_value

    return format_value(tx, value, 0, spec)


# --- others --------------------------------------------------------------------------------------------------------------------


@rule(functools.partial)
def _partial(tx: Translator, function: Variable, *args: Variable, **kwargs: Variable) -> Variable:
    if isinstance(function, PartialVariable):  # as functools does
        return PartialVariable(function.function, [*function.args, *args], {**function.kwargs, **kwargs})
    return PartialVariable(function, list(args), kwargs)


def _library_callable(cls: type) -> Callable[..., Variable]:
    return lambda tx, *args, **kwargs: LibraryCallable(cls, list(args), kwargs)


for _cls in MAKERS:
    CALLS[_cls] = _library_callable(_cls)


@rule(types.SimpleNamespace)
def _simple_namespace(tx: Translator, **kwargs: Variable) -> Variable:
    result = ObjectVariable(types.SimpleNamespace)
    result.attributes.update(kwargs)
    return result


@rule(types.MethodType)
def _method(tx: Translator, function: Variable, owner: Variable) -> Variable:
    return BoundMethodVariable(function, owner)


@rule(typing.cast)
def _cast(tx: Translator, kind: Variable, value: Variable) -> Variable:
    return value


@rule(types.MappingProxyType)
def _mapping_proxy(tx: Translator, mapping: Variable) -> Variable:
    return mapping


@rule(copy.copy)
def _copy(tx: Translator, value: Variable) -> Variable:
    if isinstance(value, (ListVariable, DequeVariable, DictVariable, SetVariable)):
        return value.call_method(tx, "copy", [], {})
    if value.is_constant():
        return value
    raise GraphBreak("builtin", name="copy.copy", value=value)


@rule(property, staticmethod, classmethod)
def _descriptor(tx: Translator, *args: Variable, **kwargs: Variable) -> Variable:
    raise GraphBreak("builtin", name="property", value=describe_all(list(args)))


@rule(inspect.signature)
def _signature(tx: Translator, function: Variable) -> Variable:
    """Of an existing function: its guard holds the code, and with it the signature."""
    try:
        result = inspect.signature(function.real_value())
    except NotConstant:
        raise GraphBreak("builtin", name="inspect.signature", value=function) from None
    return tx.wrap(result, ConstantSource(result))


@rule(sys.exc_info)
def _exc_info(tx: Translator) -> Variable:
    from capture.variables.exception import AmbientException, TracebackVariable, handled_exception
    from capture.wrap import wrap_class

    handled = handled_exception(tx)
    if handled is None:
        return TupleVariable([AmbientException(tx.output.root_step) for _ in range(3)])
    trace = TracebackVariable(tx.output.root_step)
    return TupleVariable([wrap_class(tx.output, handled.python_type()), handled, trace])


@rule(torch._C._log_api_usage_once)
def _no_effect(tx: Translator, *args: Variable) -> Variable:
    return NONE


@rule(print)
def _print(tx: Translator, *args: Variable, **kwargs: Variable) -> Variable:
    raise GraphBreak("builtin", name="print", value=describe_all(list(args)))


@rule(object)
def _object(tx: Translator) -> Variable:
    return ObjectVariable(object)


@rule(builtins.globals, builtins.locals, builtins.vars, builtins.dir, builtins.exec, builtins.eval)
def _namespace(tx: Translator, *args: Variable) -> Variable:
    raise GraphBreak(
        "builtin", name="globals, locals, vars, dir, exec or eval", value=describe_all(list(args))
    )


def call_descriptor_method(
    tx: Translator, descriptor: Any, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """A method written in C called with its owner as first argument: `object.__setattr__(x, ...)`, `list.append(x, 1)`."""
    if not args:
        raise raise_new(TypeError, f"unbound method {descriptor.__qualname__}() needs an argument")
    owner, rest = args[0], args[1:]
    special = OBJECT_METHODS.get(descriptor)
    if special is not None and isinstance(owner, ObjectVariable):
        return special(tx, owner, *rest, **kwargs)
    if isinstance(owner, ExceptionVariable) and descriptor.__name__ == "__init__":
        owner.args = list(rest)
        return NONE
    if isinstance(owner, ObjectVariable):
        if owner.base_value is not None:
            if descriptor.__name__ == "__init__":
                return _fill_from(tx, owner.base_value, rest, kwargs)
            if descriptor is dict.__getitem__ and owner.has_class_attribute("__missing__"):
                assert isinstance(owner.base_value, DictVariable)
                held = owner.base_value.find(tx, rest[0])
                return held if held is not None else owner.call_method(tx, "__missing__", rest, {})
            return owner.base_value.call_method(tx, descriptor.__name__, rest, kwargs)
        raise GraphBreak("method", name=descriptor.__qualname__, value=owner)
    return owner.call_method(tx, descriptor.__name__, rest, kwargs)


def _fill_from(tx: Translator, base: Variable, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """`dict.__init__`, `list.__init__`, `set.__init__` of a subclass instance."""
    if args or kwargs:
        method = "extend" if isinstance(base, ListVariable) else "update"
        base.call_method(tx, method, args, kwargs)
    return NONE
