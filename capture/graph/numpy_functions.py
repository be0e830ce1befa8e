"""Functions for graph nodes that carry out NumPy code on tensors.

In:  tensors that share their memory with arrays of NumPy.
Out: `graph_function(kind, name)`, which does on tensors what NumPy does on arrays (through `torch._numpy`),
     and the conversions of the graph's inputs and outputs.

    np.sin(a) + 1   ->   sin = numpy_sin(a); add = numpy_add(sin, 1)
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_map

# Functions for which torch._numpy gives the same dtype, shape and aliasing as NumPy (each use checks that).
# Functions are left out if their results depend on ties (argsort), on signs that LAPACK chooses or on random
# streams, if they raise for some values only, or if torch treats NaN, signed zeros or quotients beyond the
# largest number (fmod) in another way.
ELEMENTWISE = """abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_not
    bitwise_or bitwise_xor ceil conj conjugate copysign cos cosh deg2rad degrees divide equal exp exp2 expm1
    fabs floor floor_divide fmax fmin greater greater_equal hypot invert isfinite isinf isnan less
    less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor matmul
    maximum minimum multiply negative nextafter not_equal positive power rad2deg radians reciprocal rint
    signbit sin sinh sqrt square subtract tan tanh true_divide trunc"""
REDUCTIONS = """all amax amin any argmax argmin average count_nonzero cumprod cumsum max mean median min prod
    ptp std sum var"""
SHAPES = """append array_split atleast_1d atleast_2d atleast_3d broadcast_to column_stack concatenate
    diag diagonal diagflat dsplit dstack expand_dims flip fliplr flipud hsplit hstack moveaxis ravel
    repeat reshape roll rollaxis rot90 split squeeze stack swapaxes tile transpose tril triu vsplit
    vstack"""
OTHERS = """allclose array_equal around clip copy cross dot einsum imag isclose kron nan_to_num outer real
    round sort take take_along_axis tensordot trace vander vdot where diff"""
CREATION = """arange array asarray ascontiguousarray empty empty_like eye full full_like identity linspace
    logspace meshgrid ones ones_like tri zeros zeros_like"""
LINEAR_ALGEBRA = "linalg.det linalg.inv linalg.matrix_power linalg.norm linalg.solve"
FOURIER = "fft.fft fft.ifft fft.rfft fft.irfft fft.fft2 fft.ifft2 fft.fftshift fft.ifftshift"

METHODS = frozenset(
    [
        "all",
        "any",
        "argmax",
        "argmin",
        "astype",
        "clip",
        "copy",
        "cumprod",
        "cumsum",
        "diagonal",
        "dot",
        "flatten",
        "max",
        "mean",
        "min",
        "prod",
        "ptp",
        "ravel",
        "repeat",
        "reshape",
        "round",
        "squeeze",
        "std",
        "sum",
        "swapaxes",
        "take",
        "trace",
        "transpose",
        "var",
    ]
)
ARRAY_ATTRIBUTES = frozenset(("T", "real", "imag"))


def find(namespace: Any, path: str) -> Any:
    """The function at a dotted path below a namespace; None if there is none."""
    for name in path.split("."):
        namespace = getattr(namespace, name, None)
    return namespace


def supported_functions() -> dict[str, Any]:
    """The supported functions by their path below numpy."""
    groups = (ELEMENTWISE, REDUCTIONS, SHAPES, OTHERS, CREATION, LINEAR_ALGEBRA, FOURIER)
    paths = [path for group in groups for path in group.split()]
    found = {path: find(np, path) for path in paths}
    return {path: function for path, function in found.items() if function is not None}


def numpy_callable(kind: str, name: str) -> Callable[..., Any]:
    """The operation of the node on arrays of NumPy."""
    if kind == "function":
        function: Callable[..., Any] = find(np, name)
        return function
    return SHARED[kind](name)


def _tensor_callable(kind: str, name: str) -> Callable[..., Any]:
    if kind != "function":
        return SHARED[kind](name)
    import torch._numpy as on_tensors  # lazy: import time

    found: Callable[..., Any] = find(on_tensors, name)
    return found


def _method(name: str) -> Callable[..., Any]:
    return lambda array, *args, **kwargs: getattr(array, name)(*args, **kwargs)


def _attribute(name: str) -> Callable[..., Any]:
    return operator.attrgetter(name)


#: Kinds whose code is the same for arrays of NumPy and of torch._numpy.
SHARED: dict[str, Callable[[str], Callable[..., Any]]] = {
    "operator": lambda name: getattr(operator, name),
    "method": _method,
    "attribute": _attribute,
}


@functools.cache
def graph_function(kind: str, name: str) -> Callable[..., Any]:
    """The target of a node. It takes and returns tensors."""
    from torch._numpy import _dtypes_impl, ndarray  # lazy: import time

    # torch._numpy would take these from the configuration of torch.compile, whose import takes a second.
    if _dtypes_impl._default_dtypes is None:
        numpy_default = torch.float64, torch.complex128, torch.int64
        _dtypes_impl._default_dtypes = _dtypes_impl.DefaultDTypes(*numpy_default)  # type: ignore[assignment]
    function = _tensor_callable(kind, name)
    if name in CORRECTIONS:
        function = CORRECTIONS[name](function)

    def run(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map(lambda v: ndarray(v) if isinstance(v, torch.Tensor) else v, (args, kwargs))
        return tree_map(
            lambda v: _plain(v.tensor) if isinstance(v, ndarray) else v, function(*args, **kwargs)
        )

    run.__name__ = "numpy_" + name.replace(".", "_")
    run.__qualname__ = f"by_name.{kind}.{name.replace('.', '/')}"
    _operations[run] = kind, name
    return run


class _OfKind:
    """Its attributes are the functions of one kind. (A name has a slash for each dot.)"""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __getattr__(self, path: str) -> Callable[..., Any]:
        name = path.replace("/", ".")
        if not _is_supported(self._kind, name):
            raise AttributeError(f"no {self._kind} {name}")
        return graph_function(self._kind, name)


def _is_supported(kind: str, name: str) -> bool:
    if kind == "operator":
        return hasattr(operator, name)
    names = {"function": supported_functions(), "method": METHODS, "attribute": ARRAY_ATTRIBUTES}[kind]
    return name in names


#: where graphs that are stored find their functions: `by_name.function.sin`
by_name = types.SimpleNamespace(**{kind: _OfKind(kind) for kind in ("function", *SHARED)})

_operations: dict[Any, tuple[str, str]] = {}


def operation_of(target: Any) -> tuple[str, str] | None:
    """The kind and name of a target that `graph_function` made; None for any other target of a node."""
    return _operations.get(target)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor without lazy conjugation and negation, which arrays do not know."""
    return tensor.resolve_conj().resolve_neg()


def _on_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy divides integers in double precision."""

    def as_float(value: Any) -> Any:
        is_whole = hasattr(value, "tensor") and not (
            value.tensor.is_floating_point() or value.tensor.is_complex()
        )
        return value.astype("float64") if is_whole else value

    return lambda left, right, **kwargs: function(as_float(left), as_float(right), **kwargs)


def _with_signed_zeros(clip: Callable[..., Any]) -> Callable[..., Any]:
    """Where a value equals a bound, NumPy takes the value, or the bound if one of the bounds is an array."""
    where = _tensor_callable("function", "where")

    def exact(array: Any, min: Any, max: Any) -> Any:
        found = clip(array, min, max)
        if min is None or max is None or not found.tensor.is_floating_point():
            return found
        if all(bound.tensor.numel() == 1 for bound in (min, max) if hasattr(bound, "tensor")):
            return where(found == array, array, found)
        raised = where(array == min, min, found)
        return where(raised == max, max, raised)

    def clipped(array: Any, min: Any = None, max: Any = None, out: Any = None) -> Any:
        found = exact(array, min, max)
        if out is None:
            return found
        clip(array, min, max, out)  # it may be an argument, too
        out[...] = found
        return out

    return clipped


#: Operations for which torch._numpy computes in another precision than NumPy, or gives zeros of another sign.
CORRECTIONS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    **dict.fromkeys(("truediv", "divide", "true_divide"), _on_floats),
    "clip": _with_signed_zeros,
}


def with_strides(tensor: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """A copy in the given layout."""
    return torch.empty_strided(tuple(tensor.shape), strides, dtype=tensor.dtype).copy_(tensor)


# --- inputs and outputs of the graph ----------------------------------------------------------------------


def array_of(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """The array that shares a result's memory. Modes of the program have seen its own calls alone."""
    with torch._C.DisableTorchFunction():
        return tensor.numpy()


def read_only_array_of(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """The same for an array to which NumPy would not let the program write."""
    array = array_of(tensor)
    array.flags.writeable = False
    return array


def scalar_of(tensor: torch.Tensor) -> np.generic:
    """A NumPy number, which NumPy's own functions return in place of an array without dimensions."""
    number: Any = array_of(tensor)[()]
    return number


def stand_in(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """An array of the dtype and layout of a (fake) tensor, with values that any function takes.

    Integers are good indices, matrices are regular.
    """
    shape = tuple(tensor.shape)
    empty = torch.empty_strided(shape, tensor.stride(), dtype=tensor.dtype)
    if not tensor.dtype.is_floating_point and not tensor.dtype.is_complex:
        return empty.fill_(0).numpy()
    held = empty.untyped_storage().nbytes() // empty.element_size()
    overlaps = held < empty.numel()  # the array is expanded: write each element in memory once
    target = empty.as_strided((held,), (1,)) if overlaps else empty
    spread = torch.arange(target.numel(), dtype=torch.float64).mul_(0.618).remainder_(1).add_(0.5)
    target.copy_(spread.reshape(target.shape))
    return empty.numpy()
