"""Instructions for jumps, loops, `return` and generators.

In:  the condition, the iterator or the result on the stack.
Out: the next position of `tx`, or `tx.returned`, or `tx.yielded`. A branch on a tensor breaks the graph.

    POP_JUMP_IF_FALSE with n > 3 on the stack, n = 2    ->    a guard that n > 3 is false, and the jump
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.graph.made_by import made_by
from capture.interpret.opcodes.registry import opcode
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import ObservedException, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.rules import CALLS
from capture.variables.iterators.generator import GeneratorVariable
from capture.variables.iterators.rules import next_item
from capture.variables.numbers.symbolic import is_unbacked
from capture.variables.operations.refusals import corrected
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator


@opcode("JUMP")
def _jump(tx: Translator, instruction: Instruction) -> None:
    tx.jump(instruction.target)


def branch_truth(tx: Translator, value: Variable) -> bool:
    if isinstance(value, TensorVariable) and value.known_truth(tx) is None:
        raise made_by(GraphBreak("data_dependent_jump"), value.node)
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


@opcode("GET_ITER")
def _get_iter(tx: Translator, instruction: Instruction) -> None:
    iterable = tx.pop()
    try:
        tx.push(CALLS[iter](tx, iterable))
    except (GraphBreak, ObservedException) as signal:
        raise corrected(tx, signal, iter, [iterable]) from None


@opcode("FOR_ITER")
def _for_iter(tx: Translator, instruction: Instruction) -> None:
    item = next_item(tx, tx.top())
    if item is None:
        tx.pop()
        tx.jump(instruction.target)
    else:
        tx.push(item)


@opcode("RETURN_VALUE")
def _return_value(tx: Translator, instruction: Instruction) -> None:
    tx.returned = tx.pop()


# --- generators -----------------------------------------------------------------------------------------


@opcode("RETURN_GENERATOR")
def _return_generator(tx: Translator, instruction: Instruction) -> None:
    tx.push(ConstantVariable(None))  # the next instruction pops it; the GeneratorVariable exists already


@opcode("YIELD_VALUE")
def _yield_value(tx: Translator, instruction: Instruction) -> None:
    if tx.parent is None:
        raise GraphBreak("opcode", name=instruction.name)
    tx.yielded = tx.pop()


@opcode("GET_YIELD_FROM_ITER")
def _get_yield_from_iter(tx: Translator, instruction: Instruction) -> None:
    tx.push(CALLS[iter](tx, tx.pop()))


@opcode("SEND")
def _send(tx: Translator, instruction: Instruction) -> None:
    value, receiver = tx.pop(), tx.top()
    if isinstance(receiver, GeneratorVariable):
        item = receiver.resume(tx, value)
        result: Variable = receiver.result
    else:
        item = next_item(tx, receiver)
        result = ConstantVariable(None)
    if item is None:
        tx.pop()
        tx.push(result)
        tx.jump(instruction.target)
    else:
        tx.push(item)
