"""Guards of constants: an equal constant, an equal plain value, an int between bounds.

In:  a place and the value found there.
Out: `ConstantGuard`, `ContentsGuard`, `IntRangeGuard`.

    ConstantGuard.of(LocalSource("n"), 3)   ->   n == 3, exactly an int
"""

from __future__ import annotations

from typing import Any

from guards.conditions import INT64
from guards.encoder import Encoder
from guards.guard import GuardError, PlaceGuard
from guards.kinds.identity import ExactTypeGuard
from guards.lookup import isinstance_raw, safe_repr
from guards.sources import Source, StateSource
from guards.values import NUMPY_NUMBERS, PLAIN_VALUE, SINGLE_REFS, constants_equal, is_constant


class IntRangeGuard(PlaceGuard):
    """An exact int (not a bool) of 64 bits between two bounds. A bound of None is open."""

    cost = 13
    instruction = "CHECK_INT_RANGE"

    @classmethod
    def of(cls, source: Source, low: int | None, high: int | None) -> IntRangeGuard:
        return cls((source,), (low, high))

    def holds_for(self, value: Any) -> bool:
        low, high = self.operands()
        return type(value) is int and low <= value <= high

    def operands(self) -> list[int]:
        low, high = self.payload
        return [INT64[0] if low is None else low, INT64[-1] if high is None else high]

    @property
    def text(self) -> str:
        low, high = self.payload
        below, above = "" if low is None else f"{low} <= ", "" if high is None else f" <= {high}"
        return f"{below}{self.source.text}{above}"


class ConstantGuard(PlaceGuard):
    """An equal constant of the same type (see `guards.values.is_constant`), or an equal number of NumPy."""

    cost = 12
    implies = (ExactTypeGuard, IntRangeGuard)

    @classmethod
    def of(cls, source: Source, value: Any) -> ConstantGuard:
        if not is_constant(value) and type(value) not in NUMPY_NUMBERS:
            shown = f"{source.text} = {safe_repr(value)}"
            raise GuardError(f"{shown} is no constant: guard its parts, or guard its identity")
        return cls((source,), value)

    def holds_for(self, value: Any) -> bool:
        return constants_equal(self.payload, value)

    def encode(self, encoder: Encoder) -> None:
        value = self.payload
        if isinstance(self.source, StateSource):
            encoder.emit("CHECK_STATE", operands=[self.source.function, self.source.args, value])
            encoder.assembler.answers.append(len(encoder.assembler.words) - 1)
            return
        register = encoder.register_of(self.source)
        if type(value) is int and value in INT64:
            encoder.emit("CHECK_INT", b=register, operands=[value])
        elif value is None or type(value) is bool:
            encoder.emit("CHECK_ID", b=register, operands=[SINGLE_REFS[value]])
        else:
            encoder.emit("CHECK_CONSTANT", b=register, operands=[value])

    @property
    def text(self) -> str:
        return f"{self.source.text} == {safe_repr(self.payload)}"


class ContentsGuard(PlaceGuard):
    """An instance of a class on top of int, float, complex, str or bytes holds an equal plain value."""

    cost = 14
    instruction = "CHECK_CONTENTS"

    @classmethod
    def of(cls, source: Source, value: Any) -> ContentsGuard:
        base = next((base for base in PLAIN_VALUE if isinstance_raw(value, base)), None)
        if base is None:
            raise GuardError(f"{source.text} = {safe_repr(value)} holds no constant")
        return cls((source,), PLAIN_VALUE[base](value))

    def holds_for(self, value: Any) -> bool:
        base = type(self.payload)
        return isinstance_raw(value, base) and constants_equal(self.payload, PLAIN_VALUE[base](value))

    @property
    def text(self) -> str:
        return f"{self.source.text} holds {safe_repr(self.payload)}"
