"""Functions whose results the program declares to be constant (`capture.assume_constant_result`).

In:  such a function, or one with `functools.lru_cache` around it, and the arguments of a call.
Out: its result: it is called at translation time, and no guard looks at it again.

    is_torch_available()   ->   True

Where arguments and result are constants, another process that takes the entry from the store calls it once,
too, and compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.policy import marks, torch_compile_marks
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.granted import granted
from guards.sources import ConstantSource
from guards.values import is_constant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from capture.variables.core.protocols import Interpreter


def is_assumed_constant(function: Any) -> bool:
    return marks.has_constant_result(function) or torch_compile_marks.has_constant_result(function)


def constant_result(
    tx: Interpreter, function: Callable[..., Any], args: Iterable[Variable], kwargs: dict[str, Variable]
) -> Variable:
    def value(argument: Variable) -> Any:
        try:
            return argument.real_value()
        except NotConstant:
            raise GraphBreak("builtin", name=function.__qualname__, value=argument) from None

    values = tuple(map(value, args))
    result = function(*values, **{k: value(v) for k, v in kwargs.items()})
    if kwargs or not all(map(is_constant, (*values, result))):
        granted().only_here("a result that is assumed to be constant")
    else:
        granted().facts.append((function, values, result))
    return tx.wrap(result, ConstantSource(result))
