"""Positions in the narrowest integers that hold them.

In:  the loops of a kernel. Its index values are i64.
Out: the same loops. Index values are in i8, i16 or i32 if they fit, but not narrower than the data of the
     kernel. Comparisons with one result for all positions are constants.

    for j in 703 vector:                                      for j in 703 vector:
      %1 = index j + -1 : i64; %2 = lt %1, 700 : b8     ->      %1 = index j + -1 : i16; %2 = lt %1, 700 : b8
      %3 = load x[j + -1] if %2 (b8)                            %3 = load x[j + -1] if %2 (b8)

A register of positions then has as many lanes as a register of data: eight times as many here. The pass
changes only values that such arithmetic alone reads. Values that are stored, added up or part of an address
stay i64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from codegen.kernel import ir
from codegen.kernel.ops import TORCH_DTYPES

Interval = tuple[int, int]
WIDTHS = (("i8", 1), ("i16", 2), ("i32", 4))
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_OF_DTYPE: dict[str, Interval] = {
    "b8": (0, 1),
    "u8": (0, 255),
    "i8": (-(1 << 7), (1 << 7) - 1),
    "i16": (-(1 << 15), (1 << 15) - 1),
    "i32": (-(1 << 31), (1 << 31) - 1),
}


def narrow_indices(body: list[ir.Stmt]) -> list[ir.Stmt]:
    """The statements of a kernel. Loops are changed in place."""
    if not any(isinstance(s, ir.IndexOp) for s in _all(body)):
        return body
    values = _Values()
    values.walk(body, {})
    chosen = values.chosen(_size_of_data(body, values))
    return without_unused(_Rewriting(values, chosen).block(body)) if chosen or values.decided else body


def _all(body: list[ir.Stmt]) -> Iterator[ir.Stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ir.Loop):
            yield from _all(statement.body)


class _Values:
    """The known facts about the i64 values of a kernel.

    ranges:   by number, the least and the largest value; a missing number may have any value
    wide:     the values that must stay i64
    group:    by value, the next one on the way to the representative of all values that share a type
    beside:   constants that an operation takes together with a value
    decided:  comparisons with a known result
    """

    def __init__(self) -> None:
        self.ranges: dict[int, Interval] = {}
        self.constants: dict[int, int] = {}
        self.defined: set[int] = set()
        self.wide: set[int] = set()
        self.group: dict[int, int] = {}
        self.beside: list[tuple[int, int]] = []
        self.decided: dict[int, bool] = {}

    def walk(self, body: list[ir.Stmt], extents: dict[str, Interval]) -> None:
        for s in body:
            if isinstance(s, ir.Loop):
                last = expression_range(s.extent, extents)
                inner = {**extents, s.axis: (0, max(0, last[1] - 1))} if last is not None else extents
                self.walk(s.body, inner)
            elif isinstance(s, ir.IndexOp):
                self._define(s.number, expression_range(s.index, extents))
            elif isinstance(s, ir.ConstOp):
                if s.dtype == "i64":
                    self.constants[s.number] = int(s.value)
                    self.ranges[s.number] = (int(s.value), int(s.value))
            elif isinstance(s, ir.Op):
                self._operation(s)
            self.wide.update(_read_as_i64(s))

    def _define(self, number: int, found: Interval | None) -> None:
        self.defined.add(number)
        if found is None or not _fits(found, "i32"):
            self.wide.add(number)
        else:
            self.ranges[number] = _both(found, self.ranges.get(number, found))

    def _operation(self, op: ir.Op) -> None:
        operands = op.args[1:] if op.name == "where" else op.args
        args = [self.ranges.get(number) for number in operands]
        if op.name in COMPARISONS:
            if all(number in self.ranges for number in operands):
                self._decide(op, *(found for found in args if found is not None))
            self._join(operands)
        elif op.dtype == "i64" and op.name == "cast":
            self._define(op.number, None)
        elif op.dtype == "i64":
            rule = _RANGES.get(op.name)
            known = [found for found in args if found is not None]
            self._define(op.number, rule(*known) if rule and len(known) == len(args) else None)
            self._join((op.number, *operands))

    def _decide(self, op: ir.Op, left: Interval, right: Interval) -> None:
        answers = {
            "lt": (left[1] < right[0], left[0] >= right[1]),
            "le": (left[1] <= right[0], left[0] > right[1]),
            "gt": (left[0] > right[1], left[1] <= right[0]),
            "ge": (left[0] >= right[1], left[1] < right[0]),
        }
        always, never = answers.get(op.name, (False, False))
        if always or never:
            self.decided[op.number] = always

    def _join(self, numbers: tuple[int, ...]) -> None:
        """Give all of them one type. A constant has the type of each of its uses."""
        varying = [number for number in numbers if number not in self.constants]
        for number in varying[1:]:
            self.group[self.stands_for(number)] = self.stands_for(varying[0])
        self.beside += [(varying[0], number) for number in numbers if varying and number in self.constants]

    def stands_for(self, number: int) -> int:
        while (next_one := self.group.get(number, number)) != number:
            number = next_one
        return number

    def chosen(self, least: int) -> dict[int, str]:
        """The new type of each value that changes, by number."""
        groups: dict[int, list[int]] = {}
        for number in self.defined:
            groups.setdefault(self.stands_for(number), []).append(number)
        for number, constant in self.beside:
            groups.setdefault(self.stands_for(number), []).append(constant)
        wide = {self.stands_for(number) for number in self.wide}
        found: dict[int, str] = {}
        for first, members in groups.items():
            if first in wide:
                continue
            for dtype, size in WIDTHS:
                if size >= least and all(_fits(self.ranges[number], dtype) for number in members):
                    found.update((number, dtype) for number in members if number in self.defined)
                    break
        return found


def _read_as_i64(s: ir.Stmt) -> Iterator[int]:
    """The values that the statement needs as i64."""
    if isinstance(s, (ir.Load, ir.Store, ir.IndexOp)):
        yield from _indirect(s.index)
    if isinstance(s, ir.Store):
        yield s.value
    elif isinstance(s, ir.Load):
        yield s.number
    elif isinstance(s, (ir.ScanStep, ir.Update)):
        yield s.value
        if isinstance(s, ir.Update) and s.index is not None:
            yield s.index
        if isinstance(s, ir.ScanStep):
            yield s.number
    elif isinstance(s, ir.ReadAccumulator):
        yield s.number


def _indirect(index: ir.Expr) -> Iterator[int]:
    if isinstance(index, ir.Indirect):
        yield index.value
    elif isinstance(index, ir.Binary):
        yield from _indirect(index.left)
        yield from _indirect(index.right)


def _fits(found: Interval, dtype: str) -> bool:
    least, largest = _OF_DTYPE[dtype]
    return least <= found[0] and found[1] <= largest


# --- ranges -----------------------------------------------------------------------------------------------


def expression_range(index: ir.Expr, extents: dict[str, Interval]) -> Interval | None:
    """The least and the largest value of an index expression.

    None if they are not known, or if a part of the expression does not fit into an i32.
    """
    if isinstance(index, ir.Const):
        return (index.value, index.value)
    if isinstance(index, ir.AxisVar):
        return extents.get(index.name)
    if not isinstance(index, ir.Binary):
        return None
    left, right = expression_range(index.left, extents), expression_range(index.right, extents)
    if index.op == "min" and None in (left, right):  # an unknown size is at least 0
        known = left or right
        return None if known is None else (min(0, known[0]), known[1])
    if left is None or right is None:
        return None
    if index.op in ("floordiv", "mod") and not isinstance(index.right, ir.Const):
        return None
    found = _RANGES[index.op](left, right)
    return found if found is not None and _fits(found, "i32") else None


def _both(left: Interval, right: Interval) -> Interval:
    return min(left[0], right[0]), max(left[1], right[1])


def _product(left: Interval, right: Interval) -> Interval:
    corners = [x * y for x in left for y in right]
    return min(corners), max(corners)


def _quotient(left: Interval, right: Interval) -> Interval | None:
    divisor = right[0]
    return (left[0] // divisor, left[1] // divisor) if right == (divisor, divisor) and divisor > 0 else None


def _remainder(left: Interval, right: Interval) -> Interval | None:
    divisor = right[0]
    if right != (divisor, divisor) or divisor <= 0:
        return None
    return left if left[0] >= 0 and left[1] < divisor else (0, divisor - 1)


_RANGES: dict[str, Callable[..., Interval | None]] = {
    "add": lambda left, right: (left[0] + right[0], left[1] + right[1]),
    "sub": lambda left, right: (left[0] - right[1], left[1] - right[0]),
    "mul": _product,
    "neg": lambda only: (-only[1], -only[0]),
    "abs": lambda only: (0 if only[0] <= 0 <= only[1] else min(map(abs, only)), max(map(abs, only))),
    "min": lambda left, right: (min(left[0], right[0]), min(left[1], right[1])),
    "max": lambda left, right: (max(left[0], right[0]), max(left[1], right[1])),
    "floordiv": _quotient,
    "mod": _remainder,
    "where": _both,
}


# --- the size of the data ---------------------------------------------------------------------------------


def _size_of_data(body: list[ir.Stmt], values: _Values) -> int:
    """The bytes of the widest element other than positions. If there are floats, only they count."""
    dtypes: set[str] = set()
    for s in _all(body):
        if isinstance(s, (ir.Load, ir.Accumulator)):
            dtypes.add(s.dtype)
        if isinstance(s, (ir.Op, ir.ConstOp, ir.IndexOp)) and (s.dtype != "i64" or s.number in values.wide):
            dtypes.add(s.dtype)
    floats = dtypes & {"f32", "f64"}
    return max((TORCH_DTYPES[dtype].itemsize for dtype in floats or dtypes), default=1)


# --- the new statements -----------------------------------------------------------------------------------


class _Rewriting:
    """`typed`: by constant and type, the number of the constant in that type."""

    def __init__(self, values: _Values, chosen: dict[int, str]) -> None:
        self.values = values
        self.chosen = chosen
        self.typed: dict[tuple[int, str], int] = {}

    def block(self, body: list[ir.Stmt]) -> list[ir.Stmt]:
        for s in _all(body):
            if isinstance(s, ir.Op):
                for number in s.args:
                    self._note_constant(number, self._type_of(s))
        return self._block(body)

    def _type_of(self, op: ir.Op) -> str | None:
        """The narrow type of its operands."""
        typed = (self.chosen.get(number) for number in (op.number, *op.args))
        return next((dtype for dtype in typed if dtype is not None), None)

    def _note_constant(self, number: int, dtype: str | None) -> None:
        if dtype is not None and number in self.values.constants:
            self.typed.setdefault((number, dtype), self._new_number())

    def _new_number(self) -> int:
        """A number that the kernel does not have: its own are not negative. `renumber` runs afterwards."""
        return -1 - len(self.typed)

    def _block(self, body: list[ir.Stmt]) -> list[ir.Stmt]:
        result: list[ir.Stmt] = []
        for s in body:
            if isinstance(s, ir.Loop):
                s.body = self._block(s.body)
            result += self._statement(s)
        return result

    def _statement(self, s: ir.Stmt) -> list[ir.Stmt]:
        if isinstance(s, ir.ConstOp) and s.number in self.values.constants:
            typed = [
                ir.ConstOp(number, s.value, dtype)
                for (constant, dtype), number in self.typed.items()
                if constant == s.number
            ]
            return [s, *typed]
        if isinstance(s, ir.IndexOp) and s.number in self.chosen:
            return [replace(s, dtype=self.chosen[s.number])]
        if isinstance(s, ir.Op) and s.number in self.values.decided:
            return [ir.ConstOp(s.number, self.values.decided[s.number], "b8")]
        if isinstance(s, ir.Op) and (dtype := self._type_of(s)) is not None:
            args = tuple(self.typed.get((number, dtype), number) for number in s.args)
            return [replace(s, args=args, dtype=self.chosen.get(s.number, s.dtype))]
        return [s]


def without_unused(body: list[ir.Stmt]) -> list[ir.Stmt]:
    """The statements without values that nothing reads."""
    used: set[int] = set()
    return _used(body, used)


def _used(body: list[ir.Stmt], used: set[int]) -> list[ir.Stmt]:
    result: list[ir.Stmt] = []
    for s in reversed(body):
        if isinstance(s, ir.Loop):
            s.body = _used(s.body, used)
        elif isinstance(s, (ir.Op, ir.ConstOp, ir.IndexOp)) and s.number not in used:
            continue
        used.update(_read(s))
        result.append(s)
    return result[::-1]


def _read(s: ir.Stmt) -> Iterator[int]:
    """The values that a statement needs."""
    if isinstance(s, (ir.Load, ir.Store, ir.IndexOp)):
        yield from _indirect(s.index)
    if isinstance(s, ir.Loop):
        yield from _indirect(s.extent)
    elif isinstance(s, ir.Op):
        yield from s.args
    elif isinstance(s, (ir.Store, ir.Update, ir.ScanStep)):
        yield s.value
    elif isinstance(s, ir.Check):
        yield s.condition
    mask = s.mask if isinstance(s, (ir.Load, ir.Store)) else s.index if isinstance(s, ir.Update) else None
    if mask is not None:
        yield mask
