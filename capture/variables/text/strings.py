"""String formatting of values that are no plain constants: shapes in tuples, exceptions, objects, ...

In:  a template or a conversion, and the variables to print.
Out: a constant if the text is known, or a text with symbolic sizes. Otherwise the graph breaks.
"""

from __future__ import annotations

import _string  # type: ignore[import-not-found]
import collections
import operator
import string
from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.builtin import BuiltinVariable
from capture.variables.callables.function import BoundMethodVariable, UserFunctionVariable
from capture.variables.callables.generic_alias import GenericAliasVariable
from capture.variables.callables.native_method import UnboundMethodVariable
from capture.variables.containers.lists import DequeVariable, ListVariable
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.sequence import SequenceVariable, TupleVariable
from capture.variables.containers.sets import SetVariable
from capture.variables.containers.views import DictViewVariable
from capture.variables.core.base import NotConstant, Variable, realize
from capture.variables.core.class_lookup import lookup_type
from capture.variables.core.constant import ConstantVariable, fold, raise_type_error, refusal, string_method
from capture.variables.core.exception import ExceptionVariable, raise_python
from capture.variables.numbers import late_values
from capture.variables.objects.native_base import plain_operand
from capture.variables.objects.type_object import ClassVariable
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.tensors.tensor import TensorVariable
from capture.variables.text.size_text import is_open, joined, text_of
from guards.sources import ConstantSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.protocols import Interpreter


def to_text(tx: Interpreter, value: Variable) -> str:
    """`str(value)`."""
    if isinstance(value, ExceptionVariable):
        return value.text(tx)
    value = _plain_text(value)
    written = value.dunder(tx, "__str__", []) if isinstance(value, ClassVariable) else None
    if written is not None:
        return _written_text(written, "__str__")
    if isinstance(value, ObjectVariable):
        for name in ("__str__", "__repr__"):
            if value.has_class_attribute(name, below=object):
                return _written_text(value.call_method(tx, name, [], {}), name)
    try:
        return str(_printable(tx, value))
    except NotConstant:
        raise GraphBreak("builtin", name="str", value=value) from None


def to_repr(tx: Interpreter, value: Variable) -> str:
    """`repr(value)`."""
    if isinstance(value, ExceptionVariable):
        return value.representation(tx)
    value = _plain_text(value)
    if isinstance(value, ObjectVariable):
        if not value.has_class_attribute("__repr__", below=object):  # the text has the object's address
            raise GraphBreak("builtin", name="repr", value=value)
        return _written_text(value.call_method(tx, "__repr__", [], {}), "__repr__")
    try:
        return repr(_printable(tx, value))
    except NotConstant:
        raise GraphBreak("builtin", name="repr", value=value) from None


def _written_text(result: Variable, name: str) -> str:
    """The text that a `__str__` or `__repr__` of the program returned."""
    if not issubclass(result.python_type(), str):
        raise_type_error(f"{name} returned non-string (type {result.python_type().__name__})")
    if result.python_type() is not str:  # `str()` returns an instance of a subclass as it is
        raise GraphBreak("builtin", name="str", value=result)
    text = result.as_constant()
    assert isinstance(text, str)
    return text


def _plain_text(value: Variable) -> Variable:
    """The built-in value of an instance of its subclass, unless the subclass defines its own text.

    Other values are returned as they are.
    """
    base = plain_operand(value, "__repr__", "__str__")
    return base if base.python_type() in (int, float, complex, str, bytes, list, tuple, dict) else value


class _Text:
    """An object with a given repr."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _printable(tx: Interpreter, value: Variable) -> object:
    """A real object with the same text. A container inside of itself becomes the text `[...]` or similar."""
    held = tx.output.objects.resolve(value)
    if not isinstance(held, (SequenceVariable, DictVariable)):
        return _real_printable(tx, held)
    printed = tx.output.printed
    if held in printed:
        if held.python_type() not in INSIDE_ITSELF:
            raise GraphBreak("builtin", name="repr", value=held)
        return _Text(INSIDE_ITSELF[held.python_type()])
    printed.append(held)
    try:
        return _real_printable(tx, held)
    finally:
        printed.pop()


#: the text of a container inside of itself
INSIDE_ITSELF: dict[type, str] = {list: "[...]", dict: "{...}", tuple: "(...)", collections.deque: "[...]"}


def _real_printable(tx: Interpreter, value: Variable) -> object:
    value = value.plain_argument()
    written = next((text for kind, text in TEXTS if isinstance(value, kind)), None)
    if written is not None:
        return written(tx, value)
    if isinstance(value, (ObjectVariable, ExceptionVariable)):
        return _Text(to_repr(tx, value))
    if isinstance(value, ListVariable):
        return [_printable(tx, item) for item in value.unpack(tx)]
    if isinstance(value, TupleVariable):
        return value.build([_printable(tx, item) for item in value.unpack(tx)])
    if isinstance(value, DictVariable):
        pairs: Any = {_printable(tx, k): _printable(tx, v) for k, v in value.items(tx)}
        if value.cls is collections.defaultdict:
            factory: Any = _printable(tx, value.factory or ConstantVariable(None))
            return collections.defaultdict(factory, pairs)
        return value.cls(pairs)
    if isinstance(value, DequeVariable):
        value.guard_limit(tx)
        return collections.deque([_printable(tx, item) for item in value.unpack(tx)], value.maxlen)
    if isinstance(value, SetVariable):
        return _text_of_set(tx, value)
    return value.as_constant()


def _text_of_class(tx: Interpreter, value: Any) -> object:
    """A metaclass may write the text. If not, it has the names of the class, which the program may change."""
    written = value.dunder(tx, "__repr__", [])
    if written is not None:
        return _Text(_written_text(written, "__repr__"))
    value.get_attr(tx, "__module__")
    value.get_attr(tx, "__qualname__")
    return value.cls


def _text_of_function(tx: Interpreter, value: Any) -> object:
    """The guard on the identity fixes the address in the text."""
    tx.output.guarding.identity(value, value.function)
    value.get_attr(tx, "__qualname__")
    return value.function


def _text_of_method(tx: Interpreter, value: Any) -> object:
    name = value.function.get_attr(tx, "__qualname__").as_constant()
    return _Text(f"<bound method {name} of {to_repr(tx, value.owner)}>")


def _text_of_alias(tx: Interpreter, value: Any) -> object:
    for part in (value.alias.__origin__, *value.alias.__args__):
        held = tx.wrap(part, ConstantSource(part))
        if isinstance(held, (ClassVariable, GenericAliasVariable)):
            _printable(tx, held)
        elif not held.is_constant():
            raise GraphBreak("builtin", name="repr", value=value)
    return value.alias


def _text_of_view(tx: Interpreter, value: Any) -> object:
    items = ", ".join(repr(_printable(tx, item)) for item in value.unpack(tx))
    return _Text(f"{value.python_type().__name__}([{items}])")


def _text_with_fixed_address(tx: Interpreter, value: Any) -> object:
    """A guard fixes the identity, and so the address in the text."""
    return value.real_value()


#: class of variables -> its text
TEXTS: tuple[tuple[Any, Callable[[Interpreter, Any], object]], ...] = (
    (ClassVariable, _text_of_class),
    (UserFunctionVariable, _text_of_function),
    (BoundMethodVariable, _text_of_method),
    (GenericAliasVariable, _text_of_alias),
    (DictViewVariable, _text_of_view),
    ((BuiltinVariable, UnboundMethodVariable), _text_with_fixed_address),
)


def _text_of_set(tx: Interpreter, value: Any) -> object:
    """The text of a set, in the order of the set itself. A copy may have another order."""
    if not value.entries:
        return value.cls()
    items = ", ".join(repr(_printable(tx, item)) for item in value.unpack(tx))
    return _Text(f"{{{items}}}" if value.cls is set else f"{value.cls.__name__}({{{items}}})")


def text_shown(
    tx: Interpreter, value: Variable, text: Callable[[Interpreter, Variable], str] = to_text
) -> Variable:
    """`str(value)` or `repr(value)`, which are the same for a tensor."""
    late = late_values.read_text(tx, value) if isinstance(value, TensorVariable) else None
    return late or ConstantVariable(text(tx, value))


def _formatted_number(tx: Interpreter, value: Variable) -> Variable | None:
    """The number that a 0-d tensor hands its format specification to."""
    if not isinstance(value, TensorVariable) or value.python_type() is not torch.Tensor or value.fake.ndim:
        return None
    return late_values.read_number(tx, "item", value)


def format_value(tx: Interpreter, value: Variable, conversion: int, spec: Variable | None) -> Variable:
    """`format(value, spec)` after a conversion (0: none, 1: str, 2: repr, 3: ascii)."""
    value = (_formatted_number(tx, value) if conversion == 0 else None) or value
    if is_open(tx, value) and (spec is None or spec.is_constant()):
        shown = text_of(tx, CONVERTED[conversion], [value]) if conversion else value
        return text_of(tx, format, [shown, spec or ConstantVariable("")])
    if conversion == 1:
        value = text_shown(tx, value)
    elif conversion == 2:
        value = text_shown(tx, value, to_repr)
    elif conversion == 3:
        value = ConstantVariable(ascii(_printable(tx, value)))
    elif isinstance(value, ObjectVariable) and value.has_class_attribute("__format__", below=object):
        if is_empty(spec) and value.class_entry("__format__") in SAY_WHAT_STR_SAYS:
            return ConstantVariable(to_text(tx, value))
        return value.call_method(tx, "__format__", [spec or ConstantVariable("")], {})
    elif (
        isinstance(value, ClassVariable)
        and lookup_type(type(value.cls), "__format__") is not object.__format__
    ):
        raise GraphBreak("builtin", name="format", value=value)
    elif not value.is_constant():
        if spec is not None and spec.as_constant():
            raise GraphBreak("builtin", name="format", value=value)
        return text_shown(tx, value)
    return text_of(tx, format, [value, spec or ConstantVariable("")])


def is_empty(spec: Variable | None) -> bool:
    return spec is None or spec.is_exactly("") or (spec.is_constant() and spec.as_constant() == "")


#: `__format__` methods of built-in classes that return `str(value)` for an empty specification
SAY_WHAT_STR_SAYS = tuple(cls.__format__ for cls in (str, int, float, complex))

#: number of a conversion -> its function
CONVERTED: dict[int, Callable[[object], str]] = {1: str, 2: repr, 3: ascii}


@string_method("format")
def format_template(
    tx: Interpreter, template: str, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """`template.format(*args, **kwargs)`, field by field, as string.Formatter does it."""
    fields = _Fields(tx, args, kwargs)
    try:
        return fields.fill(template, 2)
    except (ValueError, IndexError, KeyError) as error:
        raise raise_python(error) from None


@string_method("format_map")
def _format_map(
    tx: Interpreter, template: str, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    if len(args) != 1 or kwargs:
        return fold(template.format_map, args, kwargs)
    (mapping,) = args
    names = mapping.unpack(tx) if type(mapping) is DictVariable and mapping.python_type() is dict else None
    if names is None or not all(name.python_type() is str for name in names):
        raise refusal("format_map", mapping)
    values = {name.as_constant(): mapping.get_item(tx, name) for name in names}  # type: ignore[attr-defined]
    return format_template(tx, template, [], values)


class _Fields:
    """The values of the fields of a template.

    Fields `{}` are counted in the order of the template. Nested fields count too.
    """

    def __init__(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> None:
        self.tx = tx
        self.args = args
        self.kwargs = kwargs
        self.automatic: int | None = None

    def fill(self, template: str, depth: int) -> Variable:
        if depth < 0:
            raise ValueError("Max string recursion exceeded")
        parts: list[Variable] = []
        for literal, name, spec, conversion in string.Formatter().parse(template):
            parts.append(ConstantVariable(literal))
            if name is None:
                continue
            if conversion is not None and conversion not in CONVERSIONS:
                raise ValueError(f"Unknown conversion specifier {conversion}")
            value = self.find(name)
            inner = self.fill(spec or "", depth - 1)
            parts.append(format_value(self.tx, value, CONVERSIONS.get(conversion or "", 0), inner))
        return text_of(self.tx, joined, parts)

    def find(self, name: str) -> Variable:
        first, rest = _string.formatter_field_name_split(name)
        value = self.first(first)
        for is_attribute, key in rest:
            value = (
                value.get_attr(self.tx, key)
                if is_attribute
                else self.tx.get_item(value, ConstantVariable(key))
            )
        return realize(value)

    def first(self, name: str | int) -> Variable:
        if isinstance(name, str) and name:
            return self.kwargs[name]
        if name == "":
            if self.automatic is not None and self.automatic < 0:
                raise ValueError("cannot switch from manual field specification to automatic field numbering")
            name = self.automatic = 0 if self.automatic is None else self.automatic + 1
        else:
            if self.automatic is not None and self.automatic >= 0:
                raise ValueError("cannot switch from automatic field numbering to manual field specification")
            self.automatic = -1
        if name >= len(self.args):
            raise IndexError(f"Replacement index {name} out of range for positional args tuple")
        return self.args[name]


CONVERSIONS = {"s": 1, "r": 2, "a": 3}


@string_method("%")
def _percent_format(
    tx: Interpreter, template: str | bytes, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """`template % values`. Of an object that is no constant, only the texts for `%s` and `%r` are known."""
    (values,) = args
    items = values.unpack(tx) if type(values) is TupleVariable else [values]
    if late_values.is_among(items):
        return text_of(tx, _percent, [ConstantVariable(template), *items])
    if type(values) is TupleVariable:
        shown: Variable = TupleVariable([_shown(tx, v) for v in values.unpack(tx)])
    else:
        shown = _shown(tx, values)
    return fold(operator.mod, [ConstantVariable(template), shown], {})


def _percent(template: Any, *values: Any) -> Any:
    return template % values


class _Shown(Variable):
    """A stand-in with the same str and repr."""

    def __init__(self, text: str, representation: str) -> None:
        super().__init__(None)
        self.shown = _TwoTexts(representation)
        self.shown.string = text

    def as_constant(self) -> object:
        return self.shown


class _TwoTexts(_Text):
    string = ""

    def __str__(self) -> str:
        return self.string


def _shown(tx: Interpreter, value: Variable) -> Variable:
    value = value.plain_argument()
    if value.is_constant():
        return value
    if isinstance(value, DictVariable) or getattr(value, "base_value", None) is not None:
        raise GraphBreak("builtin", name="%", value=value)  # the template may ask for its items
    return _Shown(to_text(tx, value), to_repr(tx, value))
