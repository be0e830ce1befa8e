"""The built-in part of an instance of a class written on top of a built-in one (`class Name(str)`, `class
Config(dict)`).

Such an instance is an `ObjectVariable` whose `base_value` is the variable that an instance of the built-in
class would be. What the class does not define itself is asked of that part.
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
    from capture.interpret.translator import Translator
    from capture.output.python_code import PythonCode
    from capture.variables.objects.user_object import ObjectVariable

#: their contents are given to `__new__`
IMMUTABLE_BASES: frozenset[type] = frozenset({int, float, complex, str, bytes, tuple, frozenset})
LITERAL_BASES: frozenset[type] = frozenset({int, float, complex, str, bytes})
#: their contents are given to `__init__`; class -> method that adds an item or a pair
FILLABLE: dict[type, str] = {
    dict: "__setitem__", collections.OrderedDict: "__setitem__", collections.defaultdict: "__setitem__",
    list: "append", collections.deque: "append", set: "add",
}  # fmt: skip


def native_base(cls: type) -> type:
    """The first class of the MRO that has contents of its own, else object."""
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
    tx: Translator, base: type, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable | None:
    """What `base.__new__` makes of its arguments."""
    if base is object:
        return None
    if base not in CALLS:
        raise GraphBreak("call", value=f"{base.__name__}.__new__")
    made: Variable = CALLS[base](tx, *args, **kwargs) if base in IMMUTABLE_BASES else CALLS[base](tx)
    if base in LITERAL_BASES and not made.is_constant():
        raise GraphBreak("call", value=f"{base.__name__}.__new__")
    return made


# --- operations that the class leaves to its base ---------------------------------------------------------


#: methods that functions written in C ask a number or a text for
ASKED_BY_FUNCTIONS = (
    "__index__", "__int__", "__float__", "__complex__", "__bool__", "__len__", "__eq__", "__hash__", "__lt__", "__str__", "__repr__",
    "__format__", "__iter__", "__getitem__", "__contains__", "__getattribute__", "__torch_function__", "__array__", "__abs__", "__round__",
    "__floor__", "__ceil__", "__trunc__", "__add__", "__mul__", "__rmul__",
)  # fmt: skip


def plain_operand(value: Variable, *methods: str) -> Variable:
    """The built-in part of an instance whose class does not change what these methods do; any other value as
    it is.
    """
    base = getattr(value, "base_value", None)
    if base is None or not isinstance(base, Variable):
        return value
    kind = base.python_type()
    if any((kind, name) in subclass_polyfills.METHODS for name in methods):
        return value
    if kind in LITERAL_BASES and value.class_entry("__torch_function__") is not MISSING:  # type: ignore[attr-defined]
        return value
    unchanged = all(value.class_entry(name) is lookup_type(kind, name) for name in methods)  # type: ignore[attr-defined]
    return base if unchanged else value


def defines_operators(cls: type) -> bool:
    """Whether a method with a special name, other than those that make instances, is written in Python."""
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
    """Leave a new instance with the contents of its built-in part on the stack, past overridden methods."""
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
