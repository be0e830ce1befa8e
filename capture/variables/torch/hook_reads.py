"""Tells whether a function reads variables of the program, which may change before it is called.

In:  a function, or the variable of one.
Out: True if it reads more than its arguments.

    def double(grad): return grad * 2           ->  False
    def scaled(grad): return grad * SCALE       ->  True
"""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from capture.bytecode.dialects import dialect
from capture.variables.callables.function import (
    BoundMethodVariable,
    NestedFunctionVariable,
    UserFunctionVariable,
)
from capture.variables.callables.partial import PartialVariable
from capture.variables.core.base import LazyVariable, NotConstant, Variable
from capture.variables.core.constant import LITERALS, TORCH_CONSTANTS
from capture.variables.core.wrap import guard_identity
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.torch.nn_module import ModuleVariable

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


def function_that_reads_late(tx: Interpreter, hook: Variable) -> Callable[..., Any] | None:
    """The hook as a Python object, if it reads variables or objects of the program; else None.

    A hook made by the frame is made again from constants and existing objects.
    """
    hook = hook.realize() if isinstance(hook, LazyVariable) else hook
    try:
        function = _as_function(tx, hook)
    except NotConstant:
        return None
    if function is None or not reads_the_program(function, fixed_cells=_is_made_here(hook)):
        return None
    if isinstance(hook, UserFunctionVariable):
        guard_identity(tx.output, hook.function, hook.source)
    return function


def _is_made_here(hook: Variable) -> bool:
    if isinstance(hook, PartialVariable):
        return _is_made_here(hook.function)
    return isinstance(hook, NestedFunctionVariable)


def _as_function(tx: Interpreter, hook: Variable) -> Callable[..., Any] | None:
    if isinstance(hook, UserFunctionVariable):
        return hook.function
    make = MAKERS.get(type(hook))
    if make is not None:
        return make(tx, hook)
    return _held(tx, hook) if isinstance(hook, ObjectVariable) else None


def _held(tx: Interpreter, value: Variable) -> Any:
    """A constant or an existing object. Raises NotConstant for a value that the frame computes or makes."""
    value = value.realize() if isinstance(value, LazyVariable) else value
    if not isinstance(value, ObjectVariable | ModuleVariable):
        return value.as_constant()
    found = value.real_value()
    guard_identity(tx.output, found, value.source)
    return found


def _partial(tx: Interpreter, hook: PartialVariable) -> Callable[..., Any] | None:
    function = _as_function(tx, hook.function)
    keywords = {name: _held(tx, value) for name, value in hook.kwargs.items()}
    args = [_held(tx, value) for value in hook.args]
    return None if function is None else functools.partial(function, *args, **keywords)


def _bound(tx: Interpreter, hook: BoundMethodVariable) -> Callable[..., Any] | None:
    function = _as_function(tx, hook.function)
    return None if function is None else types.MethodType(function, _held(tx, hook.owner))


def _nested(tx: Interpreter, hook: NestedFunctionVariable) -> Callable[..., Any]:
    defaults = tuple(_held(tx, value) for value in hook.defaults)
    keywords = {name: _held(tx, value) for name, value in hook.keyword_defaults.items()}
    closure = tuple(types.CellType(_held(tx, cell.contents)) for cell in hook.closure if cell.contents)
    made = types.FunctionType(hook.code, hook.scope.globals, hook.code.co_name, defaults, closure)
    made.__kwdefaults__ = keywords or None
    return made


MAKERS: dict[type[Variable], Callable[[Interpreter, Any], Callable[..., Any] | None]] = {
    PartialVariable: _partial,
    BoundMethodVariable: _bound,
    NestedFunctionVariable: _nested,
}

#: Packages whose modules, functions and classes do not change.
FIXED = ("torch", "math", "operator", "_operator", "builtins")


def reads_the_program(
    function: Callable[..., Any], fixed_cells: bool = False, seen: frozenset[int] = frozenset()
) -> bool:
    """Whether it reads variables of the program. `fixed_cells`: no more stores go to cells of its closure."""
    if isinstance(function, functools.partial):
        held = [*function.args, *function.keywords.values()]
        return not all(map(is_fixed, held)) or reads_the_program(function.func, fixed_cells, seen)
    if not isinstance(function, types.FunctionType):
        return True
    if function.__closure__ and not fixed_cells:
        return True
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    held = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(), *cells]
    if not all(map(is_fixed, held)):
        return True
    found = {**vars(builtins), **function.__globals__}
    return any(may_change(found.get(name), seen | {id(function)}) for name in names_read(function.__code__))


def is_fixed(value: Any) -> bool:
    return isinstance(value, (*LITERALS, *TORCH_CONSTANTS))


def names_read(code: types.CodeType) -> Iterator[str]:
    yield from dialect.names_loaded(code)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from names_read(inner)


def may_change(value: Any, seen: frozenset[int]) -> bool:
    """Whether a later call may see another value behind a global variable."""
    if id(value) in seen:
        return False
    if not isinstance(value, CODE):
        return True
    module = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    if isinstance(module, str) and module.partition(".")[0] in FIXED:
        return False
    return not callable(value) or reads_the_program(value, seen=seen)


#: Modules, classes and functions.
CODE = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
