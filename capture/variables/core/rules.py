"""`CALLS`: the table of functions and classes whose calls have a rule.

In:  a function or class that the program calls.
Out: its rule `(tx, *args, **kwargs) -> Variable`, or None.

A family registers a rule with `@rule(len)`. A pure function on constants needs no rule: the interpreter calls
it (`callables/builtin.py`). A function that can be written in Python is a polyfill, which the interpreter
inlines (`callables/polyfills.py`).
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

from capture.variables.core import contents
from capture.variables.core.base import Variable
from codegen.kernel.families import Table

if TYPE_CHECKING:
    from collections.abc import Callable


CALLS: Table[Callable[..., Variable]] = Table(contents, "CALLS")
#: qualified name of a function -> its module, which the program may import later, and its rule
LATE: Table[tuple[str, Callable[..., Variable]]] = Table(contents, "LATE")

#: code of a wrapper, which all wrappers of one decorator share -> (tx, function, args, kwargs) -> Variable
BY_CODE: Table[Callable[..., Variable]] = Table(contents, "BY_CODE")


def rule(*functions: Any) -> Callable[[Callable[..., Variable]], Callable[..., Variable]]:
    def register(handler: Callable[..., Variable]) -> Callable[..., Variable]:
        for function in functions:
            CALLS[function] = handler
        return handler

    return register


def late_rule(module: str, name: str) -> Callable[[Callable[..., Variable]], Callable[..., Variable]]:
    """Register a rule for a function of a module that `import capture` does not import."""

    def register(handler: Callable[..., Variable]) -> Callable[..., Variable]:
        LATE[name] = module, handler
        return handler

    return register


def lookup(function: Any) -> Callable[..., Variable] | None:
    try:
        found = CALLS.get(function)
    except TypeError:
        return None  # an unhashable callable has no rule
    if found is None and type(function) is types.FunctionType:
        module, handler = LATE.get(function.__qualname__, (None, None))
        if module in sys.modules and _member(sys.modules[module], function.__qualname__) is function:
            return handler
    return found


def inner_code(function: Any, name: str) -> types.CodeType:
    """The code of the function `name` that `function` makes, at any depth."""
    pending = [function.__code__]
    while pending:
        for constant in pending.pop().co_consts:
            if isinstance(constant, types.CodeType):
                if constant.co_name == name:
                    return constant
                pending.append(constant)
    raise LookupError(f"{function.__qualname__} makes no function {name}; this version of torch is not known")


def _member(module: types.ModuleType, name: str) -> Any:
    place: Any = module
    for part in name.split("."):
        place = vars(place).get(part) if isinstance(place, (types.ModuleType, type)) else None
    return place.__func__ if isinstance(place, classmethod) else place
