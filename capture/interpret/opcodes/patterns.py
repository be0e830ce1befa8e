"""Instructions of the `match` statement.

In:  the subject, and the keys or the class of the pattern, on the stack.
Out: the parts of the subject as a tuple, or None where the pattern does not match.

    MATCH_KEYS with {"a": x} and ("a",) on the stack    ->    (x,)
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

from capture.interpret.opcodes.registry import opcode
from capture.report.break_reasons import GraphBreak
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import ObservedException, Variable, realize
from capture.variables.core.class_lookup import MISSING, lookup_type
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_new
from capture.variables.core.granted import granted
from capture.variables.core.rules import CALLS
from capture.variables.objects.type_object import ClassVariable
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.operations.equality import equal
from capture.variables.text.strings import to_repr
from guards.sources import HEAP_TYPE

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator

# Py_TPFLAGS: a class's answers to a `match` statement. Subclasses have the same flags, and so do the classes
# that are registered with an abstract class.
IS_SEQUENCE, IS_MAPPING, MATCHES_ITSELF = 1 << 5, 1 << 6, 1 << 22


@opcode("GET_LEN")
def _get_len(tx: Translator, instruction: Instruction) -> None:
    tx.push(CALLS[len](tx, tx.top()))


def _has_flag(tx: Translator, subject: Variable, flag: int) -> Variable:
    flags = subject.python_type().__flags__
    if flags & HEAP_TYPE and not flags & flag:
        tx.output.guarding.state(abc.get_cache_token)  # a class may be registered later
        granted().only_here("a match statement")
    return ConstantVariable(bool(flags & flag))


@opcode("MATCH_SEQUENCE")
def _match_sequence(tx: Translator, instruction: Instruction) -> None:
    tx.push(_has_flag(tx, tx.top(), IS_SEQUENCE))


@opcode("MATCH_MAPPING")
def _match_mapping(tx: Translator, instruction: Instruction) -> None:
    tx.push(_has_flag(tx, tx.top(), IS_MAPPING))


@opcode("MATCH_KEYS")
def _match_keys(tx: Translator, instruction: Instruction) -> None:
    keys = tx.top().unpack(tx)
    subject = tx.stack[-2] = realize(tx.stack[-2])
    for index, key in enumerate(keys):
        if any(equal(tx, key, earlier) for earlier in keys[:index]):
            raise raise_new(ValueError, f"mapping pattern checks duplicate key ({to_repr(tx, key)})")
    values = []
    for key in keys:
        value = _value_of(tx, subject, key)
        if value is None:
            tx.push(ConstantVariable(None))
            return
        values.append(value)
    tx.push(TupleVariable(values))


def _value_of(tx: Translator, subject: Variable, key: Variable) -> Variable | None:
    if isinstance(subject, DictVariable):
        return subject.find(tx, key)
    missing = ObjectVariable(object)
    value = subject.call_method(tx, "get", [key, missing], {})
    return None if value is missing else value


@opcode("MATCH_CLASS")
def _match_class(tx: Translator, instruction: Instruction) -> None:
    names = tx.pop().as_constant()
    cls, subject = tx.pop(), tx.pop()
    if cls.is_constant():
        raise raise_new(TypeError, "called match pattern must be a type")
    if not CALLS[isinstance](tx, subject, cls).truth(tx):
        tx.push(ConstantVariable(None))
        return
    if not isinstance(cls, ClassVariable):
        raise GraphBreak("opcode", name=instruction.name)
    found = _attributes(tx, cls, subject, instruction.arg or 0, names)
    tx.push(ConstantVariable(None) if found is None else TupleVariable(found))


def _positional_names(tx: Translator, cls_variable: ClassVariable, count: int) -> tuple[str, ...] | None:
    """The names of the positional patterns. None: there is one, and it is the subject itself."""
    cls = cls_variable.cls
    tx.output.guarding.class_entry(cls_variable, cls, "__match_args__")
    declared = lookup_type(cls, "__match_args__")
    matches_itself = declared is MISSING and bool(cls.__flags__ & MATCHES_ITSELF)
    if declared is MISSING:
        declared = ()
    if type(declared) is not tuple:
        text = f"{cls.__name__}.__match_args__ must be a tuple (got {type(declared).__name__})"
        raise raise_new(TypeError, text)
    allowed = 1 if matches_itself else len(declared)
    if allowed < count:
        plural = "" if allowed == 1 else "s"
        text = f"{cls.__name__}() accepts {allowed} positional sub-pattern{plural} ({count} given)"
        raise raise_new(TypeError, text)
    for name in declared[:count]:
        if not isinstance(name, str):
            text = f"__match_args__ elements must be strings (got {type(name).__name__})"
            raise raise_new(TypeError, text)
    return None if matches_itself else declared[:count]


def _attributes(
    tx: Translator, cls: ClassVariable, subject: Variable, count: int, names: tuple[str, ...]
) -> list[Variable] | None:
    positional = _positional_names(tx, cls, count) if count else ()
    result = [subject] if positional is None else []
    seen: set[str] = set()
    for name in (*(positional or ()), *names):
        if name in seen:
            text = f"{cls.cls.__name__}() got multiple sub-patterns for attribute {name!r}"
            raise raise_new(TypeError, text)
        seen.add(name)
        try:
            result.append(subject.get_attr(tx, name))
        except ObservedException as raised:
            if issubclass(raised.variable.python_type(), AttributeError):
                return None
            raise
    return result
