"""Constants and the order of the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.opcodes.registry import opcode
from capture.variables.constant import LITERALS, ConstantVariable
from guards.source import ConstantSource

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.translator import Translator


@opcode("NOP", "RESUME", "PRECALL", "CACHE", "EXTENDED_ARG", "COPY_FREE_VARS")
def _nothing(tx: Translator, instruction: Instruction) -> None:
    pass


@opcode("POP_TOP")
def _pop_top(tx: Translator, instruction: Instruction) -> None:
    tx.stack.pop()


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
