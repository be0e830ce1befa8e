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
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensor

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
IN_PLACE_NAMES = {getattr(operator, f"i{name}"): f"i{name}" for name in ("add", "sub", "mul", "truediv")}


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
        dtype = _dtype_of_numbers(name, beside)
        _check_range([given[place] for place in numbers], _largest(name, beside, kwargs.get("dtype")))
        given.update({place: given[place].to(dtype) for place in numbers})
        if name in TRACED_FORMS:
            positional = [given[i] for i in range(len(args))]
            return TRACED_FORMS[name](*positional, **{k: given[k] for k in kwargs})
    function = FUNCTIONS.get(name) or getattr(type(given[0]), name)
    return function(*[given[i] for i in range(len(args))], **{k: given[k] for k in kwargs})


def _largest(name: str, beside: Sequence[Any], asked: Any) -> float | None:
    """The largest number that the operator takes; None: it takes all, or is no `FILLING` or `STORING` one."""
    if name == "torch.full":
        dtype = asked or torch.get_default_dtype()
        return None if dtype == torch.float64 else torch.finfo(torch.float32).max
    if name not in FILLING | STORING:
        return None
    dtype = asked or _floating_dtype(beside)
    exempt = dtype == torch.float64 or (name in WRAPPING and dtype != torch.float32)
    return None if exempt else torch.finfo(dtype).max


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


def _dtype_of_numbers(name: str, beside: Sequence[Any]) -> torch.dtype:
    """The dtype to which the operators convert a number, given the arguments beside it."""
    if name in FILLING:
        return torch.float64
    dtype = _floating_dtype(beside)
    return dtype if name in STORING or dtype == torch.float64 else torch.float32


def _floating_dtype(values: Sequence[Any]) -> torch.dtype:
    """That of the first tensor that has one."""
    tensors = (value for value in values if isinstance(value, torch.Tensor))
    return next(tensor.dtype for tensor in tensors if tensor.is_floating_point())


# --- traced forms: operators whose numbers can't be tensors -----------------------------------------------


def _scaled(name: str) -> Callable[..., torch.Tensor]:
    def form(tensor: torch.Tensor, other: Any, *old: torch.Tensor, alpha: Any = 1) -> torch.Tensor:
        scaled = other * (old[0] if old else alpha)  # an old form is `add(tensor, alpha, other)`
        return getattr(tensor, name)(scaled)

    return form


def _fused(name: str, combine: Callable[[Any, Any], Any]) -> Callable[..., torch.Tensor]:
    def form(tensor: torch.Tensor, first: Any, second: Any, *, value: Any = 1) -> torch.Tensor:
        return getattr(tensor, name)(combine(first * value, second))

    return form


def _filled(empty: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def form(shape: Any, fill_value: torch.Tensor, **options: Any) -> torch.Tensor:
        return empty(shape, **options).fill_(fill_value)

    return form


def _new_full(tensor: torch.Tensor, size: Any, fill_value: torch.Tensor, **options: Any) -> torch.Tensor:
    return tensor.new_empty(size, **options).fill_(fill_value)


def _batch_norm(
    input: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: Any = 0.1,
    eps: float = 1e-5,
) -> torch.Tensor:
    """With a momentum of 1, the operator stores the statistics of the batch."""
    if not training or running_mean is None or running_var is None:
        return F.batch_norm(input, running_mean, running_var, weight, bias, training, 0.0, eps)
    mean, var = torch.zeros_like(running_mean), torch.zeros_like(running_var)
    result = F.batch_norm(input, mean, var, weight, bias, training, 1.0, eps)
    for running, of_batch in ((running_mean, mean), (running_var, var)):
        running.copy_(of_batch * momentum + running * (1 - momentum))
    return result


TRACED_FORMS: dict[str, Callable[..., torch.Tensor]] = {
    "functional.batch_norm": _batch_norm,
    "add": _scaled("add"),
    "add_": _scaled("add_"),
    "sub": _scaled("sub"),
    "sub_": _scaled("sub_"),
    "addcmul": _fused("add", operator.mul),
    "addcmul_": _fused("add_", operator.mul),
    "addcdiv": _fused("add", operator.truediv),
    "addcdiv_": _fused("add_", operator.truediv),
    "torch.full": _filled(torch.empty),
    "torch.full_like": _filled(torch.empty_like),
    "new_full": _new_full,
}
#: What makes a tensor that is full of the number.
FILLING = frozenset({"torch.full", "torch.full_like", "new_full"})
#: What puts the number among the elements of a tensor, in its dtype. Masks and indices are other arguments.
STORING = frozenset(
    {"__setitem__", "fill_", "masked_fill", "masked_fill_", "where", "torch.where"}
    | {"clamp", "clamp_", "clip", "clip_"}
)
#: Those that make a tensor of the number first: in half precision, a large one is an infinity.
WRAPPING = frozenset({"__setitem__", "where", "torch.where"})
#: Methods and functions that take floats at these places (position or name), and have the same result with
#: 0-d tensors.
FLOAT_PLACES: dict[str, tuple[int | str, ...]] = {
    **dict.fromkeys(
        ("mul", "mul_", "div", "div_", "__mul__", "__rmul__", "__imul__", "__truediv__", "__rtruediv__"),
        (1, "other"),
    ),
    **dict.fromkeys(
        ("__itruediv__", "__add__", "__radd__", "__iadd__", "__sub__", "__rsub__", "__isub__"), (1, "other")
    ),
    **dict.fromkeys(("add", "add_", "sub", "sub_"), (1, "alpha")),
    **dict.fromkeys(("addcmul", "addcmul_", "addcdiv", "addcdiv_"), ("value",)),
    **dict.fromkeys(("lerp", "lerp_"), (2, "weight")),
    **dict.fromkeys(("masked_fill", "masked_fill_"), (2, "value")),
    **dict.fromkeys(("clamp", "clamp_", "clip", "clip_"), (1, 2, "min", "max")),
    **dict.fromkeys(("torch.full", "torch.full_like"), (1, "fill_value")),
    "__setitem__": (2,),
    "fill_": (1, "value"),
    "functional.batch_norm": (6, "momentum"),
    "new_full": (2, "fill_value"),
    "torch.where": (1, 2, "input", "other"),
    "where": (2, "other"),
}


#: Functions that are no methods, or whose first argument is another one.
FUNCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "functional.batch_norm": F.batch_norm,
    "torch.full": torch.full,
    "torch.full_like": torch.full_like,
    "torch.where": torch.where,
}
NAMES_OF_FUNCTIONS = {function: name for name, function in FUNCTIONS.items()}


def as_method(target: Any, args: Sequence[Any], is_tensor: Callable[[Any], bool]) -> tuple[str, list[Any]]:
    """The tensor method or function of `FLOAT_PLACES` that does the same as `target`, with its arguments. An
    empty name: none is known.

    `target` is a function of torch, an operator, or the name of a method.
    """
    if isinstance(target, str):
        return target, list(args)
    if target in NAMES_OF_FUNCTIONS:
        return NAMES_OF_FUNCTIONS[target], list(args)
    if target is operator.setitem:
        return "__setitem__", list(args)
    operator_name = OPERATION_NAMES.get(target) or IN_PLACE_NAMES.get(target)
    if operator_name is not None and len(args) == 2:
        if is_tensor(args[0]):
            return f"__{operator_name}__", list(args)
        return f"__r{operator_name}__", list(args[::-1])
    name = getattr(target, "__name__", "")
    return (name if getattr(torch, name, None) is target else ""), list(args)


def keep_types(name: str, tensors: Sequence[torch.Tensor], dtype: torch.dtype | None) -> bool:
    """Whether the result has the same dtype when a 0-d tensor replaces a number beside `tensors`.

    `dtype`: the one that the program asks for.
    """
    if name in FILLING:
        found = dtype or (tensors[0].dtype if tensors else torch.get_default_dtype())
        return found.is_floating_point
    if name in STORING:
        tensors = [tensor for tensor in tensors if tensor.is_floating_point()]
    return bool(tensors) and all(map(_keeps_type, tensors))


def _keeps_type(tensor: torch.Tensor) -> bool:
    floating = tensor.is_floating_point() and tensor.ndim > 0
    return floating or tensor.dtype in (torch.float32, torch.float64)
