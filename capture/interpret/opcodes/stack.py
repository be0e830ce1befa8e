"""Instructions that load constants or order the stack.

In:  a constant, or positions in the stack.
Out: the new order of `tx.stack`.

    SWAP 2 with a, b on the stack    ->    b, a
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from capture.interpret.opcodes.registry import opcode
from capture.report.break_reasons import SkipFrame
from capture.variables.core.base import LazyVariable
from capture.variables.core.constant import LITERALS, ConstantVariable
from guards.sources import ConstantSource

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator


@opcode("NOP")
def _nothing(tx: Translator, instruction: Instruction) -> None:
    pass


@opcode("POP_TOP")
def _pop_top(tx: Translator, instruction: Instruction) -> None:
    """An existing generator that the frame drops runs its open `finally` blocks now. That has to happen in
    Python's own frame.
    """
    value = tx.stack.pop()
    if isinstance(value, LazyVariable) and is_suspended(value.value):
        raise SkipFrame("the frame drops a generator before its end")


def is_suspended(value: object) -> bool:
    return isinstance(value, types.GeneratorType) and value.gi_frame is not None


@opcode("PUSH_NULL")
def _push_null(tx: Translator, instruction: Instruction) -> None:
    tx.push_null()


@opcode("COPY")
def _copy(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    tx.push(tx.stack[-instruction.arg])


@opcode("SWAP")
def _swap(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    stack, depth = tx.stack, instruction.arg
    stack[-1], stack[-depth] = stack[-depth], stack[-1]


@opcode("LOAD_CONST")
def _load_const(tx: Translator, instruction: Instruction) -> None:
    value = instruction.value
    tx.push(ConstantVariable(value) if type(value) in LITERALS else tx.wrap(value, None))


@opcode("LOAD_ASSERTION_ERROR")
def _load_assertion_error(tx: Translator, instruction: Instruction) -> None:
    tx.push(tx.wrap(AssertionError, ConstantSource(AssertionError)))
