"""Regular expressions at translation time.

In:  a pattern and constant strings.
Out: the result as a constant. Patterns and matches are `ExpressionVariable`s.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.value_method import method_of_value
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_python
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.rules import rule
from capture.variables.core.wrap import guard_identity, guard_type, wraps
from capture.variables.text.polyfills import matches, substitute, substitute_and_count
from guards.sources import ConstantSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source

FUNCTIONS = (re.compile, re.match, re.search, re.fullmatch, re.findall, re.split, re.escape)


class ExpressionVariable(Variable):
    """A `re.Pattern` or `re.Match`. Both are immutable."""

    mutable = True

    def __init__(self, value: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.value = value

    def python_type(self) -> type:
        return type(self.value)

    def real_value(self) -> Any:
        return self.value

    def truth(self, tx: Interpreter) -> bool:
        return True

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        value = getattr(self.value, name, None)
        if type(value) in (str, bytes, int) or name in ("lastgroup", "lastindex"):
            return tx.wrap_constant(value)
        return method_of_value(tx, self, name)

    def get_item(self, tx: Interpreter, key: Variable) -> Variable:
        return self.call_method(tx, "__getitem__", [key], {})

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name in SUBSTITUTIONS and isinstance(self.value, re.Pattern) and calls_for_each(args, kwargs):
            return tx.wrap_function(SUBSTITUTIONS[name]).call(tx, [self, *args], kwargs)
        return evaluate(tx, getattr(self.value, name), args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.value)


def evaluate(tx: Interpreter, function: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """Call the function on constants."""

    def value(argument: Variable) -> Any:
        return argument.value if isinstance(argument, ExpressionVariable) else argument.as_constant()

    try:
        result = function(*map(value, args), **{k: value(v) for k, v in kwargs.items()})
    except NotConstant:
        raise GraphBreak("builtin", name=function.__qualname__, value="a value that is no constant") from None
    except (re.error, IndexError, TypeError) as error:
        raise raise_python(error) from None
    if isinstance(result, (re.Pattern, re.Match)):
        return tx.wrap(result, ConstantSource(result))
    return tx.wrap(result, None) if isinstance(result, dict) else tx.wrap_constant(result)


# --- substitution with a function -------------------------------------------------------------------------


def calls_for_each(args: list[Variable], kwargs: dict[str, Variable]) -> bool:
    """Whether the replacement (`repl`, or the first of `args`) is no constant text."""
    replacement = kwargs.get("repl", args[0] if args else None)
    return replacement is not None and not isinstance(replacement, ConstantVariable)


@rule(matches)
def _matches(tx: Interpreter, pattern: Variable, string: Variable, count: Variable) -> Variable:
    try:
        found = matches(pattern.real_value(), string.as_constant(), count.as_constant())
    except NotConstant:
        raise GraphBreak("builtin", name="sub", value="a value that is no constant") from None
    except TypeError as error:
        raise raise_python(error) from None
    return TupleVariable([tx.wrap(match, ConstantSource(match)) for match in found])


SUBSTITUTIONS = {"sub": substitute, "subn": substitute_and_count}


def _compile_first(function: Any, name: str) -> Callable[..., Variable]:
    """`re.sub(pattern, repl, string, count, flags)`"""

    def call(tx: Interpreter, *args: Variable, flags: Variable | None = None, **kwargs: Variable) -> Variable:
        if not args or not calls_for_each(list(args[1:]), kwargs):
            options = {} if flags is None else {"flags": flags}
            return evaluate(tx, function, list(args), {**kwargs, **options})
        flags = args[4] if len(args) > 4 else flags
        first = args[0]
        if not isinstance(first, ExpressionVariable):
            first = evaluate(tx, re.compile, [first, *([] if flags is None else [flags])], {})
        return first.call_method(tx, name, list(args[1:4]), kwargs)

    return call


def _rule_of(function: Any) -> Callable[..., Variable]:
    return lambda tx, *args, **kwargs: evaluate(tx, function, list(args), kwargs)


for _function in FUNCTIONS:
    rule(_function)(_rule_of(_function))
rule(re.sub)(_compile_first(re.sub, "sub"))
rule(re.subn)(_compile_first(re.subn, "subn"))


@wraps(re.Pattern, re.Match)
def wrap_expression(output: Output, value: Any, source: Source | None) -> Variable:
    """A pattern, or a match that the translation made, is known by identity. Each call has another match."""
    if isinstance(value, re.Match) and not isinstance(source, ConstantSource):
        guard_type(output, value, source)
        return OpaqueVariable(value, source, "unknown_type", value="a match of a regular expression")
    guard_identity(output, value, source)
    return ExpressionVariable(value, source)
