"""Rules for functions of NumPy, and for functions of torch that take or give NumPy arrays.

In:  a call with NumPy values among its arguments, or an existing array, number or function of NumPy.
Out: operations of the graph on tensors, or constants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from capture.graph import numpy_functions
from capture.report.break_reasons import GraphBreak
from capture.variables.callables.builtin import BuiltinVariable, describe_all
from capture.variables.containers.sequence import SequenceVariable, holds_symbols
from capture.variables.core.base import Variable
from capture.variables.core.constant import fold
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.rules import CALLS, lookup, rule
from capture.variables.core.wrap import WRAPPERS, guard_identity, guard_type
from capture.variables.objects.wrap import wrap_object
from capture.variables.tensors import numpy_array, numpy_operators
from capture.variables.tensors.numpy_array import NumpyVariable
from capture.variables.tensors.tensor import TensorVariable
from guards.sources import ConstantSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source

CREATION = frozenset(numpy_functions.CREATION.split())
FROM_TENSOR = ("array", "asarray", "ascontiguousarray")
#: Classes of numbers for which torch has a dtype.
NUMBERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.float16, np.float32, np.float64)


def _numpy_rule(path: str, function: Any) -> Callable[..., Variable]:
    def call(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
        given = list(args)
        if path in FROM_TENSOR and given and isinstance(given[0], TensorVariable):
            given[0] = numpy_array.from_tensor(tx, given[0])
        nested = given[0] if path in FROM_TENSOR and given else None
        plain = len(given) == 1 and set(kwargs) <= {"dtype"}
        if plain and isinstance(nested, SequenceVariable) and numpy_array.is_among(nested.items):
            made = numpy_array.array_of_arrays(tx, nested)
            return made.call_method(tx, "astype", [*kwargs.values()], {}) if kwargs else made
        if path == "power":
            return numpy_operators.operator_on_arrays(tx, "**", pow, given)
        if path in CREATION or numpy_array.is_among([*given, *kwargs.values()]):
            return numpy_array.operation(tx, "function", path, given, kwargs)
        if all(a.is_constant() for a in [*given, *kwargs.values()]):
            return fold(function, given, kwargs)
        raise GraphBreak("builtin", name=f"numpy.{path}", value=describe_all(given))

    return call


for _path, _function in numpy_functions.supported_functions().items():
    CALLS.setdefault(_function, _numpy_rule(_path, _function))


def _fold_rule(function: Any) -> Callable[..., Variable]:
    return lambda tx, *args, **kwargs: fold(function, list(args), kwargs)


for _class in {*np.sctypeDict.values(), np.dtype}:
    CALLS[_class] = _fold_rule(_class)


# --- torch's functions on arrays --------------------------------------------------------------------------


@rule(torch.from_numpy)
def _from_numpy(tx: Interpreter, array: Variable) -> Variable:
    if not isinstance(array, NumpyVariable) or not isinstance(array.example, np.ndarray):
        raise GraphBreak("unsupported_torch_function", name="from_numpy")
    return numpy_array.to_tensor(tx, array)


def _tensor_from(name: str, copies: bool) -> Callable[..., Variable]:
    """The rule for torch.tensor, as_tensor or asarray. It handles arrays; other data goes to torch."""
    function = getattr(torch, name)

    def call(tx: Interpreter, data: Variable, *args: Variable, **kwargs: Variable) -> Variable:
        if isinstance(data, NumpyVariable):
            if args or not set(kwargs) <= {"dtype", "device"}:
                raise GraphBreak("not_a_graph_argument", value=data)
            data = numpy_array.to_tensor(tx, data)
            if copies:
                data = tx.output.call_function(tx, torch.clone, [data], {})
            return tx.output.call_method(tx, "to", [data], kwargs) if kwargs else data
        if holds_symbols(tx, data):  # torch makes a new tensor of symbols in any case
            return tx.output.call_function(tx, torch.tensor, [data, *args], kwargs)
        return tx.output.call_function(tx, function, [data, *args], kwargs)

    return call


for _name, _copies in (("tensor", True), ("as_tensor", False), ("asarray", False)):
    CALLS[getattr(torch, _name)] = _tensor_from(_name, _copies)


# --- existing values --------------------------------------------------------------------------------------


def wrap_numpy_function(output: Output, value: Any, source: Source | None) -> Variable:
    if lookup(value) is None:
        return wrap_object(output, value, source)
    guard_identity(output, value, source)
    return BuiltinVariable(value, source)


def wrap_function_in_cython(output: Output, value: Any, source: Source | None) -> Variable:
    """NumPy's random functions, and functions of other libraries that are made by Cython."""
    if not str(value.__module__).startswith("numpy.random"):
        return wrap_object(output, value, source)
    guard_identity(output, value, source)
    return OpaqueVariable(value, source or ConstantSource(value), "numpy_random", name=value.__qualname__)


def wrap_random_generator(output: Output, value: Any, source: Source | None) -> Variable:
    guard_type(output, value, source)
    held = source or ConstantSource(value)
    return OpaqueVariable(value, held, "numpy_random", name=f"numpy.random.{type(value).__name__}")


def _new_generator(name: str) -> Callable[..., Variable]:
    def call(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
        raise GraphBreak("numpy_random", name=f"numpy.random.{name}")

    return call


for _class in (np.random.Generator, np.random.RandomState):
    WRAPPERS[_class] = wrap_random_generator
    CALLS[_class] = _new_generator(_class.__name__)
WRAPPERS[type(np.random.default_rng)] = wrap_function_in_cython
WRAPPERS[np.ndarray] = numpy_array.wrap_array
for _class in NUMBERS:
    WRAPPERS[_class] = numpy_array.wrap_number
WRAPPERS[np.ufunc] = wrap_numpy_function
WRAPPERS[type(np.mean)] = wrap_numpy_function
