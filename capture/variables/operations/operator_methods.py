"""Operators of built-in containers that are called as methods: `d.__or__(e)`, `super().__eq__(other)`.

In:  a container, the name of a method, and its arguments.
Out: the result of the operator, or of `__reduce__`.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.objects import copy_polyfills
from capture.variables.operations.equality import COMPARISONS, DUNDERS

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter

BINARY_NAMES = {"add": "+", "mul": "*", "or": "|", "and": "&", "sub": "-", "xor": "^", "mod": "%"}
#: name of a method -> (symbol of its operator, whether it swaps the operands, whether it works in place)
OPERATOR_METHODS: dict[str, tuple[str, bool, bool]] = (
    {name: (symbol, False, False) for symbol, name in DUNDERS.items()}
    | {f"__{name}__": (symbol, False, False) for name, symbol in BINARY_NAMES.items()}
    | {f"__r{name}__": (symbol, True, False) for name, symbol in BINARY_NAMES.items()}
    | {f"__i{name}__": (symbol, False, True) for name, symbol in BINARY_NAMES.items()}
)


def call_operator(tx: Interpreter, owner: Variable, name: str, args: list[Variable]) -> Variable | None:
    """`owner.__add__(other)` and similar methods, and `__reduce__` for `copy`.

    None if the class has no such operator.
    """
    if name in ("__reduce__", "__reduce_ex__") and owner.python_type() in copy_polyfills.REDUCED_CONTAINERS:
        return tx.wrap_function(copy_polyfills.reduce_container).call(tx, [owner], {})
    found = OPERATOR_METHODS.get(name)
    if found is None or len(args) != 1 or not hasattr(owner.python_type(), name):
        return None
    symbol, swapped, in_place = found
    other = args[0].plain_argument()
    if in_place and issubclass(owner.python_type(), TAKE_ITERABLES.get(symbol, ())):
        return tx.operate_in_place(symbol, owner, other)
    if not takes(owner, symbol, other):
        if symbol in ("+", "*"):  # the methods of sequences raise TypeError themselves
            raise GraphBreak("method", name=name, value=owner)
        return ConstantVariable(NotImplemented)
    if symbol in COMPARISONS:
        return tx.compare(symbol, owner, other)
    if in_place:
        return tx.operate_in_place(symbol, owner, other)
    left, right = (other, owner) if swapped else (owner, other)
    return tx.operate(symbol, left, right)


#: the in-place operators of these classes take the same values as their method `update` or `extend`
TAKE_ITERABLES: dict[str, tuple[type, ...]] = {
    "|": (dict,),
    "+": (list, collections.deque),
    "*": (list, collections.deque),
}


def takes(owner: Variable, symbol: str, other: Variable) -> bool:
    """Whether the built-in method supports this operand and does not return NotImplemented."""
    kinds = owner.python_type(), other.python_type()
    if symbol == "*":
        return issubclass(kinds[1], int)
    if symbol in COMPARISONS and symbol not in ("==", "!=") and issubclass(kinds[0], dict):
        return False
    families: tuple[tuple[type, ...], ...] = ((set, frozenset), (tuple,), (list,), (dict,), kinds[:1])
    family = next(f for f in families if issubclass(kinds[0], f))
    return issubclass(kinds[1], family)
