"""Instructions for jumps and `return`.

In:  the condition or the result on the stack.
Out: the next position of `tx`, or `tx.returned`. A branch on a tensor breaks the graph.

    POP_JUMP_IF_FALSE with n > 3 on the stack, n = 2    ->    a guard that n > 3 is false, and the jump
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.graph.made_by import made_by
from capture.interpret.opcodes.registry import opcode
from capture.report.break_reasons import GraphBreak, at_once
from capture.variables.core.base import Variable
from capture.variables.numbers.symbolic import is_unbacked
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator


@opcode("JUMP")
def _jump(tx: Translator, instruction: Instruction) -> None:
    tx.jump(instruction.target)


def branch_truth(tx: Translator, value: Variable) -> bool:
    if isinstance(value, TensorVariable) and value.known_truth(tx) is None:
        raise at_once(made_by(GraphBreak("data_dependent_jump"), value.node))
    return value.truth(tx)


@opcode("POP_JUMP_IF_TRUE")
def _jump_if_true(tx: Translator, instruction: Instruction) -> None:
    value = tx.pop()
    if is_unbacked(value):
        asserted = tx.output.unbacked.take_assertion(tx, value)  # type: ignore[arg-type]
    else:
        asserted = isinstance(value, TensorVariable) and tx.output.assertions.take(tx, value)
    if asserted or branch_truth(tx, value):
        tx.jump(instruction.target)


@opcode("POP_JUMP_IF_FALSE")
def _jump_if_false(tx: Translator, instruction: Instruction) -> None:
    if not branch_truth(tx, tx.pop()):
        tx.jump(instruction.target)


def _is_none(value: Variable) -> bool:
    return value.is_exactly(None)


@opcode("POP_JUMP_IF_NONE")
def _jump_if_none(tx: Translator, instruction: Instruction) -> None:
    if _is_none(tx.pop()):
        tx.jump(instruction.target)


@opcode("POP_JUMP_IF_NOT_NONE")
def _jump_if_not_none(tx: Translator, instruction: Instruction) -> None:
    if not _is_none(tx.pop()):
        tx.jump(instruction.target)


@opcode("JUMP_IF_TRUE_OR_POP")
def _jump_if_true_or_pop(tx: Translator, instruction: Instruction) -> None:
    if branch_truth(tx, tx.top()):
        tx.jump(instruction.target)
    else:
        tx.pop()


@opcode("JUMP_IF_FALSE_OR_POP")
def _jump_if_false_or_pop(tx: Translator, instruction: Instruction) -> None:
    if branch_truth(tx, tx.top()):
        tx.pop()
    else:
        tx.jump(instruction.target)


@opcode("RETURN_VALUE")
def _return_value(tx: Translator, instruction: Instruction) -> None:
    tx.returned = tx.pop()
