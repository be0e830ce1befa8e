"""Instructions for unary, binary and comparison operators, and for subscripts.

In:  the operands on the stack.
Out: the result on the stack: a constant, or the variable of a new node.

    BINARY_OP + with x, 1 on the stack    ->    TensorVariable(add), add = operator.add(x, 1)
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from capture.bytecode.dialects import dialect
from capture.interpret.opcodes.registry import opcode
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import ObservedException
from capture.variables.core.constant import ConstantVariable
from capture.variables.operations.equality import COMPARISONS, same_object
from capture.variables.operations.operators import (
    BINARY,
    UNARY,
    binary_operator,
    del_item,
    get_item,
    in_place_operator,
    set_item,
    unary_operator,
)
from capture.variables.operations.refusals import corrected
from capture.variables.operations.rich_comparison import compare, contains
from capture.variables.text.size_text import joined, text_of
from capture.variables.text.strings import format_value

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator

#: signals that end an operator's rule; then `refusals.py` asks the built-in operator for its own error
SIGNALS = (GraphBreak, ObservedException)


@opcode(*dialect.UNARY_SYMBOLS)
def _unary(tx: Translator, instruction: Instruction) -> None:
    symbol, value = dialect.UNARY_SYMBOLS[instruction.name], tx.pop()
    try:
        tx.push(unary_operator(tx, symbol, value))
    except SIGNALS as signal:
        raise corrected(tx, signal, UNARY[symbol][0], [value]) from None


@opcode("UNARY_NOT")
def _not(tx: Translator, instruction: Instruction) -> None:
    tx.push(ConstantVariable(not tx.pop().truth(tx)))


@opcode("BINARY_OP")
def _binary(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    left, right = tx.pop_many(2)
    symbol = dialect.BINARY_SYMBOLS[instruction.arg]
    in_place = symbol.endswith("=")
    operate, symbol = (in_place_operator, symbol[:-1]) if in_place else (binary_operator, symbol)
    try:
        tx.push(operate(tx, symbol, left, right))
    except SIGNALS as signal:
        raise corrected(tx, signal, BINARY[symbol][in_place], [left, right]) from None


@opcode("COMPARE_OP")
def _compare(tx: Translator, instruction: Instruction) -> None:
    left, right = tx.pop_many(2)
    try:
        tx.push(compare(tx, instruction.value, left, right))
    except SIGNALS as signal:
        raise corrected(tx, signal, COMPARISONS[instruction.value], [left, right]) from None


@opcode("IS_OP")
def _is(tx: Translator, instruction: Instruction) -> None:
    left, right = tx.pop_many(2)
    tx.push(ConstantVariable(same_object(tx, left, right) != bool(instruction.arg)))


@opcode("CONTAINS_OP")
def _contains(tx: Translator, instruction: Instruction) -> None:
    item, container = tx.pop_many(2)
    try:
        result = contains(tx, container, item)
    except SIGNALS as signal:
        raise corrected(tx, signal, operator.contains, [container, item]) from None
    tx.push(ConstantVariable(not result.truth(tx)) if instruction.arg else result)


@opcode("BINARY_SUBSCR")
def _get_item(tx: Translator, instruction: Instruction) -> None:
    container, key = tx.pop_many(2)
    try:
        tx.push(get_item(tx, container, key))
    except SIGNALS as signal:
        raise corrected(tx, signal, operator.getitem, [container, key]) from None


@opcode("STORE_SUBSCR")
def _set_item(tx: Translator, instruction: Instruction) -> None:
    value, container, key = tx.pop_many(3)
    try:
        set_item(tx, container, key, value)
    except SIGNALS as signal:
        raise corrected(tx, signal, operator.setitem, [container, key, value]) from None


@opcode("DELETE_SUBSCR")
def _del_item(tx: Translator, instruction: Instruction) -> None:
    container, key = tx.pop_many(2)
    try:
        del_item(tx, container, key)
    except SIGNALS as signal:
        raise corrected(tx, signal, operator.delitem, [container, key]) from None


@opcode("FORMAT_VALUE")
def _format(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    spec = tx.pop() if instruction.arg & 4 else None
    tx.push(format_value(tx, tx.pop(), instruction.arg & 3, spec))


@opcode("BUILD_STRING")
def _build_string(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    tx.push(text_of(tx, joined, tx.pop_many(instruction.arg)))
