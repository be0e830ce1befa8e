"""Functions that have another form where some of their numbers are symbols.

In:  a function of torch, or `x[...]`, and arguments with symbols among them.
Out: `FAKE_FORMS`: functions that compute the layout of the result.
     `TRACED_FORMS`: functions that are traced in place of the original ones.

    x[s0 - 1]               ->   x.select(0, s0 - 1)
    torch.tensor([s0, 2])   ->   stack([full((), s0), full((), 2)])

Without these forms C++ code reads the numbers, which makes them constants. For some functions torch runs a
body in Python that computes another result than the body in C++.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch._decomp.decompositions import upsample_compute_output_size

from codegen.fake.symbolic import SYMBOLIC
from codegen.kernel.errors import UntraceableError
from codegen.rewrite import recurrent_layers

aten = torch.ops.aten


def tensor_of(
    data: Any, *, dtype: torch.dtype | None = None, device: Any = None, **settings: Any
) -> torch.Tensor:
    """A tensor with the layout of `torch.tensor(data)`; its values do not matter."""
    kinds: set[type] = set()
    shape = _shape_of(data, kinds)
    if not kinds & set(SYMBOLIC):
        return torch.tensor(data, dtype=dtype, device=device, **settings)
    if not kinds <= NUMBERS.keys():
        raise TypeError(f"torch.tensor of symbols and of values of {kinds - NUMBERS.keys()}")
    return torch.empty(shape, dtype=dtype or _dtype_of(kinds), device=device, **settings)


def tensor_of_sizes(
    data: Any, *, dtype: torch.dtype | None = None, device: Any = None, **settings: Any
) -> torch.Tensor:
    """`torch.tensor(data)` by operators that take sizes at run time.

    C++ code would read their present values.
    """
    kinds: set[type] = set()
    shape = _shape_of(data, kinds)
    is_plain = torch.SymInt in kinds and kinds <= {int, float, torch.SymInt} and not any(settings.values())
    made = dtype or _dtype_of(kinds) if is_plain else None
    is_exact = made in FLOATS or (made is torch.int64 and float not in kinds)
    leaves = _leaves(data) if is_exact else []
    if not 0 < len(leaves) <= FEW:
        return torch.tensor(data, dtype=dtype, device=device, **settings)
    # torch.tensor reads Python's floats as doubles and converts these
    between = torch.int64 if made is torch.int64 else torch.float64
    numbers = [torch.full((), leaf, dtype=between, device=device) for leaf in leaves]
    return torch.stack(numbers).reshape(shape).to(made)


FLOATS = (torch.float64, torch.float32)
FEW = 64  # up to so many numbers, one operator for each is worth it


def _leaves(data: Any) -> list[Any]:
    return [leaf for item in data for leaf in _leaves(item)] if isinstance(data, (list, tuple)) else [data]


def _dtype_of(kinds: set[type]) -> torch.dtype:
    kind = max((NUMBERS[kind] for kind in kinds), key=ORDER.index)
    return torch.get_default_dtype() if kind is float else torch.int64 if kind is int else torch.bool


#: type of a number -> its kind. Of several kinds, the last one in ORDER decides the dtype.
NUMBERS: dict[type, type] = {
    bool: bool,
    torch.SymBool: bool,
    int: int,
    torch.SymInt: int,
    float: float,
    torch.SymFloat: float,
}
ORDER = (bool, int, float)


def _shape_of(data: Any, kinds: set[type]) -> list[int]:
    if not isinstance(data, (list, tuple)):
        kinds.add(type(data))
        return []
    shapes = [_shape_of(item, kinds) for item in data]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError(f"expected sequence of equal length, got {data}")
    return [len(data), *(shapes[0] if shapes else [])]


def dropout(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout with eager's results.

    Where nothing is dropped, the result is the argument itself; torch's Python body gives a copy. Where
    everything is dropped, no random numbers are drawn.
    """
    if not 0 <= p <= 1:  # eager looks at the rate where nothing is dropped, too
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if training and p == 1:
        zero = torch.zeros((), dtype=input.dtype, device=input.device)
        return input.mul_(zero) if inplace else input.mul(zero)
    if training and p != 0:
        return torch.nn.functional.dropout(input, p, training, inplace)
    return input


def celu(input: torch.Tensor, alpha: float = 1.0, *inplace: bool) -> torch.Tensor:
    """torch's rule divides by any number."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return torch.celu(input, alpha)


def by_operator(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """`operator` with its gradient of eager.

    torch also has a body in Python, which stands above autograd: its gradient has other strides.
    """
    with torch._C._DisablePythonDispatcher():
        return operator(*args, **kwargs)


def interpolate(
    input: torch.Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """torch's Python body takes tensors of any dtype; eager has kernels for floats and uint8 only."""
    if not (input.is_floating_point() or input.dtype is torch.uint8):
        raise UntraceableError(f"interpolation of {input.dtype}, which eager refuses")
    rank = input.dim() - 2
    operator = None if antialias else INTERPOLATIONS.get((mode, rank))
    if operator is None:
        return interpolated(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
    factors = list_of(scale_factor, rank)
    if size is not None:
        size = list_of(size, rank)
    elif recompute_scale_factor:
        size, factors = [torch.sym_int(n * by) for n, by in zip(input.shape[2:], factors)], [None] * rank
    else:
        size = upsample_compute_output_size(input.shape, None, factors)
        check_factors(input.shape[2:], size, factors, mode)
    options = [] if mode.startswith("nearest") else [bool(align_corners)]
    result = by_operator(operator, input, size, *options, *factors)
    check_elements(input, result)
    return result


#: mode and number of dims -> the operator, where its gradient lies as that of the result
INTERPOLATIONS = {
    ("nearest", 2): aten.upsample_nearest2d.default,
    ("nearest-exact", 2): aten._upsample_nearest_exact2d.default,
    ("bilinear", 2): aten.upsample_bilinear2d.default,
    ("trilinear", 3): aten.upsample_trilinear3d.default,
}


def list_of(value: Any, length: int) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value] * length


def check_factors(sizes: Sequence[Any], results: Sequence[Any], factors: Sequence[float], mode: str) -> None:
    """torch's Python body uses each factor; eager's kernels don't where a size stays or doubles."""
    if mode in ("area", "nearest-exact"):
        return
    for before, after, factor in zip(sizes, results, factors):
        if any(times < factor < times + 1 and after == times * before for times in (1, 2)):
            raise UntraceableError(f"interpolation by {factor}, which eager's kernels don't look at")


def check_elements(input: torch.Tensor, result: torch.Tensor) -> None:
    """torch's Python body takes images without elements or channels, and makes such; eager refuses both."""
    if any(size == 0 for size in (*input.shape[1:], *result.shape[2:])):
        shapes = f"got {tuple(input.shape)} and {tuple(result.shape)}"
        raise RuntimeError(f"Input and output sizes should be greater than 0, but {shapes}")


def interpolated(
    input: torch.Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> torch.Tensor:
    result = torch.nn.functional.interpolate(
        input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias
    )
    if scale_factor is not None and not recompute_scale_factor:
        factors = list_of(scale_factor, input.dim() - 2)
        check_factors(input.shape[2:], result.shape[2:], factors, mode)
    if mode != "area":
        check_elements(input, result)
    return result


def batch_norm(
    input: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: Any = 0.1,
    eps: float = 1e-5,
) -> torch.Tensor:
    """C++ code would read the momentum. It is no matter of the layout."""
    momentum = 0.1 if isinstance(momentum, torch.SymFloat) else momentum
    return torch.nn.functional.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


def multilabel_margin_loss(input: torch.Tensor, target: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """The loss of a single sample has no dim; torch's Python body gives it one."""
    loss = torch.nn.functional.multilabel_margin_loss(input, target, *args, **kwargs)
    return loss.squeeze(0) if input.dim() < 2 else loss


def of_numbers_only(*args: Any, **kwargs: Any) -> Any:
    raise UntraceableError("a multilabel_margin_loss: its Python body also counts labels after the last one")


def item_of(tensor: Any, key: Any) -> Any:
    """`tensor[key]`

    C++ code reads the values of ints in a tuple. That makes them constants, and an unbacked symbol has no
    value.
    """
    if not _has_symbols(key):
        return tensor[key]
    view, rest = _view_at(tensor, key)
    return view[rest] if rest else view


def set_item(tensor: Any, key: Any, value: Any) -> None:
    """`tensor[key] = value`"""
    if not _has_symbols(key):
        tensor[key] = value
        return
    view, rest = _view_at(tensor, key)
    if rest:
        view[rest] = value
    elif not isinstance(value, torch.Tensor):
        view.fill_(value)
    else:
        view.copy_(value)


def _view_at(tensor: Any, key: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The view at the items of the key that make views, and the key of the tensors in it, as torch has them.

    x[i, places]    ->    x.select(0, i), (places,)
    x[:, places, i]    ->    x.select(2, i), (:, places)
    """
    dim = 0
    rest: list[Any] = []  # for the dims of the view up to the last tensor
    for position, item in enumerate(key):
        if item is Ellipsis:
            dim = tensor.dim() - sum(later is not None for later in key[position + 1 :])
        elif isinstance(item, (int, torch.SymInt)):
            tensor = tensor.select(dim, _from_the_front(item, tensor.size(dim)))
        elif isinstance(item, torch.Tensor):
            rest += [slice(None)] * (dim - len(rest)) + [item]
            dim += 1
        else:
            tensor = tensor.unsqueeze(dim) if item is None else tensor[(slice(None),) * dim + (item,)]
            dim += 1
    return tensor, tuple(rest)


def _from_the_front(position: Any, size: Any) -> Any:
    """A position that counts from the end, counted from the front: kernels take no negative ones.

    That of an unbacked symbol is not known.
    """
    if not all(number.node.has_hint() for number in (position, size) if isinstance(number, torch.SymInt)):
        return position
    return position + size if -size <= position < 0 else position


def _has_symbols(key: Any) -> bool:
    """Whether `key` is a tuple with symbols, and `_view_at` knows all its items."""
    if type(key) is not tuple or not all(map(_is_plain, key)):
        return False
    return any(isinstance(item, torch.SymInt) and not item.node.expr.is_number for item in key)


def _is_plain(item: Any) -> bool:
    """What makes a view, or a tensor of places in one dim: no mask, and no number of its own."""
    if isinstance(item, torch.Tensor):
        return item.dim() > 0 and item.dtype in PLACES
    is_view = item is None or item is Ellipsis or isinstance(item, (int, slice, torch.SymInt))
    return is_view and type(item) is not bool


PLACES = (torch.int8, torch.int16, torch.int32, torch.int64)


#: functions, and names of methods, with a body in Python above autograd
WITH_THEIR_GRADIENTS: dict[Any, Any] = {
    torch.hardshrink: functools.partial(by_operator, torch.hardshrink),
    "hardshrink": functools.partial(by_operator, torch.hardshrink),
    torch._C._nn.softshrink: functools.partial(by_operator, torch._C._nn.softshrink),
}
#: functions whose bodies in Python give another result than the bodies in C++
RESULTS_AS_IN_EAGER: dict[Any, Any] = {
    torch.nn.functional.dropout: dropout,
    torch.dropout: lambda input, p, train: dropout(input, p, train),
    **recurrent_layers.FORMS,
}
#: function, or name of a method -> what is traced in its place where some of its numbers are symbols
TRACED_FORMS: dict[Any, Any] = {
    torch.tensor: tensor_of_sizes,
    operator.getitem: item_of,
    operator.setitem: set_item,
    torch.nn.functional.interpolate: interpolate,
    torch.nn.functional.multilabel_margin_loss: of_numbers_only,
    torch._C._nn.multilabel_margin_loss: of_numbers_only,
    **WITH_THEIR_GRADIENTS,
    **RESULTS_AS_IN_EAGER,
}
#: function -> the function that computes the layout of its result where some of its numbers are symbols
FAKE_FORMS: dict[Any, Any] = {
    torch.tensor: tensor_of,
    operator.getitem: item_of,
    operator.setitem: set_item,
    torch.nn.functional.batch_norm: batch_norm,
    torch.celu: celu,
    torch.nn.functional.interpolate: interpolated,
    torch.nn.functional.multilabel_margin_loss: multilabel_margin_loss,
    **RESULTS_AS_IN_EAGER,
}
