"""Instructions that build or extend sets.

In:  the items or the set on the stack.
Out: the variable of the set on the stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.interpret.opcodes.collections import argument, target_of
from capture.interpret.opcodes.registry import opcode
from capture.variables.containers.sequence import TupleVariable
from capture.variables.containers.sets import SetVariable

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator


@opcode("BUILD_SET")
def _build_set(tx: Translator, instruction: Instruction) -> None:
    tx.push(SetVariable.from_items(tx, tx.pop_many(argument(instruction))))


@opcode("SET_UPDATE")
def _set_update(tx: Translator, instruction: Instruction) -> None:
    items = tx.pop()
    if not isinstance(items, SetVariable):
        items = TupleVariable(items.iterate(tx).unpack(tx))
    target_of(tx, instruction).call_method(tx, "update", [items], {})
