"""Rules for functions of NumPy, and for functions of torch that take or give NumPy arrays.

In:  a call with NumPy values among its arguments, or an existing array, number or function of NumPy.
Out: operations of the graph on tensors, or constants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from capture.graph import numpy_functions
from capture.report.break_reasons import GraphBreak
from capture.variables.callables.builtin import BuiltinVariable, describe_all
from capture.variables.containers.sequence import SequenceVariable
from capture.variables.core.base import Variable
from capture.variables.core.constant import fold
from capture.variables.core.rules import CALLS, lookup
from capture.variables.core.wrap import WRAPPERS, guard_identity
from capture.variables.objects.wrap import wrap_object
from capture.variables.tensors import numpy_inputs, numpy_operations, numpy_operators
from capture.variables.tensors.tensor import TensorVariable

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
            given[0] = numpy_inputs.from_tensor(tx, given[0])
        nested = given[0] if path in FROM_TENSOR and given else None
        plain = len(given) == 1 and set(kwargs) <= {"dtype"}
        if plain and isinstance(nested, SequenceVariable) and numpy_operations.is_among(nested.items):
            made = numpy_operations.array_of_arrays(tx, nested)
            return made.call_method(tx, "astype", [*kwargs.values()], {}) if kwargs else made
        if path == "power":
            return numpy_operators.operator_on_arrays(tx, "**", pow, given)
        if path in CREATION or numpy_operations.is_among([*given, *kwargs.values()]):
            return numpy_operations.operation(tx, "function", path, given, kwargs)
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


# --- existing values --------------------------------------------------------------------------------------


def wrap_numpy_function(output: Output, value: Any, source: Source | None) -> Variable:
    if lookup(value) is None:
        return wrap_object(output, value, source)
    guard_identity(output, value, source)
    return BuiltinVariable(value, source)


WRAPPERS[np.ndarray] = numpy_inputs.wrap_array
for _class in NUMBERS:
    WRAPPERS[_class] = numpy_inputs.wrap_number
WRAPPERS[np.ufunc] = wrap_numpy_function
WRAPPERS[type(np.mean)] = wrap_numpy_function
