"""Calls and making functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.break_reasons import GraphBreak
from capture.opcodes.registry import opcode
from capture.variables.base import NullVariable, Variable
from capture.variables.function import CellVariable, NestedFunctionVariable
from capture.variables.mapping import pairs_of

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.translator import Translator


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
    if not isinstance(
        method, NullVariable
    ):  # (function, its first argument), as decorators and comprehensions are called
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
    args = tx.pop().iterate(tx).unpack(tx)
    function = tx.pop()
    tx.stack.pop()  # NULL
    tx.push(call(tx, function, args, kwargs))


def call(tx: Translator, function: Variable, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """A handler that takes other arguments than the program gives breaks the graph: Python raises the TypeError, or knows a form that we don't."""
    try:
        return function.call(tx, args, kwargs)
    except TypeError as error:
        if not _is_arity_error(error):
            raise
        raise GraphBreak("call", value=function) from error


def _is_arity_error(error: TypeError) -> bool:
    """Whether the handler's own signature refused the arguments."""
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
    """Annotations come as a flat tuple of names and values."""
    from capture.variables.mapping import DictVariable

    if value is None:
        return None
    items = value.unpack(tx)
    return DictVariable.from_strings({k.as_constant(): v for k, v in zip(items[::2], items[1::2])})
