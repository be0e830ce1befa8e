"""Ints that record how they were computed and which comparisons they decided.

In:  the present values of the numbers that a computation starts from.
Out: the computation as rows over those numbers, and the comparisons that it made. All numbers with the same
     results of the comparisons give the same rows.

    numbers = NumberRecorder([5]);   [n] = numbers.inputs
    max(8 * n, 16)   ->   8 * n, under the condition 8 * n > 16

So a planner for ints makes a plan for all sizes at once. The idea is concolic execution: Godefroid, Klarlund,
Sen, "DART: Directed Automated Random Testing", 2005.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

# `native/graph/plan_template.c` has the same numbers.
INPUT, CONSTANT, ADD, SUB, MUL, FLOORDIV, MOD, MAX = range(8)
LT, LE, EQ, NE = range(4)

ARITHMETIC: dict[int, Callable[[int, int], int]] = {
    ADD: operator.add, SUB: operator.sub, MUL: operator.mul, FLOORDIV: operator.floordiv, MOD: operator.mod,
    MAX: max,
}  # fmt: skip
COMPARISONS: dict[int, Callable[[int, int], bool]] = {
    LT: operator.lt,
    LE: operator.le,
    EQ: operator.eq,
    NE: operator.ne,
}
# `not a < b` is `b <= a`: the operands swap
NEGATED = {LT: (LE, True), LE: (LT, True), EQ: (NE, False), NE: (EQ, False)}
COMMUTATIVE = (ADD, MUL, MAX)


class NumberRecorder:
    """`rows`: (operation, left, right) of each number. Equal rows occur once.

    Operands are positions of earlier rows (for a CONSTANT: its value).
    `conditions`: the comparisons (comparison, left, right) that held.
    """

    def __init__(self, inputs: Iterable[int]) -> None:
        self.rows: list[tuple[int, int, int]] = []
        self.values: list[int] = []
        self.conditions: dict[tuple[int, int, int], None] = {}
        self._known: dict[tuple[int, int, int], int] = {}
        self.inputs = [self._number(INPUT, i, 0, value) for i, value in enumerate(inputs)]

    def _number(self, operation: int, left: int, right: int, value: int) -> OpenNumber:
        row = (operation, left, right)
        if row not in self._known:
            self._known[row] = len(self.rows)
            self.rows.append(row)
            self.values.append(value)
        return OpenNumber(self, self._known[row])

    def position(self, value: Any) -> int:
        if isinstance(value, OpenNumber):
            return value.position
        return self._number(CONSTANT, value, 0, value).position

    def compute(self, operation: int, left: Any, right: Any) -> OpenNumber:
        value = ARITHMETIC[operation](closed(left), closed(right))
        operands = self.position(left), self.position(right)
        one, other = sorted(operands) if operation in COMMUTATIVE else operands
        return self._number(operation, one, other, value)

    def decide(self, comparison: int, left: Any, right: Any) -> bool:
        holds = COMPARISONS[comparison](closed(left), closed(right))
        one, other = self.position(left), self.position(right)
        if one != other:
            if not holds:
                comparison, is_swapped = NEGATED[comparison]
                one, other = (other, one) if is_swapped else (one, other)
            self.conditions[comparison, one, other] = None
        return holds

    def needed(self, results: Iterable[OpenNumber]) -> tuple[list[tuple[int, int, int]], dict[int, int]]:
        """The rows that the results and the conditions depend on, and the new position of each old one."""
        wanted = {number.position for number in results}
        wanted.update(position for _, *operands in self.conditions for position in operands)
        for position in reversed(range(len(self.rows))):
            operation, *operands = self.rows[position]
            if position in wanted and operation not in (INPUT, CONSTANT):
                wanted.update(operands)
        places = {position: place for place, position in enumerate(sorted(wanted))}
        rows = []
        for position in places:
            operation, left, right = self.rows[position]
            is_leaf = operation in (INPUT, CONSTANT)
            rows.append((operation, left, right) if is_leaf else (operation, places[left], places[right]))
        return rows, places


def _arithmetic(operation: int) -> tuple[Any, Any]:
    def forward(self: OpenNumber, other: Any) -> Any:
        return self.recorder.compute(operation, self, other) if _is_number(other) else NotImplemented

    def reflected(self: OpenNumber, other: Any) -> Any:
        return self.recorder.compute(operation, other, self) if _is_number(other) else NotImplemented

    return forward, reflected


def _comparison(comparison: int, swapped: bool = False) -> Any:
    def compare(self: OpenNumber, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        pair = (other, self) if swapped else (self, other)
        return self.recorder.decide(comparison, *pair)

    return compare


class OpenNumber:
    """An int with a history. It is no `int`, so an operation that loses the history (index, format) fails."""

    __slots__ = ("position", "recorder")

    def __init__(self, recorder: NumberRecorder, position: int) -> None:
        self.recorder = recorder
        self.position = position

    @property
    def value(self) -> int:
        """The present value."""
        return self.recorder.values[self.position]

    __add__, __radd__ = _arithmetic(ADD)
    __sub__, __rsub__ = _arithmetic(SUB)
    __mul__, __rmul__ = _arithmetic(MUL)
    __floordiv__, __rfloordiv__ = _arithmetic(FLOORDIV)
    __mod__, __rmod__ = _arithmetic(MOD)
    __lt__, __le__ = _comparison(LT), _comparison(LE)
    __gt__, __ge__ = _comparison(LT, swapped=True), _comparison(LE, swapped=True)
    __eq__, __ne__ = _comparison(EQ), _comparison(NE)

    def __neg__(self) -> OpenNumber:
        return self.recorder.compute(SUB, 0, self)

    def __bool__(self) -> bool:
        return self.recorder.decide(NE, self, 0)

    def __hash__(self) -> int:
        return hash((OpenNumber, self.position))  # of the history: equal numbers of two histories stay apart

    def __repr__(self) -> str:
        return f"OpenNumber({self.value})"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, OpenNumber))


def closed(value: Any) -> Any:
    """The present int of an open number; other values unchanged."""
    return value.value if isinstance(value, OpenNumber) else value


def maximum(one: Any, other: Any) -> Any:
    """The larger number. `max` would decide which one that is, and record a condition."""
    if isinstance(one, OpenNumber):
        return one if one.position == one.recorder.position(other) else one.recorder.compute(MAX, one, other)
    return maximum(other, one) if isinstance(other, OpenNumber) else max(one, other)


def open_places(values: Sequence[Any]) -> list[tuple[int, OpenNumber]]:
    return [(place, value) for place, value in enumerate(values) if isinstance(value, OpenNumber)]
