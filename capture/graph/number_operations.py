"""Operations of the graph on Python floats that exist only when the graph runs.

In:  0-d float64 tensors that stand for Python floats (the step count of an optimizer), tensors, numbers.
Out: functions that are targets of graph nodes. On real tensors they do exactly what Python does, to the last
     bit. When a compiler traces them on fake tensors, they are tensor operations of the same precision.

    step = counter.item(); p.addcdiv_(m, d, value=-lr / (1 - b ** step))   ->
    float_of(counter), float_operation("pow", b, step), ...,
    method_with_floats("addcdiv_", ("value",), p, m, d, value=...)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from capture.graph.number_forms import TRACED_FORMS
from capture.graph.number_places import FUNCTIONS, dtype_of_numbers, largest_number

PYTHON_OPERATIONS: dict[str, Callable[..., Any]] = {
    name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "pow", "neg", "pos")
}
OPERATION_NAMES = {getattr(operator, name): name for name in PYTHON_OPERATIONS}
SQUARE_ROOT: Any = torch._sym_sqrt  # type: ignore[attr-defined]
#: Guards see to it that the arguments are in the domains of these functions
#: (`capture/variables/numbers/arithmetic.py`); sine, cosine and tangent ask themselves.
OF_MATH = ("exp", "log", "log2", "log10", "tanh", "atan", "fabs", "sqrt", "sin", "cos", "tan")
PYTHON_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in OF_MATH},
    "max": max,
    "min": min,
}
#: functions of Python floats, as graph nodes have them -> name
FUNCTION_NAMES: dict[Any, str] = {
    **{getattr(math, name): name for name in OF_MATH},
    abs: "fabs",
    SQUARE_ROOT: "sqrt",
    torch.sym_max: "max",
    torch.sym_min: "min",
    torch.sym_float: "pos",
    math.pow: "pow",
}


def runs_for_real(values: Any) -> bool:
    """Whether no compiler traces. Then the code may read numbers from tensors."""
    return not torch._C._len_torch_dispatch_stack() and not any(isinstance(v, FakeTensor) for v in values)


def bit_length(number: int) -> int:
    """`number.bit_length()`"""
    return number.bit_length()


def larger_of(best: torch.Tensor, other: Any) -> torch.Tensor:
    """The value of `max(best, other)` for 0-d tensors and numbers."""
    return torch.where(other > best, other, best)


def smaller_of(best: torch.Tensor, other: Any) -> torch.Tensor:
    """`min(best, other)`"""
    return torch.where(other < best, other, best)


def float_of(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor.item()` as a new 0-d tensor."""
    return tensor.detach().reshape(()).to(torch.float64, copy=True)


def float_operation(name: str, *operands: Any) -> torch.Tensor:
    """Arithmetic of Python floats. The result does not alias an operand."""
    if runs_for_real(operands) or all(type(v) in (int, float) for v in operands):
        values = [v.item() if isinstance(v, torch.Tensor) else v for v in operands]
        function = PYTHON_FUNCTIONS.get(name) or PYTHON_OPERATIONS[name]
        return torch.full((), float(function(*values)), dtype=torch.float64)
    result = (TENSOR_FUNCTIONS.get(name) or PYTHON_OPERATIONS[name])(*operands)
    return result.clone() if name == "pos" else result


def _of_finite(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    def form(angle: torch.Tensor) -> torch.Tensor:
        torch._assert_async(torch.isfinite(angle), "math domain error")
        return function(angle)

    return form


TENSOR_FUNCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    **{name: getattr(torch, name) for name in ("exp", "log", "log2", "log10", "tanh", "atan", "sqrt")},
    **{name: _of_finite(getattr(torch, name)) for name in ("sin", "cos", "tan")},
    "fabs": torch.abs,
    "max": larger_of,
    "min": smaller_of,
}


def checked_division(dividend: Any, divisor: torch.Tensor) -> torch.Tensor:
    """`dividend / divisor` of Python floats. The graph fails where Python raises: eager raises the error."""
    if not runs_for_real((dividend, divisor)):
        torch._assert_async(divisor != 0, "float division by zero")
    return float_operation("truediv", dividend, divisor)


def gives_float(target: Any, operands: Sequence[Any]) -> bool:
    """Whether the function makes a new float of these operands when it is traced.

    An int that is no int64 fails on tensors. A tensor of a transform (`vmap`) gives one of its own.
    """
    if target is float_operation:
        return all(type(v) in (FakeTensor, float, str) or _is_int64(v) for v in operands)
    return target is float_of and type(operands[0]) is FakeTensor


def _is_int64(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def method_with_floats(name: str, numbers: tuple[int | str, ...], *args: Any, **kwargs: Any) -> torch.Tensor:
    """`args[0].name(*args[1:], **kwargs)`, where some arguments are 0-d tensors that stand for floats.

    `numbers` names the places of these arguments.
    """
    given = {**dict(enumerate(args)), **kwargs}  # type: ignore[misc]
    if runs_for_real(given.values()):
        given.update({place: given[place].item() for place in numbers})
    else:
        beside = [value for place, value in given.items() if place not in numbers]
        dtype = dtype_of_numbers(name, beside)
        _check_range([given[place] for place in numbers], largest_number(name, beside, kwargs.get("dtype")))
        given.update({place: given[place].to(dtype) for place in numbers})
        if name in TRACED_FORMS:
            positional = [given[i] for i in range(len(args))]
            return TRACED_FORMS[name](*positional, **{k: given[k] for k in kwargs})
    # a method writes to no `out`
    function = FUNCTIONS.get(name) or getattr(torch if "out" in kwargs else type(given[0]), name)
    return function(*[given[i] for i in range(len(args))], **{k: given[k] for k in kwargs})


def _check_range(numbers: Sequence[torch.Tensor], largest: float | None) -> None:
    """The graph fails where the operator refuses a number, which is finite and too large: eager raises."""
    if largest is not None:
        for size in (number.abs() for number in numbers):
            torch._assert_async((size <= largest) | ~torch.isfinite(size), "a number overflows")


def tensor_of_numbers(data: Any, dtype: torch.dtype) -> torch.Tensor:
    """`torch.tensor(data, dtype=dtype)`, where 0-d tensors stand for floats in `data`."""
    leaves = _leaves(data)
    if runs_for_real(leaves):
        return torch.tensor(
            _in_lists(data, lambda v: v.item() if isinstance(v, torch.Tensor) else v), dtype=dtype
        )
    if isinstance(data, (list, tuple)):
        return torch.stack([tensor_of_numbers(item, dtype) for item in data])
    if isinstance(data, torch.Tensor):
        return data.detach().reshape(()).to(dtype, copy=True)
    return torch.full((), data, dtype=dtype)


def _leaves(data: Any) -> list[Any]:
    return [leaf for item in data for leaf in _leaves(item)] if isinstance(data, (list, tuple)) else [data]


def _in_lists(data: Any, function: Callable[[Any], Any]) -> Any:
    return [_in_lists(item, function) for item in data] if isinstance(data, (list, tuple)) else function(data)
