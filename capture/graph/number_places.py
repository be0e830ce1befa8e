"""Where operators on tensors take Python floats, and what they make of them.

In:  an operator (the name of a method, a function of torch or of Python) and the tensors beside the floats.
Out: the places of its floats, and the dtype to which it converts them: as 0-d tensors of this dtype at these
     places they give the same result.

    x > s   ->   "gt", whose place 1 takes a float, in the dtype of x
    s > x   ->   "lt" of x and s
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from capture.graph.number_forms import TRACED_FORMS

COMPARISONS = ("eq", "ge", "gt", "le", "lt", "ne")
#: What makes a tensor that is full of the number.
FILLING = frozenset({"torch.full", "torch.full_like", "new_full"})
#: What puts the number among the elements of a tensor, in its dtype. Masks and indices are other arguments.
STORING = frozenset(
    {"__setitem__", "fill_", "masked_fill", "masked_fill_", "where", "torch.where"}
    | {"clamp", "clamp_", "clip", "clip_", "clamp_max", "clamp_max_", "clamp_min", "clamp_min_"}
)
#: Those that make a tensor of the number first: in half precision, a large one is an infinity.
WRAPPING = frozenset({"__setitem__", "where", "torch.where"})
#: Functions of one tensor, with floats that float32 has to hold.
ACTIVATIONS: dict[str, tuple[int | str, ...]] = {
    "functional.celu": (1, "alpha"),
    "functional.elu": (1, "alpha"),
    "functional.hardtanh": (1, 2, "min_val", "max_val"),
    "functional.leaky_relu": (1, "negative_slope"),
    "functional.softplus": (1, 2, "beta", "threshold"),
    "functional.softshrink": (1, "lambd"),
    "hardshrink": (1, "lambd"),
    "threshold": (1, 2, "threshold", "value"),
}
#: Functions that torch writes in Python, of operators that take 0-d tensors.
IN_PYTHON: dict[str, tuple[int | str, ...]] = {
    "functional.gumbel_softmax": (1, "tau"),
    "functional.normalize": (3, "eps"),
}
#: Products of matrices beside a tensor.
PRODUCTS = ("addbmm", "addmm", "addmv", "addr", "baddbmm")
POWERS = ("pow", "pow_", "__pow__", "__rpow__")
REMAINDERS = ("floor_divide", "floor_divide_", "fmod", "fmod_", "remainder", "remainder_")
#: In half precision, some of these round each part of the result, and others the whole.
FULL_PRECISION = frozenset({*ACTIVATIONS, *IN_PYTHON, *POWERS, *PRODUCTS, *REMAINDERS, "rsub", "xlogy"})
#: What refuses a number that is too large for the tensors beside it
REFUSING = FILLING | STORING | frozenset({*ACTIVATIONS, "functional.normalize"})
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
    **dict.fromkeys(("clamp_max", "clamp_max_"), (1, "max")),
    **dict.fromkeys(("clamp_min", "clamp_min_"), (1, "min")),
    **dict.fromkeys((*COMPARISONS, *REMAINDERS), (1, "other")),
    **dict.fromkeys(POWERS, (1, "exponent")),
    **dict.fromkeys(PRODUCTS, ("alpha", "beta")),
    **dict.fromkeys(("torch.full", "torch.full_like"), (1, "fill_value")),
    **ACTIVATIONS,
    **IN_PYTHON,
    "__setitem__": (2,),
    "fill_": (1, "value"),
    "functional.batch_norm": (6, "momentum"),
    "new_full": (2, "fill_value"),
    "rsub": (1, "other", "alpha"),
    "torch.where": (1, 2, "input", "other"),
    "where": (2, "other"),
    "xlogy": (0, 1, "other"),
}
#: Functions that are no methods, or whose first argument is another one.
FUNCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "functional.batch_norm": F.batch_norm,
    "functional.celu": F.celu,
    "functional.elu": F.elu,
    "functional.gumbel_softmax": F.gumbel_softmax,
    "functional.hardtanh": F.hardtanh,
    "functional.leaky_relu": F.leaky_relu,
    "functional.normalize": F.normalize,
    "functional.softplus": F.softplus,
    "functional.softshrink": F.softshrink,
    "threshold": torch.threshold,
    "torch.full": torch.full,
    "torch.full_like": torch.full_like,
    "torch.where": torch.where,
}
NAMES_OF_FUNCTIONS = {function: name for name, function in FUNCTIONS.items()}
#: An operator of Python -> the method of a tensor at its left, and that of a tensor at its right.
OPERATORS: dict[Any, tuple[str, str]] = {
    **{getattr(operator, n): (f"__{n}__", f"__r{n}__") for n in ("add", "mul", "pow", "sub", "truediv")},
    **{getattr(operator, f"i{n}"): (f"__i{n}__", "") for n in ("add", "mul", "sub", "truediv")},
    operator.floordiv: ("floor_divide", ""),
    operator.mod: ("remainder", ""),
    operator.eq: ("eq", "eq"),
    operator.ge: ("ge", "le"),
    operator.gt: ("gt", "lt"),
    operator.le: ("le", "ge"),
    operator.lt: ("lt", "gt"),
    operator.ne: ("ne", "ne"),
    torch.pow: ("pow", "__rpow__"),
}


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
    if target in OPERATORS and len(args) == 2:
        at_left, at_right = OPERATORS[target]
        return (at_left, list(args)) if is_tensor(args[0]) else (at_right, list(args[::-1]))
    name = getattr(target, "__name__", "")
    return (name if getattr(torch, name, None) is target else ""), list(args)


def places_of(name: str, names: Collection[Any]) -> tuple[int | str, ...]:
    """Where the operator takes floats as tensors, if `names` are the names of its arguments."""
    return () if "out" in names and name in TRACED_FORMS else FLOAT_PLACES.get(name, ())


def keep_types(name: str, tensors: Sequence[torch.Tensor], dtype: torch.dtype | None) -> bool:
    """Whether the result has the same dtype when a 0-d tensor replaces a number beside `tensors`.

    `dtype`: the one that the program asks for.
    """
    if name in FILLING:
        found = dtype or (tensors[0].dtype if tensors else torch.get_default_dtype())
        return found.is_floating_point
    if name in STORING:
        tensors = [tensor for tensor in tensors if tensor.is_floating_point()]
    keeps = _is_precise if name in FULL_PRECISION else _keeps_type
    return bool(tensors) and all(map(keeps, tensors))


def _is_precise(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.float32, torch.float64)


def _keeps_type(tensor: torch.Tensor) -> bool:
    return _is_precise(tensor) or (tensor.is_floating_point() and tensor.ndim > 0)


def dtype_of_numbers(name: str, beside: Sequence[Any]) -> torch.dtype:
    """The dtype to which the operators convert a number, given the arguments beside it."""
    if name in FILLING:
        return torch.float64
    dtype = _floating_dtype(beside)
    as_elements = name in STORING or name in COMPARISONS
    return dtype if as_elements or dtype == torch.float64 else torch.float32


def largest_number(name: str, beside: Sequence[Any], asked: Any) -> float | None:
    """The largest number that the operator takes. None: it takes all."""
    if name == "torch.full":
        dtype = asked or torch.get_default_dtype()
        return None if dtype == torch.float64 else torch.finfo(torch.float32).max
    if name not in REFUSING:
        return None
    dtype = asked or _floating_dtype(beside)
    exempt = dtype == torch.float64 or (name in WRAPPING and dtype != torch.float32)
    return None if exempt else torch.finfo(dtype).max


def _floating_dtype(values: Sequence[Any]) -> torch.dtype:
    """That of the first tensor that has one."""
    tensors = (value for value in values if isinstance(value, torch.Tensor))
    return next(tensor.dtype for tensor in tensors if tensor.is_floating_point())
