"""Unary, binary and comparison operators, subscripts."""

from __future__ import annotations

import dis
from typing import TYPE_CHECKING

from capture.opcodes.registry import opcode
from capture.variables.compare import same_object
from capture.variables.constant import ConstantVariable
from capture.variables.operators import (
    binary_operator,
    compare,
    contains,
    del_item,
    get_item,
    in_place_operator,
    set_item,
    unary_operator,
)
from capture.variables.strings import format_value

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.translator import Translator

SYMBOLS: list[str] = [symbol for _, symbol in dis._nb_ops]  # type: ignore[attr-defined]
UNARY_SYMBOLS = {"UNARY_NEGATIVE": "-", "UNARY_POSITIVE": "+", "UNARY_INVERT": "~"}


@opcode(*UNARY_SYMBOLS)
def _unary(tx: Translator, instruction: Instruction) -> None:
    tx.push(unary_operator(tx, UNARY_SYMBOLS[instruction.name], tx.pop()))


@opcode("UNARY_NOT")
def _not(tx: Translator, instruction: Instruction) -> None:
    tx.push(ConstantVariable(not tx.pop().truth(tx)))


@opcode("BINARY_OP")
def _binary(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    left, right = tx.pop_many(2)
    symbol = SYMBOLS[instruction.arg]
    if symbol.endswith("="):
        tx.push(in_place_operator(tx, symbol[:-1], left, right))
    else:
        tx.push(binary_operator(tx, symbol, left, right))


@opcode("COMPARE_OP")
def _compare(tx: Translator, instruction: Instruction) -> None:
    left, right = tx.pop_many(2)
    tx.push(compare(tx, instruction.value, left, right))


@opcode("IS_OP")
def _is(tx: Translator, instruction: Instruction) -> None:
    left, right = tx.pop_many(2)
    tx.push(ConstantVariable(same_object(tx, left, right) != bool(instruction.arg)))


@opcode("CONTAINS_OP")
def _contains(tx: Translator, instruction: Instruction) -> None:
    item, container = tx.pop_many(2)
    result = contains(tx, container, item)
    tx.push(ConstantVariable(not result.truth(tx)) if instruction.arg else result)


@opcode("BINARY_SUBSCR")
def _get_item(tx: Translator, instruction: Instruction) -> None:
    container, key = tx.pop_many(2)
    tx.push(get_item(tx, container, key))


@opcode("STORE_SUBSCR")
def _set_item(tx: Translator, instruction: Instruction) -> None:
    value, container, key = tx.pop_many(3)
    set_item(tx, container, key, value)


@opcode("DELETE_SUBSCR")
def _del_item(tx: Translator, instruction: Instruction) -> None:
    container, key = tx.pop_many(2)
    del_item(tx, container, key)


@opcode("FORMAT_VALUE")
def _format(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    spec = tx.pop() if instruction.arg & 4 else None
    tx.push(format_value(tx, tx.pop(), instruction.arg & 3, spec))


@opcode("BUILD_STRING")
def _build_string(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    tx.push(ConstantVariable("".join(v.as_constant() for v in tx.pop_many(instruction.arg))))
