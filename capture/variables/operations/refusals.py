"""Exceptions of built-in functions and operators, with the texts of CPython.

In:  a function written in C, its arguments, and the signal that our rule raised for them.
Out: the exception that the function itself raises for copies of the arguments. It is the old signal if the
     function raises nothing, or if the answer depends on objects of the program.

    [1].pop(5)         ->   IndexError: pop index out of range
    [x].append(x, x)   ->   TypeError: list.append() takes exactly one argument (2 given), for every x
"""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import re
import types
from typing import TYPE_CHECKING, Any

from capture.variables.callables.builtin import BuiltinVariable
from capture.variables.callables.native_method import UnboundMethodVariable
from capture.variables.callables.value_method import ValueMethod
from capture.variables.containers.lists import DequeVariable, ListVariable
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.ranges import RangeVariable, SliceVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.containers.sets import SetVariable
from capture.variables.core.base import LazyVariable, NotConstant, ObservedException, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_python
from capture.variables.objects.type_object import ClassVariable
from guards.sources import HEAP_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from capture.report.break_reasons import GraphBreak
    from capture.variables.core.protocols import Interpreter

#: classes whose constructors and methods touch nothing but their arguments;
#: an empty instance is enough to see whether a method refuses the number of its arguments
CLASSES: frozenset[type] = frozenset([
    list, tuple, dict, set, frozenset, str, bytes, bytearray, int, float, complex, bool, object,
    collections.deque, collections.OrderedDict, collections.defaultdict,
    *(
        value
        for value in vars(builtins).values()
        if isinstance(value, type) and issubclass(value, BaseException)
    ),
])  # fmt: skip
ITERATORS: frozenset[type] = frozenset(
    [range, slice, enumerate, zip, map, filter, reversed, functools.partial]
    + [value for value in vars(itertools).values() if isinstance(value, type)]
)
FUNCTIONS: frozenset[Any] = frozenset(
    getattr(builtins, name)
    for name in (
        "abs", "all", "any", "ascii", "bin", "callable", "chr", "divmod", "format", "hash", "hex",
        "isinstance", "issubclass", "iter", "len", "max", "min", "next", "oct", "ord", "pow", "repr", "round",
        "sorted", "sum",
    )
)  # fmt: skip
MODULES = frozenset(["math", "cmath", "_operator"])
MOST_ITEMS = 1000
WRONG_NUMBER = re.compile(
    r"takes (no|exactly|at least|at most|from) |expected (at (least|most) )?\d+ arguments?, got"
    r"|takes no keyword|takes no arguments"
    r"|unexpected keyword argument|is an invalid keyword argument|missing (a )?required|missing \d+ required"
)


def corrected(
    tx: Interpreter,
    signal: GraphBreak | ObservedException,
    function: Variable | Any,
    args: Sequence[Variable],
    kwargs: dict[str, Variable] | None = None,
) -> GraphBreak | ObservedException:
    """The exception that the function itself raises for these arguments, or `signal` if it is not known."""
    real = real_function(tx, function)
    if real is None:
        return signal
    memo: dict[Variable, Any] = {}
    try:
        values = [copy_of(tx, a, memo) for a in args]
        keywords = {name: copy_of(tx, v, memo) for name, v in (kwargs or {}).items()}
    except NotConstant:
        return signal
    error = error_of(real, values, keywords)
    return signal if error is None else raise_python(error)


def wrong_number(
    tx: Interpreter, function: Variable, args: Sequence[Variable], kwargs: dict[str, Variable]
) -> ObservedException | None:
    """The TypeError for a wrong number of arguments or a wrong keyword. None if the function takes them."""
    real = real_function(tx, function, empty=True)
    if real is None:
        return None
    error = error_of(real, [object() for _ in args], {name: object() for name in kwargs})
    if isinstance(error, TypeError) and WRONG_NUMBER.search(str(error)):
        return raise_python(error)
    return None


def error_of(function: Any, values: Sequence[Any], keywords: dict[str, Any]) -> Exception | None:
    try:
        function(*values, **keywords)
    except Exception as error:
        return error
    return None


def real_function(tx: Interpreter, function: Variable | Any, empty: bool = False) -> Any:
    """The function itself if a call touches nothing but its arguments, otherwise None.

    `empty`: the owner of a method is an empty instance, not a copy of the owner.
    """
    if isinstance(function, ValueMethod):
        try:
            kind = function.owner.python_type()
            owner = kind() if empty and kind in CLASSES else copy_of(tx, function.owner, {})
        except NotConstant:
            return None
        return getattr(owner, function.name, None) if type(owner) in CLASSES else None
    value = function
    if isinstance(function, BuiltinVariable):
        value = function.function
    elif isinstance(function, ClassVariable):
        value = function.cls
    elif isinstance(function, UnboundMethodVariable):
        value = function.descriptor
    elif isinstance(function, Variable):
        return None
    return value if _touches_its_arguments_only(value) else None


def _touches_its_arguments_only(value: Any) -> bool:
    if isinstance(value, type):
        return value in CLASSES or value in ITERATORS
    if isinstance(value, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return value.__objclass__ in CLASSES
    is_function = isinstance(value, types.BuiltinFunctionType)
    return is_function and (value in FUNCTIONS or value.__module__ in MODULES)


def copy_of(tx: Interpreter, variable: Variable, memo: dict[Variable, Any]) -> Any:
    """A real object with the same contents.

    Raises NotConstant if it holds anything else than literals in built-in containers.
    """
    variable = variable.realize() if isinstance(variable, LazyVariable) else variable
    if variable in memo:
        return memo[variable]
    copier = COPIERS.get(type(variable))
    if copier is None or len(variable.children()) > MOST_ITEMS or len(memo) > MOST_ITEMS:
        raise NotConstant(variable)
    return copier(tx, variable, memo)


def _copy_of_list(tx: Interpreter, variable: Any, memo: dict[Variable, Any]) -> Any:
    if getattr(variable, "original", None) is not None:
        raise NotConstant(variable)
    is_deque = isinstance(variable, DequeVariable)
    made: Any = collections.deque(maxlen=getattr(variable, "maxlen", None)) if is_deque else []
    memo[variable] = made
    made.extend(copy_of(tx, item, memo) for item in variable.children())
    return made


def _copy_of_dict(tx: Interpreter, variable: Any, memo: dict[Variable, Any]) -> Any:
    if variable.python_type() not in (dict, collections.OrderedDict):
        raise NotConstant(variable)
    made = memo[variable] = variable.python_type()()
    for key, value in variable.items(tx):
        made[copy_of(tx, key, memo)] = copy_of(tx, value, memo)
    return made


def _copy_of_items(tx: Interpreter, variable: Any, memo: dict[Variable, Any]) -> Any:
    return variable.python_type()([copy_of(tx, item, memo) for item in variable.children()])


def _native_class(tx: Interpreter, variable: Any, memo: dict[Variable, Any]) -> Any:
    if variable.cls.__flags__ & HEAP_TYPE:
        raise NotConstant(variable)
    return variable.real_value()


def _value(tx: Interpreter, variable: Any, memo: dict[Variable, Any]) -> Any:
    return variable.as_constant()


def _literal(tx: Interpreter, variable: Any, memo: dict[Variable, Any]) -> Any:
    if type(variable.as_constant()) not in PLAIN:
        raise NotConstant(variable)
    return variable.as_constant()


#: by the exact kind of variable
COPIERS: dict[type[Variable], Callable[[Interpreter, Any, dict[Variable, Any]], Any]] = {
    ListVariable: _copy_of_list,
    DequeVariable: _copy_of_list,
    DictVariable: _copy_of_dict,
    TupleVariable: _copy_of_items,
    SetVariable: _copy_of_items,
    ClassVariable: _native_class,
    RangeVariable: _value,
    SliceVariable: _value,
    ConstantVariable: _literal,
}
PLAIN = frozenset([int, float, complex, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented)])
