"""Instructions that call functions or make them.

In:  a function and its arguments on the stack; for a new function, its code object and defaults.
Out: the result of the call, or the variable of the new function, on the stack.

    CALL 2 with NULL, f, x, y on the stack    ->    call(tx, f, [x, y], {})
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.interpret.opcodes.collections import full_name
from capture.interpret.opcodes.registry import opcode
from capture.report.break_reasons import GraphBreak
from capture.variables.callables.function import CellVariable, NestedFunctionVariable
from capture.variables.containers.mapping import DictVariable, pairs_of
from capture.variables.core.base import NullVariable, ObservedException, Variable
from capture.variables.core.exception import raise_new

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator


@opcode("KW_NAMES")
def _kw_names(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    tx.keyword_names = tx.code.co_consts[instruction.arg]


@opcode("CALL")
def _call(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    names, tx.keyword_names = tx.keyword_names, ()
    values = tx.pop_many(instruction.arg)
    function = tx.pop()
    method = tx.pop()
    # Calls of decorators and comprehensions have the function and its first argument there.
    if not isinstance(method, NullVariable):
        values.insert(0, function)
        function = method
    split = len(values) - len(names)
    tx.push(call(tx, function, values[:split], dict(zip(names, values[split:]))))


@opcode("CALL_FUNCTION_EX")
def _call_function_ex(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    kwargs: dict[str, Variable] = {}
    if instruction.arg & 1:
        kwargs = {key.as_constant(): value for key, value in pairs_of(tx, tx.pop())}
    values, function = tx.pop(), tx.pop()
    tx.stack.pop()  # NULL
    if values.is_constant() and not hasattr(values.python_type(), "__iter__"):
        kind = values.python_type().__name__
        text = f"{full_name(tx, function)} argument after * must be an iterable, not {kind}"
        raise raise_new(TypeError, text)
    args = values.iterate(tx).unpack(tx)
    tx.push(call(tx, function, args, kwargs))


def call(tx: Translator, function: Variable, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """A rule may take other arguments than the program gives. Then the function itself is asked for its
    TypeError. If it raises none, the rule misses a form of the call, and the graph breaks. Exceptions of
    built-in functions are the same as in eager.
    """
    try:
        return function.call(tx, args, kwargs)
    except TypeError as error:
        if not _is_arity_error(error):
            raise
        refused = tx.corrected(GraphBreak("call", value=function), function, args, kwargs)
        if isinstance(refused, GraphBreak):
            from capture.variables.operations.refusals import wrong_number  # lazy: import time

            refused = wrong_number(tx, function, args, kwargs) or refused
        raise refused from None
    except (GraphBreak, ObservedException) as signal:
        right = tx.corrected(signal, function, args, kwargs)
        if right is signal:
            raise
        raise right from None
    except (
        ArithmeticError,
        LookupError,
        ValueError,
    ):  # a rule on plain values raised Python's error
        refused = tx.corrected(GraphBreak("call", value=function), function, args, kwargs)
        if isinstance(refused, GraphBreak):
            raise
        raise refused from None


def _is_arity_error(error: TypeError) -> bool:
    """Whether the signature of the rule refused the arguments."""
    text = str(error)
    return "argument" in text and any(
        part in text for part in ("positional argument", "required", "unexpected keyword", "multiple values")
    )


@opcode("MAKE_FUNCTION")
def _make_function(tx: Translator, instruction: Instruction) -> None:
    flags = instruction.arg or 0
    code = tx.pop().real_value()
    closure: list[CellVariable] = []
    if flags & 8:
        for cell in tx.pop().unpack(tx):
            assert isinstance(cell, CellVariable)
            closure.append(cell)
    annotations = tx.pop() if flags & 4 else None
    keyword = {k.as_constant(): v for k, v in pairs_of(tx, tx.pop())} if flags & 2 else {}
    defaults = tx.pop().unpack(tx) if flags & 1 else []
    tx.push(NestedFunctionVariable(code, tx.scope, defaults, keyword, closure, _annotations(tx, annotations)))


def _annotations(tx: Translator, value: Variable | None) -> Variable | None:
    """The instruction has annotations as a flat tuple of names and values."""
    if value is None:
        return None
    items = value.unpack(tx)
    return DictVariable.from_strings({k.as_constant(): v for k, v in zip(items[::2], items[1::2])})
