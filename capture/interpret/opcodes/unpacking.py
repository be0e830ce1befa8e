"""Instructions that unpack containers and iterators.

In:  the container or iterator on the stack.
Out: its items on the stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.interpret.opcodes.collections import argument
from capture.interpret.opcodes.registry import opcode
from capture.variables.containers.lists import ListVariable
from capture.variables.core.base import Variable
from capture.variables.core.exception import raise_new
from capture.variables.core.shown_names import shown_name
from capture.variables.iterators.iterator import IteratorVariable
from capture.variables.iterators.user_iterator import UserIterator
from capture.variables.objects.user_object import iterates

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator


def _items(tx: Translator, value: Variable, wanted: int | None, before: int = 0) -> list[Variable]:
    """The items of an iterable. Like Python, this takes at most `wanted` + 1 items of an iterator. None: all;
    those behind `before` items are the list of it.
    """
    if not iterates(value):
        raise raise_new(TypeError, f"cannot unpack non-iterable {shown_name(value.python_type())} object")
    iterator = value.iterate(tx) if not hasattr(value, "items") else value
    if wanted is None and isinstance(iterator, UserIterator):
        return _first_and_rest(tx, iterator, before)
    if wanted is None or not isinstance(iterator, IteratorVariable):
        return iterator.unpack(tx)
    items: list[Variable] = []
    while len(items) <= wanted and (item := iterator.next_item(tx)) is not None:
        items.append(item)
    return items


def _first_and_rest(tx: Translator, iterator: UserIterator, before: int) -> list[Variable]:
    """Python makes a list of the iterator behind the first items, which asks it for an iterator again."""
    items: list[Variable] = []
    while len(items) < before:
        item = iterator.next_item(tx)
        if item is None:
            return items
        items.append(item)
    return [*items, *iterator.owner.iterate(tx).unpack(tx)]


@opcode("UNPACK_SEQUENCE")
def _unpack_sequence(tx: Translator, instruction: Instruction) -> None:
    count = argument(instruction)
    items = _items(tx, tx.pop(), count)
    if len(items) > count:
        raise raise_new(ValueError, f"too many values to unpack (expected {count})")
    if len(items) < count:
        raise raise_new(ValueError, f"not enough values to unpack (expected {count}, got {len(items)})")
    for item in reversed(items):
        tx.push(item)


@opcode("UNPACK_EX")
def _unpack_ex(tx: Translator, instruction: Instruction) -> None:
    before, after = argument(instruction) & 0xFF, argument(instruction) >> 8
    items = _items(tx, tx.pop(), None, before)
    if len(items) < before + after:
        raise raise_new(
            ValueError, f"not enough values to unpack (expected at least {before + after}, got {len(items)})"
        )
    end = len(items) - after
    for item in reversed(items[end:]):
        tx.push(item)
    tx.push(ListVariable(items[before:end]))
    for item in reversed(items[:before]):
        tx.push(item)
