"""Instructions for unary and binary operators.

In:  the operands on the stack.
Out: the result on the stack: a constant, or the variable of a new node.

    BINARY_OP + with x, 1 on the stack    ->    TensorVariable(add), add = operator.add(x, 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.bytecode.dialects import dialect
from capture.interpret.opcodes.registry import opcode
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import ObservedException
from capture.variables.operations.symbols import BINARY, UNARY

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator

#: signals that end an operator's rule; then `refusals.py` asks the built-in operator for its own error
SIGNALS = (GraphBreak, ObservedException)


@opcode(*dialect.UNARY_SYMBOLS)
def _unary(tx: Translator, instruction: Instruction) -> None:
    from capture.variables.operations.operators import unary_operator  # lazy: import time

    symbol, value = dialect.UNARY_SYMBOLS[instruction.name], tx.pop()
    try:
        tx.push(unary_operator(tx, symbol, value))
    except SIGNALS as signal:
        raise tx.corrected(signal, UNARY[symbol][0], [value]) from None


@opcode("UNARY_NOT")
def _not(tx: Translator, instruction: Instruction) -> None:
    from capture.variables.operations.rules import opposite  # lazy: import time

    tx.push(opposite(tx, tx.pop()))


@opcode("BINARY_OP")
def _binary(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    left, right = tx.pop_many(2)
    symbol = dialect.BINARY_SYMBOLS[instruction.arg]
    in_place = symbol.endswith("=")
    operate, symbol = (tx.operate_in_place, symbol[:-1]) if in_place else (tx.operate, symbol)
    try:
        tx.push(operate(symbol, left, right))
    except SIGNALS as signal:
        raise tx.corrected(signal, BINARY[symbol][in_place], [left, right]) from None
