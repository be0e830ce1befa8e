"""The match statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.break_reasons import GraphBreak
from capture.opcodes.registry import opcode
from capture.rules import CALLS
from capture.variables.base import ObservedException, Variable
from capture.variables.class_lookup import MISSING, lookup_type
from capture.variables.constant import ConstantVariable
from capture.variables.lists import DequeVariable, ListVariable
from capture.variables.mapping import DictVariable
from capture.variables.ranges import RangeVariable
from capture.variables.sequence import TupleVariable
from capture.variables.type_object import ClassVariable

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.translator import Translator

# Built-in types whose single positional pattern is the object itself.
SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


@opcode("GET_LEN")
def _get_len(tx: Translator, instruction: Instruction) -> None:
    tx.push(CALLS[len](tx, tx.top()))


@opcode("MATCH_SEQUENCE")
def _match_sequence(tx: Translator, instruction: Instruction) -> None:
    kinds = (ListVariable, TupleVariable, RangeVariable, DequeVariable)
    tx.push(ConstantVariable(isinstance(tx.top(), kinds)))


@opcode("MATCH_MAPPING")
def _match_mapping(tx: Translator, instruction: Instruction) -> None:
    tx.push(ConstantVariable(isinstance(tx.top(), DictVariable)))


@opcode("MATCH_KEYS")
def _match_keys(tx: Translator, instruction: Instruction) -> None:
    keys, subject = tx.top(), tx.stack[-2]
    assert isinstance(subject, DictVariable)
    values = [subject.find(tx, key) for key in keys.unpack(tx)]
    if any(value is None for value in values):
        tx.push(ConstantVariable(None))
    else:
        tx.push(TupleVariable([value for value in values if value is not None]))


@opcode("MATCH_CLASS")
def _match_class(tx: Translator, instruction: Instruction) -> None:
    names = tx.pop().as_constant()
    cls, subject = tx.pop(), tx.pop()
    if not CALLS[isinstance](tx, subject, cls).truth(tx):
        tx.push(ConstantVariable(None))
        return
    if not isinstance(cls, ClassVariable):
        raise GraphBreak("opcode", name="MATCH_CLASS")
    found = _attributes(tx, cls, subject, instruction.arg or 0, names)
    tx.push(ConstantVariable(None) if found is None else TupleVariable(found))


def _attributes(
    tx: Translator, cls_variable: ClassVariable, subject: Variable, count: int, names: tuple[str, ...]
) -> list[Variable] | None:
    cls = cls_variable.cls
    result: list[Variable] = []
    fields: tuple[str, ...] = ()
    if count:
        tx.output.guard_class_entry(cls_variable, cls, "__match_args__")
        declared = lookup_type(cls, "__match_args__")
        if declared is MISSING and issubclass(cls, SELF_MATCHING) and count == 1:
            result.append(subject)
        elif declared is MISSING or len(declared) < count:
            raise GraphBreak("opcode", name="MATCH_CLASS with too many positional patterns")
        else:
            fields = declared[:count]
    for name in (*fields, *names):
        try:
            result.append(subject.get_attr(tx, name))
        except ObservedException as raised:
            if issubclass(raised.variable.python_type(), AttributeError):
                return None
            raise
    return result
