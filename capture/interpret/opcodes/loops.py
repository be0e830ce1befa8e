"""Instructions for loops and generators.

In:  the iterable or the iterator on the stack.
Out: the next item on the stack, or the position behind the loop; `tx.yielded`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.interpret.opcodes.registry import opcode
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import ObservedException, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.rules import CALLS
from capture.variables.iterators.generator import GeneratorVariable
from capture.variables.iterators.rules import next_item

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator


@opcode("GET_ITER")
def _get_iter(tx: Translator, instruction: Instruction) -> None:
    iterable = tx.pop()
    try:
        tx.push(CALLS[iter](tx, iterable))
    except (GraphBreak, ObservedException) as signal:
        raise tx.corrected(signal, iter, [iterable]) from None


@opcode("FOR_ITER")
def _for_iter(tx: Translator, instruction: Instruction) -> None:
    item = next_item(tx, tx.top())
    if item is None:
        tx.pop()
        tx.jump(instruction.target)
    else:
        tx.push(item)


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
