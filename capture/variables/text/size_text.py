"""Texts that contain sizes, `f"{x.shape[0]} rows"`, and texts of the caller that change.

In:  a Python function that returns a text, and its arguments. Some arguments are symbolic numbers or shapes.
Out: a constant if no argument is symbolic, otherwise a `SizeTextVariable`. The sizes stay symbolic until the
     program looks at the characters. An existing text that had several values is a `ChangingText`.

    message = f"{x.shape}"; print(message)   ->   x.shape stays symbolic: bytecode makes the text behind the
                                                  graph
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.sequence import SizeVariable, holds_symbols
from capture.variables.core.base import Variable, realize
from capture.variables.core.constant import ConstantVariable, fold
from capture.variables.numbers import late_values
from capture.variables.numbers.symbolic import is_symbolic
from guards.kinds.constants import ConstantGuard

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source


class SizeTextVariable(Variable):
    """`function(*operands)`. A read of the text fixes the sizes by guards."""

    def __init__(self, function: Callable[..., str], operands: list[Variable]) -> None:
        super().__init__(None)
        self.function = function
        self.operands = operands
        self._known: ConstantVariable | None = None

    def known(self) -> ConstantVariable:
        if self._known is None:
            self._known = ConstantVariable(self.function(*[o.as_constant() for o in self.operands]))
        return self._known

    def python_type(self) -> type:
        return str

    def describe(self) -> str:
        return "a text made of sizes"

    def is_constant(self) -> bool:
        return True

    def open_dims(self) -> frozenset[int] | None:
        return frozenset()

    def as_constant(self) -> Any:
        return self.known().value

    def truth(self, tx: Interpreter) -> bool:
        return self.known().truth(tx)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        return self.known().get_attr(tx, name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        return self.known().call_method(tx, name, args, kwargs)

    def unpack(self, tx: Interpreter) -> list[Variable]:
        return self.known().unpack(tx)

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(self.function, self.operands)

    def children(self) -> list[Variable]:
        return list(self.operands)


class ChangingText(SizeTextVariable):
    """An existing text. A guard fixes it when the program looks at the characters."""

    one_per_object = False

    def __init__(self, output: Output, value: str, source: Source) -> None:
        super().__init__(str, [])
        self.source = source
        self.output = output
        self.value = value

    def known(self) -> ConstantVariable:
        if self._known is None:
            assert self.source is not None
            self.output.guards.add(ConstantGuard.of(self.source, self.value))
            self._known = ConstantVariable(self.value)
            self._known.existing, self._known.guards = self.source, self.output.guards
        return self._known

    def describe(self) -> str:
        return self.source.text if self.source is not None else super().describe()


def is_open(tx: Interpreter, value: Variable) -> bool:
    """Whether the value is a symbolic number or a late one, or a shape or text that contains one."""
    value = realize(value)
    if isinstance(value, SizeVariable):
        return holds_symbols(tx, value)
    return isinstance(value, SizeTextVariable) or is_symbolic(value) or late_values.is_late(value)


def text_of(tx: Interpreter, function: Callable[..., str], operands: list[Variable]) -> Variable:
    """`function(*operands)`. Each operand is a constant or `is_open`."""
    if late_values.is_among(operands):
        late = late_values.made(function, operands)
        if late is None:
            raise GraphBreak("builtin", name=function.__name__, value=operands[0])
        return late
    if any(is_open(tx, operand) for operand in operands) and not _may_raise(function, operands):
        return SizeTextVariable(function, operands)
    return fold(function, operands, {})


def _may_raise(function: Callable[..., str], operands: list[Variable]) -> bool:
    """Whether it raises for samples of the numbers: Python raises where the program makes the text."""
    if not all(is_symbolic(operand) or isinstance(operand, ConstantVariable) for operand in operands):
        return False
    samples = [held for operand in operands if (held := late_values.samples_of(operand)) is not None]
    if len(samples) < len(operands):  # of a size that only the run knows
        return False
    try:
        for given in zip(*samples):
            function(*given)
    except Exception:
        return True
    return False


def joined(*parts: str) -> str:
    """The value of an f-string."""
    return "".join(parts)
