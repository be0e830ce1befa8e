"""Instructions for comparisons.

In:  the operands on the stack.
Out: the result on the stack: a constant, or the variable of a new node.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from capture.interpret.opcodes.operators import SIGNALS
from capture.interpret.opcodes.registry import opcode
from capture.variables.core.constant import ConstantVariable
from capture.variables.operations.equality import COMPARISONS, same_object
from capture.variables.operations.rich_comparison import compare, contains

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator


@opcode("COMPARE_OP")
def _compare(tx: Translator, instruction: Instruction) -> None:
    left, right = tx.pop_many(2)
    try:
        tx.push(compare(tx, instruction.value, left, right))
    except SIGNALS as signal:
        raise tx.corrected(signal, COMPARISONS[instruction.value], [left, right]) from None


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
        raise tx.corrected(signal, operator.contains, [container, item]) from None
    tx.push(ConstantVariable(not result.truth(tx)) if instruction.arg else result)
