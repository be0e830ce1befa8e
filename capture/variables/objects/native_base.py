"""The built-in part of an instance whose class is based on a built-in one (`class Name(str)`).

In:  an `ObjectVariable`. Its `base_value` is the variable that an instance of the built-in class would have.
Out: operations that the class does not define itself, done by the built-in part.
"""

from __future__ import annotations

import collections
import types
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.containers import subclass_polyfills
from capture.variables.core.base import Variable
from capture.variables.core.class_lookup import MISSING, lookup_type
from capture.variables.core.constant import NONE, ConstantVariable
from capture.variables.core.makers import make
from capture.variables.core.rules import CALLS
from capture.variables.core.wrap import class_constant

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter
    from capture.variables.objects.user_object import ObjectVariable

#: Built-in classes whose `__new__` takes the contents.
IMMUTABLE_BASES: frozenset[type] = frozenset({int, float, complex, str, bytes, tuple, frozenset})
LITERAL_BASES: frozenset[type] = frozenset({int, float, complex, str, bytes})
#: Built-in classes that `__init__` or a method fills, with the method that adds an item or a pair.
FILLABLE: dict[type, str] = {
    dict: "__setitem__", collections.OrderedDict: "__setitem__", collections.defaultdict: "__setitem__",
    list: "append", collections.deque: "append", set: "add",
}  # fmt: skip


def native_base(cls: type) -> type:
    """The first class of the MRO that has its own contents, else object."""
    return next(
        base
        for base in type.__dict__["__mro__"].__get__(cls)
        if base in FILLABLE or base in IMMUTABLE_BASES or base is object
    )


def maker_of(cls: type) -> Any:
    """The `__new__` of the first class of the MRO that is written in C."""
    mro = type.__dict__["__mro__"].__get__(cls)
    return next(base for base in mro if not base.__flags__ & (1 << 9)).__new__


def new_base_value(
    tx: Interpreter, base: type, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable | None:
    """The built-in part that `base.__new__` makes of its arguments. None for `object`."""
    if base is object:
        return None
    if base not in CALLS:
        raise GraphBreak("call", value=f"{base.__name__}.__new__")
    made: Variable = CALLS[base](tx, *args, **kwargs) if base in IMMUTABLE_BASES else CALLS[base](tx)
    if base in LITERAL_BASES and not made.is_constant():
        raise GraphBreak("call", value=f"{base.__name__}.__new__")
    return made


# --- operations that the class leaves to its base ---------------------------------------------------------


#: Methods of a number or a text that functions written in C call.
ASKED_BY_FUNCTIONS = (
    "__index__", "__int__", "__float__", "__complex__", "__bool__", "__len__", "__eq__", "__hash__", "__lt__",
    "__str__", "__repr__", "__format__", "__iter__", "__getitem__", "__contains__", "__getattribute__",
    "__torch_function__", "__array__", "__abs__", "__round__",
    "__floor__", "__ceil__", "__trunc__", "__add__", "__mul__", "__rmul__",
)  # fmt: skip


def plain_operand(value: Variable, *methods: str) -> Variable:
    """The built-in part of an instance whose class does not change these methods; else the value itself."""
    base = getattr(value, "base_value", None)
    if base is None or not isinstance(base, Variable):
        return value
    kind = base.python_type()
    if any((kind, name) in subclass_polyfills.METHODS for name in methods):
        return value
    class_entry = value.class_entry  # type: ignore[attr-defined]
    if kind in LITERAL_BASES and class_entry("__torch_function__") is not MISSING:
        return value
    unchanged = all(class_entry(name) is lookup_type(kind, name) for name in methods)
    return base if unchanged else value


def defines_operators(cls: type) -> bool:
    """Whether Python code defines a special method of the class, other than one that makes instances."""
    makes = ("__new__", "__init__", "__init_subclass__", "__class_getitem__")
    written = (types.FunctionType, classmethod, staticmethod)
    return any(
        isinstance(value, written) and name.startswith("__") and name.endswith("__")
        for base in cls.__mro__
        for name, value in vars(base).items()
        if name not in makes
    )


# --- output -----------------------------------------------------------------------------------------------


def make_native(code: PythonCode, owner: ObjectVariable) -> None:
    """Leaves a new instance with the contents of its built-in part on the stack; skips overridden methods."""
    base, held = native_base(owner.cls), owner.base_value
    immutable = base in IMMUTABLE_BASES
    contents = [held] if immutable and held is not None else []
    code.call_object(maker_of(owner.cls), [class_constant(code.output, owner.cls), *contents])
    code.store_as(owner)
    if held is not None and not immutable:
        _fill(code, owner, base, held)


def _fill(code: PythonCode, owner: ObjectVariable, base: type, held: Any) -> None:
    rows: list[tuple[Variable, ...]] = [(item,) for item in held.children()]
    if issubclass(base, dict):
        rows = list(held.entries.values())
    if base is collections.defaultdict:
        code.call_object(base.__init__, [owner, held.factory or NONE])
        code.pop()
    if base is collections.deque:
        code.call_object(base.__init__, [owner, make(tuple, []), ConstantVariable(held.maxlen)])
        code.pop()
    for row in rows:
        code.call_object(getattr(base, FILLABLE[base]), [owner, *row])
        code.pop()
