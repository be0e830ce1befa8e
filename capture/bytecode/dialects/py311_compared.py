"""What the conditional jumps of CPython 3.11 compare.

In:  the instructions of a code object, and the index of one.
Out: the two numbers that it jumps on, if these can be read without running code of the program.

    if self.seen > 99: break     ->     Number("local", 0, ("seen",)), ">", Number("constant", 99, ()), False
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple

from capture.bytecode.dialects.py311_stack import BareInstruction


class Number(NamedTuple):
    """Where a number is: in a local or a cell (`what` is its place in the frame), in a global (its name), or
    in a constant (its value). Behind that come attributes.
    """

    where: str
    what: Any
    attributes: tuple[str, ...]


class Compared(NamedTuple):
    """The jump is taken if `left symbol right` has the value `jumps_if`."""

    left: Number
    symbol: str
    right: Number
    jumps_if: bool


#: instructions that load a variable or a constant
_LOADS: dict[str, tuple[str, Callable[[CodeType, int], Any]]] = {
    "LOAD_FAST": ("local", lambda code, arg: arg),
    "LOAD_DEREF": ("cell", lambda code, arg: arg),
    "LOAD_GLOBAL": ("global", lambda code, arg: code.co_names[arg >> 1]),
    "LOAD_NAME": ("global", lambda code, arg: code.co_names[arg]),  # of a module; a class body has others
    "LOAD_CONST": ("constant", lambda code, arg: code.co_consts[arg]),
}


def compared(code: CodeType, items: Sequence[BareInstruction], index: int) -> Compared | None:
    """What the instruction jumps on. None: something else, or it does not jump."""
    name, comparison = items[index].name, items[index - 1]
    if not name.startswith("POP_JUMP_") or not name.endswith(("_IF_TRUE", "_IF_FALSE")):
        return None
    if index < 3 or comparison.name != "COMPARE_OP":
        return None
    right, before = _number_at(code, items, index - 2)
    left, _ = _number_at(code, items, before)
    if left is None or right is None:
        return None
    return Compared(left, dis.cmp_op[comparison.arg or 0], right, name.endswith("_IF_TRUE"))


def _number_at(code: CodeType, items: Sequence[BareInstruction], index: int) -> tuple[Number | None, int]:
    """The number whose last instruction that is, and the index of the instruction in front of it."""
    attributes: list[str] = []
    while index > 0 and items[index].name == "LOAD_ATTR":
        attributes.insert(0, code.co_names[items[index].arg or 0])
        index -= 1
    where, what = _LOADS.get(items[index].name, ("", None)) if index >= 0 else ("", None)
    if what is None:
        return None, index
    return Number(where, what(code, items[index].arg or 0), tuple(attributes)), index - 1
