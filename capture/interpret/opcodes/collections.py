"""Instructions that build or extend containers.

In:  the items or the container on the stack.
Out: the variable of the container on the stack.

    BUILD_LIST 2 with x, y on the stack    ->    ListVariable([x, y])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.interpret.opcodes.registry import opcode
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.mapping import DictVariable, pairs_of
from capture.variables.containers.ranges import SliceVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import ObservedException, Variable, realize
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_new
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.shown_names import shown_name
from capture.variables.objects.user_object import iterates

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator


def argument(instruction: Instruction) -> int:
    assert instruction.arg is not None
    return instruction.arg


@opcode("BUILD_TUPLE")
def _build_tuple(tx: Translator, instruction: Instruction) -> None:
    tx.push(TupleVariable(tx.pop_many(argument(instruction))))


@opcode("BUILD_LIST")
def _build_list(tx: Translator, instruction: Instruction) -> None:
    tx.push(ListVariable(tx.pop_many(argument(instruction))))


@opcode("BUILD_MAP")
def _build_map(tx: Translator, instruction: Instruction) -> None:
    items = tx.pop_many(2 * argument(instruction))
    result = DictVariable()
    for key, value in zip(items[::2], items[1::2]):
        result.set_item(tx, key, value)
    tx.push(result)


@opcode("BUILD_CONST_KEY_MAP")
def _build_const_key_map(tx: Translator, instruction: Instruction) -> None:
    keys = tx.pop().unpack(tx)
    result = DictVariable()
    for key, value in zip(keys, tx.pop_many(argument(instruction))):
        result.set_item(tx, key, value)
    tx.push(result)


@opcode("BUILD_SLICE")
def _build_slice(tx: Translator, instruction: Instruction) -> None:
    parts = tx.pop_many(argument(instruction))
    tx.push(SliceVariable([*parts, *[ConstantVariable(None)] * (3 - len(parts))]))


@opcode("LIST_TO_TUPLE")
def _list_to_tuple(tx: Translator, instruction: Instruction) -> None:
    tx.push(TupleVariable(tx.pop().unpack(tx)))


def target_of(tx: Translator, instruction: Instruction) -> Variable:
    place = -argument(instruction)
    tx.stack[place] = realize(tx.stack[place])
    return tx.stack[place]


@opcode("LIST_APPEND")
def _list_append(tx: Translator, instruction: Instruction) -> None:
    value = tx.pop()
    target_of(tx, instruction).call_method(tx, "append", [value], {})


@opcode("SET_ADD")
def _set_add(tx: Translator, instruction: Instruction) -> None:
    value = tx.pop()
    target_of(tx, instruction).call_method(tx, "add", [value], {})


@opcode("MAP_ADD")
def _map_add(tx: Translator, instruction: Instruction) -> None:
    key, value = tx.pop_many(2)
    target = target_of(tx, instruction)
    assert isinstance(target, DictVariable)
    target.set_item(tx, key, value)


@opcode("LIST_EXTEND")
def _list_extend(tx: Translator, instruction: Instruction) -> None:
    value = tx.pop()
    if not iterates(value):
        kind = shown_name(value.python_type())
        raise raise_new(TypeError, f"Value after * must be an iterable, not {kind}")
    items = value.take(tx)
    target_of(tx, instruction).call_method(tx, "extend", [TupleVariable(items)], {})


@opcode("DICT_UPDATE")
def _dict_update(tx: Translator, instruction: Instruction) -> None:
    items = tx.pop()
    if not is_mapping(items):
        raise raise_new(TypeError, f"'{shown_name(items.python_type())}' object is not a mapping")
    target_of(tx, instruction).call_method(tx, "update", [items], {})


def is_mapping(value: Variable) -> bool:
    """Whether `**value` is allowed: the value has keys, or may have them."""
    return isinstance(value, OpaqueVariable) or hasattr(value.python_type(), "keys")


@opcode("DICT_MERGE")
def _dict_merge(tx: Translator, instruction: Instruction) -> None:
    """`f(**a, **b)`: it is an error if both have the same key."""
    value = tx.pop()
    target = target_of(tx, instruction)
    assert isinstance(target, DictVariable)
    function = realize(tx.stack[-argument(instruction) - 2])
    if not is_mapping(value):
        kind = value.python_type().__name__
        text = f"{full_name(tx, function)} argument after ** must be a mapping, not {kind}"
        raise raise_new(TypeError, text)
    for key, item in pairs_of(tx, value):
        if not issubclass(key.python_type(), str):
            raise raise_new(TypeError, "keywords must be strings")
        if target.find(tx, key) is not None:
            text = f"{full_name(tx, function)} got multiple values for keyword argument '{key.as_constant()}'"
            raise raise_new(TypeError, text)
        target.set_item(tx, key, item)


def full_name(tx: Translator, function: Variable) -> str:
    """The name of the function in errors of a call: with its module, unless this is `builtins`."""
    try:
        name, module = (function.get_attr(tx, n).as_constant() for n in ("__qualname__", "__module__"))
    except ObservedException:
        return f"{function.python_type().__name__} object"
    return f"{name}()" if module in (None, "builtins") else f"{module}.{name}()"
