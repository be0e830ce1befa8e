"""Instructions that load or store attributes.

In:  the object on the stack, and a name; for a store, the value on the stack, too.
Out: the variable of the attribute on the stack; for a store, a side effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.interpret.opcodes.registry import opcode
from capture.sizes.counters import check_counter, counts_up
from capture.variables.callables.value_method import ValueMethod
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.sequence import SequenceVariable
from capture.variables.containers.sets import SetVariable
from capture.variables.tensors.tensor import TensorVariable
from guards.sources import AttrSource

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator


@opcode("LOAD_ATTR")
def _load_attr(tx: Translator, instruction: Instruction) -> None:
    tx.push(tx.pop().get_attr(tx, instruction.value))


@opcode("LOAD_METHOD")
def _load_method(tx: Translator, instruction: Instruction) -> None:
    owner, name = tx.pop(), instruction.value
    tx.push_null()
    direct = isinstance(owner, (TensorVariable, SequenceVariable, DictVariable, SetVariable))
    if direct and callable(getattr(owner.python_type(), name, None)):
        tx.push(ValueMethod(owner, name))
    else:
        tx.push(owner.get_attr(tx, name))


@opcode("STORE_ATTR")
def _store_attr(tx: Translator, instruction: Instruction) -> None:
    value, owner = tx.pop_many(2)
    owner.set_attr(tx, instruction.value, value)
    if owner.source is not None and counts_up(tx, value):
        check_counter(tx, AttrSource(owner.source, instruction.value), value)


@opcode("DELETE_ATTR")
def _delete_attr(tx: Translator, instruction: Instruction) -> None:
    tx.pop().del_attr(tx, instruction.value)
