"""Functions written in C.

In:  a function and the variables of its arguments.
Out: the result of the function's rule (`capture.variables.core.rules`), the folded value where a pure
     function gets constants, or the call of the polyfill that stands for the function.
"""

from __future__ import annotations

import math
import operator
import os
import sys
from typing import TYPE_CHECKING, Any

from capture.policy import function_kinds
from capture.policy.torch_compile_marks import substitute_of
from capture.report.break_reasons import GraphBreak
from capture.variables.callables.polyfills import POLYFILLS
from capture.variables.containers.sequence import SequenceVariable, checked_index
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable, fold, is_foldable
from capture.variables.core.rules import lookup
from capture.variables.numbers import late_values, max_min
from capture.variables.numbers.arithmetic import EXTREMES, compute, extreme
from capture.variables.numbers.symbolic import is_symbolic
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.operations.operators import BINARY
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from types import CodeType

    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


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

    def truth(self, tx: Interpreter) -> bool:
        return True

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        value = getattr(self.function, name, None)
        if isinstance(value, (str, type(None))) and hasattr(self.function, name):
            return ConstantVariable(value)
        raise GraphBreak("get_attr", value=self, name=name)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if tx.output.modes.function_modes and function_kinds.kind_of(self.function) == "graph":
            overridden = tx.call_override(self.function, args, kwargs)
            if overridden is not None:
                return overridden
        handler = lookup(self.function)
        if handler is not None:
            return handler(tx, *args, **kwargs)
        return call_pure(tx, self.function, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.function)


PURE_MODULES = ("math", "_operator", "cmath", "_struct", "_string", "binascii", "zlib")
PURE = frozenset(
    [abs, ascii, bin, chr, divmod, format, hash, hex, oct, ord, pow, repr, round, operator.index, math.prod]
    + [os.fspath, sys.intern, str.maketrans, int.from_bytes, bytes.fromhex, float.fromhex, sum, max, min]
)


CHANGE_ARGUMENTS = frozenset(
    ["setitem", "delitem", "iconcat", "pack_into"] + [changing.__name__ for _, changing, _ in BINARY.values()]
)


def call_pure(tx: Interpreter, function: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """Calls a function without side effects on constants; breaks for any other arguments."""
    args = [arg.plain_argument() for arg in args]
    computed = compute(function, args) if not kwargs else None
    if computed is not None:
        return computed
    if function in EXTREMES and not kwargs:
        known = (SequenceVariable, TensorVariable)  # reading an iterator would use it up
        one = len(args) == 1 and isinstance(args[0], known)
        items = args[0].unpack(tx) if one else args if len(args) > 1 else []
        largest = extreme(function, items) or max_min.extreme(tx, function, items)
        if largest is not None:
            return largest
    if function is operator.index and len(args) == 1:
        held = getattr(args[0], "base_value", None)
        if held is not None and held.python_type() is int:
            return held  # an int already, so its class has no say
        if isinstance(args[0], TensorVariable):
            return args[0].call_method(tx, "__index__", [], {})
    asked = OWN_CONVERSIONS.get(function)
    owner = args[0] if asked is not None and len(args) == 1 else None
    if asked is not None and isinstance(owner, ObjectVariable) and owner.has_class_attribute(asked):
        result = owner.call_method(tx, asked, [], {})
        return checked_index(result) if function is operator.index else result
    if function in READ_INDICES:
        args = [index_of(tx, arg) if isinstance(arg, TensorVariable) else arg for arg in args]
    pure = function in PURE or getattr(function, "__module__", None) in PURE_MODULES
    if pure and function.__name__ in CHANGE_ARGUMENTS:  # it would only change a copy of a constant list
        raise GraphBreak("builtin", name=function.__name__, value=describe_all(args))
    if function in (sum, math.prod) and args and is_symbolic_sequence(args[0]):
        pure = False
    if function is sys.intern:  # other strings are written to the process's table, where an attempt stays
        pure = len(args) == 1 and is_interned(tx.code, args[0])
    if pure and all(map(is_foldable, [*args, *kwargs.values()])):
        return fold(function, args, kwargs)
    polyfill = POLYFILLS.get(function) or substitute_of(function)
    if polyfill is not None:
        return tx.wrap_function(polyfill).call(tx, args, kwargs)
    late_values.check_unneeded([*args, *kwargs.values()])
    raise GraphBreak(
        "builtin", name=getattr(function, "__qualname__", repr(function)), value=describe_all(args)
    )


#: Functions that call a conversion method of an object, and the method's name.
OWN_CONVERSIONS: dict[Any, str] = {
    math.floor: "__floor__", math.ceil: "__ceil__", math.trunc: "__trunc__", operator.index: "__index__",
}  # fmt: skip


#: Functions that ask an argument for its `__index__`.
READ_INDICES = (bin, chr, hex, oct)


def index_of(tx: Interpreter, tensor: TensorVariable) -> Variable:
    return tensor.call_method(tx, "__index__", [], {})


def is_symbolic_sequence(value: Variable) -> bool:
    return isinstance(value, SequenceVariable) and any(map(is_symbolic, value.items))


def is_interned(code: CodeType, value: Variable) -> bool:
    """Whether it is a text of the code that looks like a name: the compiler interns these."""
    text = value.as_constant() if isinstance(value, ConstantVariable) else None
    looks_so = type(text) is str and text.isascii() and text.replace("_", "a").isalnum()
    return looks_so and any(text is constant for constant in code.co_consts)


def describe_all(args: list[Variable]) -> str:
    return ", ".join(a.describe() for a in args) or "no arguments"
