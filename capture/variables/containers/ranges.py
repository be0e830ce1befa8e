"""Ranges and slices.

In:  a range, or the parts start, stop and step.
Out: a `RangeVariable` or a `SliceVariable`.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from capture.variables.callables.value_method import method_of_value, missing_method
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable, fold
from capture.variables.core.makers import constant, makes, makes_constant
from capture.variables.iterators.iterator import ChangingIterator, RangeIterator
from capture.variables.numbers.symbolic import is_symbolic

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


BOUNDS = ("start", "stop", "step")


@makes(range)
@makes_constant(range)
class RangeVariable(Variable):
    """A range. `parts` are its bounds where they may be symbolic; then `value` is for their present values.

    A read of one bound leaves it symbolic. Any other use fixes all bounds by guards.
    """

    def __init__(
        self, value: range, source: Source | None = None, parts: list[Variable] | None = None
    ) -> None:
        super().__init__(source)
        self._value = value
        self.parts = parts

    @property
    def value(self) -> range:
        for part in self.parts or ():
            part.as_constant()
        return self._value

    def python_type(self) -> type:
        return range

    def describe(self) -> str:
        return "range"

    def is_constant(self) -> bool:
        return True

    def as_constant(self) -> Any:
        return self.value

    def truth(self, tx: Interpreter) -> bool:
        return bool(self.value)

    def length(self, tx: Interpreter) -> int:
        return len(self.value)

    def unpack(self, tx: Interpreter) -> list[Variable]:
        return [ConstantVariable(i) for i in self.value]

    def get_item(self, tx: Interpreter, key: Variable) -> Variable:
        return fold(operator.getitem, [self, key], {})

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name in BOUNDS and self.parts is not None:
            return self.parts[BOUNDS.index(name)]
        if name in BOUNDS:
            return fold(getattr, [self, ConstantVariable(name)], {})
        return method_of_value(tx, self, name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name == "__iter__" and not args:
            return self.iterate(tx)
        if not callable(getattr(range, name, None)):
            raise missing_method(self, name)
        return fold(getattr(self.value, name), args, kwargs)

    def iterate(self, tx: Interpreter) -> Variable:
        symbolic = any(map(is_symbolic, self.parts or ()))
        if tx.output.symbols.policy.loop_varies(tx.code, tx.index, len(self._value), symbolic):
            return ChangingIterator(self)
        return RangeIterator(self.value)

    def reconstruct(self, code: PythonCode) -> None:
        bounds = (self._value.start, self._value.stop, self._value.step)
        code.call_object(range, self.parts or [ConstantVariable(v) for v in bounds])


class SliceVariable(Variable):
    """`slice(start, stop, step)`. The parts may be tensors, for an index of a tensor."""

    def __init__(self, parts: list[Variable], source: Source | None = None) -> None:
        super().__init__(source)
        self.parts = parts

    def python_type(self) -> type:
        return slice

    def as_constant(self) -> Any:
        return slice(*[p.as_constant() for p in self.parts])

    def is_constant(self) -> bool:
        return all(p.is_constant() for p in self.parts)

    def as_proxy(self) -> Any:
        return slice(*[p.as_proxy() for p in self.parts])

    def truth(self, tx: Interpreter) -> bool:
        return True

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        return self.parts[BOUNDS.index(name)] if name in BOUNDS else method_of_value(tx, self, name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if not callable(getattr(slice, name, None)):
            raise missing_method(self, name)
        return fold(getattr(slice, name), [self, *args], kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        for part in self.parts:
            code.load(part)
        code.build_slice()

    def children(self) -> list[Variable]:
        return list(self.parts)


@makes_constant(slice)
def _constant_slice(value: slice) -> SliceVariable:
    return SliceVariable([constant(part) for part in (value.start, value.stop, value.step)])
