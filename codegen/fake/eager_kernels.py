"""Whether eager has a kernel for an operation of the program.

In:  a function, its arguments (fake tensors), its fake results, the ATen operators that it has called.
Out: nothing, where eager gives results of these dtypes for real tensors of this kind; else its error.

    F.hardshrink(i64[4])   ->   NotImplementedError: "hardshrink_cpu" not implemented for 'Long'

Rules for fake tensors know no kernels: they take dtypes and numbers that eager refuses. Eager itself is
asked, once for each function and kind of arguments. Floats of one dtype with usual numbers need no question.
An error that depends on the values of the tensors says nothing: it comes for zeros alone or for ones alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree

from codegen.kernel.hints import SYMBOLIC, hint_of

USUAL_DTYPES = (torch.float32, torch.float64)
USUAL_INTS = range(-(1 << 31), 1 << 31)
EVERY_INT = range(1, 1 << 7)  # those that numbers of each dtype can be, but for zero
LARGE = 1 << 16  # elements; eager is not asked with more
MOST_KINDS = 4096
OPEN = (torch.Tag.nondeterministic_seeded, torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output,
        torch.Tag.inplace_view)  # fmt: skip
#: arguments that say nothing of the program but their value
PLAIN = (bool, int, float, complex, str, type(None), type(...), slice, torch.dtype, torch.device,
         torch.layout, torch.memory_format)  # fmt: skip

#: operators without a kernel for floats
OF_WHOLE_NUMBERS = frozenset(
    getattr(torch.ops.aten, name)
    for name in (
        "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift",
        "bitwise_right_shift", "__and__", "__or__", "__xor__", "__lshift__", "__rshift__", "gcd", "lcm",
    )
)  # fmt: skip
#: functions that look at how their arguments were made
OF_HISTORY = (torch.autograd.grad,)

_accepted: set[Any] = set()  # kinds of calls that eager takes


class NoTwin(Exception):
    """Raised for an argument that eager can't be asked with."""


def is_usual(values: Iterable[Any], are_numbers: bool) -> bool:
    """Whether the tensors are floats of one dtype, and the numbers are such as any kernel takes.

    `are_numbers`: ints and bools may be numbers to compute with. Else they are dims, sizes and switches.
    """
    found = None
    for value in values:
        if isinstance(value, torch.Tensor):
            if value.dtype is not found and (found is not None or value.dtype not in USUAL_DTYPES):
                return False
            found = value.dtype
        elif isinstance(value, float):
            if not value or not math.isfinite(value):
                return False
        elif isinstance(value, int):
            # a range looks at an int of a subclass (an IntEnum) by comparing it with each of its own
            if int.__int__(value) not in USUAL_INTS or (are_numbers and (not value or value is True)):
                return False
        elif isinstance(value, complex):
            return False
    return True


@functools.cache
def takes_numbers(func: OpOverload) -> bool:
    return any("number" in str(argument.type) for argument in func._schema.arguments)


@functools.cache
def can_be_asked(func: OpOverload) -> bool:
    """Whether it draws no random numbers, and its sizes do not depend on values."""
    return func.namespace in ("aten", "prims") and not any(tag in func.tags for tag in OPEN)


def bounds_of_numbers(dtypes: Iterable[torch.dtype]) -> tuple[float, float]:
    """Numbers within these bounds, both inclusive, are numbers of each of the dtypes. Eager refuses others at
    some places, and wraps them around at others.
    """
    least, most = -math.inf, math.inf
    for dtype in dtypes:
        if dtype is not torch.bool and not dtype.is_complex:
            info = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
            least, most = max(least, info.min), min(most, info.max)
    return least, most


#: dtypes that a size or a counter of the program may leave
NARROW = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.float16)


def fits(number: torch.SymInt, tensors: Iterable[torch.Tensor]) -> bool:
    """Whether it is a number of the dtypes of these tensors, as a guard from now on."""
    narrow = {tensor.dtype for tensor in tensors if tensor.dtype in NARROW}
    if not narrow or not number.node.has_hint():
        return True
    least, most = bounds_of_numbers(narrow)
    return bool(number >= int(least)) and bool(number <= int(most))


def check_kernel(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    results: Any,
    called: list[OpOverload],
) -> None:
    """Raises eager's error for tensors of these dtypes and sizes, if there is one. Raises TypeError where the
    results have other dtypes in eager.
    """
    if function in OF_HISTORY:
        return
    leaves = pytree.tree_leaves((args, kwargs))
    takes_floats = OF_WHOLE_NUMBERS.isdisjoint(func.overloadpacket for func in called)
    if takes_floats and is_usual(leaves, any(map(takes_numbers, called))):
        return
    if all(func.is_view for func in called):
        return
    kind = (function, *map(_kind_of, leaves))
    if kind in _accepted or not all(map(can_be_asked, called)):
        return
    try:
        real = _answer(function, args, kwargs)
    except NoTwin:
        return
    for fake, other in zip(pytree.tree_leaves(results), pytree.tree_leaves(real)):
        if isinstance(fake, torch.Tensor) and isinstance(other, torch.Tensor) and fake.dtype != other.dtype:
            raise TypeError(f"the result is {other.dtype} in eager and {fake.dtype} by its rule")
    if len(_accepted) >= MOST_KINDS:
        _accepted.clear()
    _accepted.add(kind)


def _kind_of(value: Any) -> Any:
    """What a kernel looks at, but for sizes. Kernels of empty tensors refuse nothing."""
    if isinstance(value, torch.Tensor):
        return value.dtype, value.dim(), hint_of(value.numel()) == 0
    if isinstance(value, SYMBOLIC) or (type(value) is int and value in EVERY_INT):
        return type(value)
    return repr(value)


def _answer(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Eager's results for zeros. Raises its error if it has the same one for ones."""

    def ask(fill: int) -> Any:
        made: dict[int, torch.Tensor] = {}
        real = pytree.tree_map(lambda value: _twin(value, fill, made), (args, kwargs))
        return function(*real[0], **real[1])

    with torch.no_grad():
        try:
            return ask(0)
        except torch.linalg.LinAlgError:
            raise NoTwin from None
        except (NotImplementedError, RuntimeError, TypeError, ValueError, IndexError) as error:
            refusal = error
        try:
            return ask(1)
        except Exception as error:
            if type(error) is type(refusal) and str(error) == str(refusal):
                raise refusal from None
            raise NoTwin from None


def _twin(value: Any, fill: int, made: dict[int, torch.Tensor]) -> Any:
    """A real tensor for a fake one, the present value for a symbol. `made`: by the fake one's identity."""
    if isinstance(value, FakeTensor) and value._fake_device.type == "cpu":
        if id(value) not in made:
            shape, strides = (tuple(map(hint_of, numbers)) for numbers in (value.shape, value.stride()))
            if None in shape or None in strides:
                raise NoTwin
            extent = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))
            if extent > LARGE:
                raise NoTwin
            memory = torch.full((max(extent, 1),), fill, dtype=value.dtype, device="cpu")
            made[id(value)] = memory.as_strided(shape, strides)
        return made[id(value)]
    number = hint_of(value)
    if not isinstance(number, PLAIN):
        raise NoTwin
    return number
