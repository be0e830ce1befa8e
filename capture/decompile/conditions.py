"""The jumps that depend on a value.

In:  a reader, which stands at a jump.
Out: a `Fork`: the condition under which the jump is not taken, and the stacks on both sides.

    POP_JUMP_FORWARD_IF_FALSE, with x on the stack    ->    Fork("x", "not x", ...)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from capture.decompile.expressions import NAME, Item
from capture.decompile.reader import Reader
from capture_records import dataclass


@dataclass(frozen=True)
class Fork:
    """condition: holds where the jump is not taken. `asks`: it may run code, and raise."""

    condition: str
    negation: str
    stack: tuple[Item, ...]
    stack_at_target: tuple[Item, ...]
    asks: bool = False

    def tried(self, reader: Reader) -> Fork:
        """The fork behind a try block, in which the condition is asked."""
        if not self.asks:
            return self
        name = reader.temporary()
        reader.statement(f"{name} = {reader.names.object(bool)}({self.condition})")
        return replace(self, condition=name, negation=f"not {name}")


CONDITIONS: dict[str, Callable[[Reader], Fork]] = {}

Make = Callable[[Reader], Fork]


def opcode(*names: str) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        CONDITIONS.update(dict.fromkeys(names, make))
        return make

    return register


def _on_truth(reader: Reader, jumps_if: bool, pops: tuple[bool, bool]) -> Fork:
    """`pops`: whether the value leaves the stack where the jump is not taken, and where it is."""
    if not all(pops):
        reader.name_top()
    item = reader.pop()
    reader.settle()
    texts = [item.text, f"not {item.operand}"]
    if jumps_if:
        texts.reverse()
    below = tuple(reader.stack)
    stacks = [below if popped else (*below, item) for popped in pops]
    return Fork(texts[0], texts[1], stacks[0], stacks[1], asks=True)


@opcode("POP_JUMP_FORWARD_IF_FALSE")
def if_false(reader: Reader) -> Fork:
    return _on_truth(reader, False, (True, True))


@opcode("POP_JUMP_FORWARD_IF_TRUE")
def if_true(reader: Reader) -> Fork:
    return _on_truth(reader, True, (True, True))


@opcode("JUMP_IF_FALSE_OR_POP")
def if_false_or_pop(reader: Reader) -> Fork:
    return _on_truth(reader, False, (True, False))


@opcode("JUMP_IF_TRUE_OR_POP")
def if_true_or_pop(reader: Reader) -> Fork:
    return _on_truth(reader, True, (True, False))


def _on_none(reader: Reader, jumps_if: bool) -> Fork:
    reader.settle()
    item = reader.pop()
    texts = [f"{item.operand} is not None", f"{item.operand} is None"]
    if not jumps_if:
        texts.reverse()
    below = tuple(reader.stack)
    return Fork(texts[0], texts[1], below, below)


@opcode("POP_JUMP_FORWARD_IF_NONE")
def if_none(reader: Reader) -> Fork:
    return _on_none(reader, True)


@opcode("POP_JUMP_FORWARD_IF_NOT_NONE")
def if_not_none(reader: Reader) -> Fork:
    return _on_none(reader, False)


class ENDED:
    """Stands for the next item of an iterator that has none."""


@opcode("FOR_ITER")
def next_item(reader: Reader) -> Fork:
    reader.name_top()
    iterator = reader.stack[-1]
    name, ended = reader.temporary(), reader.names.object(ENDED)
    reader.statement(f"{name} = next({iterator.text}, {ended})")
    item = Item(name, NAME, frozenset((name,)))
    return Fork(
        f"{name} is not {ended}", f"{name} is {ended}", (*reader.stack, item), tuple(reader.stack[:-1])
    )
