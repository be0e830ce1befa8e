"""Instructions for f-strings.

In:  the values and the parts on the stack.
Out: the text on the stack: a constant, or a text with sizes that may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.interpret.opcodes.registry import opcode
from capture.variables.text.size_text import joined, text_of
from capture.variables.text.strings import format_value

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator


@opcode("FORMAT_VALUE")
def _format(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    spec = tx.pop() if instruction.arg & 4 else None
    tx.push(format_value(tx, tx.pop(), instruction.arg & 3, spec))


@opcode("BUILD_STRING")
def _build_string(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    tx.push(text_of(tx, joined, tx.pop_many(instruction.arg)))
