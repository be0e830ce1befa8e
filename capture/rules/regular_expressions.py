"""Regular expressions: patterns, and what matching constants gives, are constants too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from capture.break_reasons import GraphBreak
from capture.rules import rule
from capture.variables.base import NotConstant, Variable
from capture.variables.exception import raise_python
from capture.variables.function import method_of_value
from guards.source import ConstantSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from guards.source import Source

FUNCTIONS = (re.compile, re.match, re.search, re.fullmatch, re.findall, re.split, re.sub, re.subn, re.escape)


class ExpressionVariable(Variable):
    """A `re.Pattern` or `re.Match`, which don't change."""

    mutable = True

    def __init__(self, value: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.value = value

    def python_type(self) -> type:
        return type(self.value)

    def real_value(self) -> Any:
        return self.value

    def truth(self, tx: Translator) -> bool:
        return True

    def get_attr(self, tx: Translator, name: str) -> Variable:
        if name in ("pattern", "flags", "groups", "string", "lastgroup", "lastindex", "pos", "endpos"):
            return tx.wrap_constant(getattr(self.value, name))
        return method_of_value(tx, self, name)

    def get_item(self, tx: Translator, key: Variable) -> Variable:
        return self.call_method(tx, "__getitem__", [key], {})

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        return evaluate(tx, getattr(self.value, name), args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.value)


def evaluate(tx: Translator, function: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """The call itself, on constants."""

    def value(argument: Variable) -> Any:
        return argument.value if isinstance(argument, ExpressionVariable) else argument.as_constant()

    try:
        result = function(*map(value, args), **{k: value(v) for k, v in kwargs.items()})
    except NotConstant:
        raise GraphBreak("builtin", name=function.__qualname__, value="what is no constant") from None
    except (re.error, IndexError, TypeError) as error:
        raise raise_python(error) from None
    if isinstance(result, (re.Pattern, re.Match)):
        return tx.wrap(result, ConstantSource(result))
    return tx.wrap(result, None) if isinstance(result, dict) else tx.wrap_constant(result)


def _rule_of(function: Any) -> Callable[..., Variable]:
    return lambda tx, *args, **kwargs: evaluate(tx, function, list(args), kwargs)


for _function in FUNCTIONS:
    rule(_function)(_rule_of(_function))
