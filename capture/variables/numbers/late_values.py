"""Numbers that the program reads from tensors, and texts and numbers made of them, computed behind the graph.

In:  `x.item()`, `float(x)`, `int(x)`, `bool(x)`, `f"{x}"` or `str(x)`, and operations of Python on the
     results.
Out: a `LateVariable`. No node of the graph reads it: Python computes it when the graph has run.

    total += loss.item(); print(f"{total:.3f}")   ->   after the graph: total + out_0.item(), and its text

Python makes the same calls in the same order, only later. So each of them must give a result for every
value of the tensors, and must see the tensors as they were. The first is checked with samples of extreme
values, the second with the counters of writes. What needs the value during the translation breaks the graph.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from capture.graph.inputs import version_of
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable, realize
from capture.variables.core.constant import ConstantVariable
from capture.variables.numbers.symbolic import SymbolicVariable, decide, is_symbolic, is_unbacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter
    from capture.variables.tensors.tensor import TensorVariable

Samples = tuple[Any, ...]

#: Values for which operations raise if they raise for any value of the type.
SAMPLES: dict[type, Samples] = {
    float: (1.5, float("nan"), float("inf"), -1e308, 0.0),
    int: (3, -(2**63), 0, 2**63, 1),
    bool: (True, False, True, False, True),
    str: ("", "a", "%", "{}", "1"),
}
COUNT = len(SAMPLES[float])


class LateVariable(Variable):
    """`function(*operands)`: a float, int, bool or str that no node of the graph reads."""

    born: int | None  # None: a break at the place where the value is needed is as good as one at the read
    identity_known = False
    never_none = True
    one_per_object = False

    def __init__(
        self, function: Callable[..., Any], operands: Sequence[Variable], samples: Samples, born: int | None
    ) -> None:
        super().__init__()
        self.function = function
        self.operands = list(operands)
        self.samples = samples
        self.born = born

    def python_type(self) -> type:
        return type(self.samples[0])

    def describe(self) -> str:
        return f"{self.python_type().__name__} made of values of tensors"

    def truth(self, tx: Interpreter) -> bool:
        raise GraphBreak("data_dependent_jump")

    def as_proxy(self) -> Any:
        raise self.breaks()

    def open_dims(self) -> frozenset[int] | None:
        return frozenset()

    def breaks(self) -> GraphBreak:
        """The break for a value that the graph needs. Python computes the value before it goes on."""
        signal = GraphBreak("data_dependent_value", what="an operation on a number read from a tensor")
        signal.born = self.born
        return signal

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(self.function, self.operands)

    def children(self) -> list[Variable]:
        return list(self.operands)


class LateRead(LateVariable):
    """A number or a text read from a tensor, as the tensor is now."""

    def __init__(
        self, function: Callable[..., Any], tensor: TensorVariable, samples: Samples, born: int
    ) -> None:
        super().__init__(function, [tensor], samples, born)
        self.tensor = tensor
        self.node = tensor.node
        self.version = version_of(tensor.fake)

    def describe(self) -> str:
        return f"{self.python_type().__name__} of {self.tensor.describe()}"

    def is_current(self) -> bool:
        """Whether the tensor still holds the number."""
        return self.tensor.node is self.node and version_of(self.tensor.fake) == self.version

    def reconstruct(self, code: PythonCode) -> None:
        if not self.is_current():
            raise self.breaks()  # the frame writes to the tensor after the read
        super().reconstruct(code)


def is_late(variable: Variable) -> bool:
    return isinstance(variable, LateVariable)


def check_unneeded(values: Iterable[Variable]) -> None:
    """Break the graph at the read of a late value if a function that can't wait gets it."""
    for value in values:
        if isinstance(value, LateVariable):
            raise value.breaks()


def is_among(values: Sequence[Variable]) -> bool:
    return any(map(is_late, values))


# --- reads ------------------------------------------------------------------------------------------------

NUMBERS: dict[torch.dtype, type] = dict.fromkeys(
    (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64), int
) | dict.fromkeys((torch.float16, torch.bfloat16, torch.float32, torch.float64), float)
NUMBERS[torch.bool] = bool


def read_number(tx: Interpreter, name: str, tensor: TensorVariable) -> Variable | None:
    """`tensor.item()`, `float(tensor)`, `int(tensor)` or `bool(tensor)` behind the graph. None if that is not
    possible.
    """
    kind = NUMBERS.get(tensor.fake.dtype)
    one = all(type(size) is int and size == 1 for size in tensor.fake.shape)
    if kind is None or not one or not _is_readable(tx, tensor):
        return None
    number = _read(tx, torch.Tensor.item, tensor, SAMPLES[kind])
    wanted = CONVERSIONS[name] or kind
    return number if wanted is kind else compute(wanted, [number])


#: method of a tensor -> the type that it converts the number to
CONVERSIONS: dict[str, type | None] = {"item": None, "__float__": float, "__int__": int, "__bool__": bool}


def read_text(tx: Interpreter, tensor: TensorVariable) -> Variable | None:
    """`str(tensor)` behind the graph. With a gradient, the text has the name of eager's node."""
    if tensor.fake.requires_grad or not _is_readable(tx, tensor):
        return None
    return _read(tx, str, tensor, SAMPLES[str])


def _is_readable(tx: Interpreter, tensor: TensorVariable) -> bool:
    plain = (
        tensor.cls is torch.Tensor and type(tensor.fake) is FakeTensor and not tx.output.modes.function_modes
    )
    return (
        plain
        and tensor.identity_known
        and tensor.fake.device.type == "cpu"
        and tensor.fake.layout is torch.strided
        and version_of(tensor.fake) is not None
    )


def _read(tx: Interpreter, function: Any, tensor: TensorVariable, samples: Samples) -> LateVariable:
    tx.output.side_effects.note_late_read()
    return LateRead(function, tensor, samples, tx.output.root_step)


# --- operations -------------------------------------------------------------------------------------------

#: functions that Python may call later on any numbers, if they raise for none of the samples
TOTAL: frozenset[Any] = frozenset(
    [operator.add, operator.sub, operator.mul, operator.neg, operator.pos, abs, float, bool, operator.not_]
    + [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]
)
DIVISIONS: frozenset[Any] = frozenset((operator.truediv, operator.floordiv, operator.mod))


def compute(function: Any, operands: Sequence[Variable]) -> LateVariable | None:
    """`function(*operands)`, at least one of them late. None if it may raise, or if there is no rule."""
    operands = [realize(operand) for operand in operands]
    if not is_among(operands):
        return None
    numbers = [operand.python_type() in (int, float, bool) for operand in operands]
    of_numbers = all(numbers) and (function in TOTAL or _is_division(function, operands))
    of_texts = function is operator.add and not any(numbers)
    rounds = function is round and len(operands) == 2 and _is_positive(operands[1])
    to_int = function is int and operands[0].python_type() in (int, bool)
    return made(function, operands) if of_numbers or of_texts or rounds or to_int else None


def _is_division(function: Any, operands: Sequence[Variable]) -> bool:
    """Whether it is a division by a number other than zero. A guard keeps a symbol from zero."""
    divisor = operands[-1]
    if function not in DIVISIONS:
        return False
    if isinstance(divisor, SymbolicVariable) and divisor.python_type() is int:
        return not divisor.is_unbacked and bool(decide(bool, divisor.value))
    return isinstance(divisor, ConstantVariable) and divisor.value != 0


def _is_positive(digits: Variable) -> bool:
    return isinstance(digits, ConstantVariable) and type(digits.value) is int and 0 <= digits.value < 100


def made(function: Any, operands: Sequence[Variable]) -> LateVariable | None:
    """`function(*operands)` for a function without side effects. None if it raises for one of the samples."""
    samples = [samples_of(operand) for operand in operands]
    if any(held is None for held in samples):
        return None
    if function in DIVISIONS and is_symbolic(operands[-1]):
        samples[-1] = tuple(number or 1 for number in samples[-1] or ())  # by `_is_division`
    try:
        results = tuple(function(*given) for given in zip(*samples))
    except Exception:  # the program's operation may raise, so Python carries it out
        return None
    kind = type(results[0])
    if kind not in SAMPLES or any(type(result) is not kind for result in results):
        return None
    reads = [o.born for o in operands if isinstance(o, LateVariable) and o.born is not None]
    return LateVariable(function, operands, results, min(reads, default=None))


def samples_of(operand: Variable) -> Samples | None:
    """Values that the operand may have. None if it may have a value of another type."""
    if isinstance(operand, LateVariable):
        return operand.samples
    if isinstance(operand, ConstantVariable):
        return (operand.value,) * COUNT
    of_sizes = is_symbolic(operand) or (operand.python_type() is str and operand.is_constant())
    return SAMPLES[operand.python_type()] if of_sizes and not is_unbacked(operand) else None
