"""Instructions for items: `a[i]`, `a[i] = x`, `del a[i]`.

In:  the container and the key on the stack; for a store, the value, too.
Out: the variable of the item on the stack; for a store, a change of the container.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from capture.interpret.opcodes.operators import SIGNALS
from capture.interpret.opcodes.registry import opcode
from capture.sizes.counters import check_counter, counts_up
from capture.variables.containers.mapping import DictVariable
from capture.variables.operations.operators import del_item, get_item, set_item
from guards.sources import DictItemSource

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator


@opcode("BINARY_SUBSCR")
def _get_item(tx: Translator, instruction: Instruction) -> None:
    container, key = tx.pop_many(2)
    try:
        tx.push(get_item(tx, container, key))
    except SIGNALS as signal:
        raise tx.corrected(signal, operator.getitem, [container, key]) from None


@opcode("STORE_SUBSCR")
def _set_item(tx: Translator, instruction: Instruction) -> None:
    value, container, key = tx.pop_many(3)
    try:
        set_item(tx, container, key, value)
    except SIGNALS as signal:
        raise tx.corrected(signal, operator.setitem, [container, key, value]) from None
    source = container.source if isinstance(container, DictVariable) else None
    if source is not None and counts_up(tx, value) and key.is_constant():
        check_counter(tx, DictItemSource(source, key.as_constant()), value)


@opcode("DELETE_SUBSCR")
def _del_item(tx: Translator, instruction: Instruction) -> None:
    container, key = tx.pop_many(2)
    try:
        del_item(tx, container, key)
    except SIGNALS as signal:
        raise tx.corrected(signal, operator.delitem, [container, key]) from None
