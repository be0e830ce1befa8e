"""String formatting of values that are not plain constants (shapes in tuples, exceptions, ...): what has a known text is a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.break_reasons import GraphBreak
from capture.variables.base import NotConstant, Variable
from capture.variables.constant import ConstantVariable, fold
from capture.variables.exception import ExceptionVariable

if TYPE_CHECKING:
    from capture.translator import Translator


def to_text(tx: Translator, value: Variable) -> str:
    """`str(value)`."""
    from capture.variables.user_object import ObjectVariable

    if isinstance(value, ExceptionVariable):
        return value.text(tx)
    if isinstance(value, ObjectVariable):
        for name in ("__str__", "__repr__"):
            if value.has_class_attribute(name, below=object):
                text = value.call_method(tx, name, [], {}).as_constant()
                assert isinstance(text, str)
                return text
    try:
        return str(_printable(tx, value))
    except NotConstant:
        raise GraphBreak("builtin", name="str", value=value) from None


def to_repr(tx: Translator, value: Variable) -> str:
    """`repr(value)`."""
    from capture.variables.user_object import ObjectVariable

    if isinstance(value, ObjectVariable) and value.has_class_attribute("__repr__", below=object):
        text = value.call_method(tx, "__repr__", [], {}).as_constant()
        assert isinstance(text, str)
        return text
    try:
        return repr(_printable(tx, value))
    except NotConstant:
        raise GraphBreak("builtin", name="repr", value=value) from None


def _printable(tx: Translator, value: Variable) -> object:
    """A real object with the same text."""
    from capture.variables.mapping import DictVariable
    from capture.variables.sequence import ListVariable, TupleVariable
    from capture.variables.type_object import ClassVariable

    if isinstance(value, ClassVariable):
        return value.cls
    if isinstance(value, ListVariable):
        return [_printable(tx, item) for item in value.unpack(tx)]
    if type(value) is TupleVariable:
        return tuple(_printable(tx, item) for item in value.unpack(tx))
    if isinstance(value, DictVariable) and value.cls is dict:
        return {k.as_constant(): _printable(tx, v) for k, v in value.items(tx)}
    return value.as_constant()


def format_value(tx: Translator, value: Variable, conversion: int, spec: Variable | None) -> Variable:
    """One field of an f-string: `conversion` 0 none, 1 str, 2 repr, 3 ascii."""
    if conversion == 1:
        value = ConstantVariable(to_text(tx, value))
    elif conversion == 2:
        value = ConstantVariable(to_repr(tx, value))
    elif conversion == 3:
        value = ConstantVariable(ascii(_printable(tx, value)))
    elif not value.is_constant():
        if spec is not None and spec.as_constant():
            raise GraphBreak("builtin", name="format", value=value)
        return ConstantVariable(to_text(tx, value))
    return fold(format, [value, spec or ConstantVariable("")], {})


def format_values(
    tx: Translator, args: list[Variable], kwargs: dict[str, Variable]
) -> tuple[list[Variable], dict[str, Variable]]:
    """Arguments of str.format: values that are not constants are replaced by their text."""

    def text(value: Variable) -> Variable:
        return value if value.is_constant() else ConstantVariable(to_text(tx, value))

    return [text(a) for a in args], {k: text(v) for k, v in kwargs.items()}


def percent_format(tx: Translator, template: Variable, values: Variable) -> Variable:
    """`template % values`."""
    import operator

    from capture.variables.sequence import TupleVariable

    if type(values) is TupleVariable:
        items, _ = format_values(tx, values.unpack(tx), {})
        return fold(operator.mod, [template, TupleVariable(items)], {})
    if not values.is_constant():
        values = ConstantVariable(to_text(tx, values))
    return fold(operator.mod, [template, values], {})
