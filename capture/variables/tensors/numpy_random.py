"""NumPy's random numbers, which break the graph. `import numpy` does not import them; it takes 5 ms.

In:  a generator or a function of `numpy.random`.
Out: a variable that breaks the graph when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from capture.report.break_reasons import GraphBreak
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.rules import CALLS
from capture.variables.core.wrap import WRAPPERS, guard_identity, guard_type
from capture.variables.objects.wrap import wrap_object
from guards.sources import ConstantSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.base import Variable
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source


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
