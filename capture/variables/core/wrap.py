"""Wrapping existing Python values as variables, by a table of types that the families fill.

In:  a value and its source (None: the code itself holds the value, so it needs no guard).
Out: its Variable, with guards on everything that we concluded from the value.

One existing object has one variable, no matter how the program reached it. If a second source leads to the
same object, a guard checks that both sources lead to one object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.variables.core import contents
from capture.variables.core.granted import granted
from capture.variables.core.makers import make
from codegen.kernel.families import Table
from guards.kinds.identity import ExactTypeGuard, IdentityGuard
from guards.sources import ConstantSource, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.base import Variable
    from capture.variables.core.protocols import Output

#: for values of exactly this type: (output, value, source or None) -> Variable
WRAPPERS: Table[Any] = Table(contents, "WRAPPERS")


def wraps(*types_: type | str) -> Callable[[Any], Any]:
    def register(wrapper: Any) -> Any:
        for kind in types_:
            WRAPPERS[kind] = wrapper
        return wrapper

    return register


def wrap(output: Output, value: Any, source: Source | None) -> Variable:
    """The variable of an existing value."""
    known = output.objects.known(value)
    if known is not None:
        if source is not None and known.source is not None and source != known.source:
            output.guarding.same_object(known.source, source)
        return known
    if source is not None:
        output.budget.count_place()
    if source is None or isinstance(source, ConstantSource):
        granted().objects[id(value)] = value
    wrapper = WRAPPERS.get(type(value)) or WRAPPERS["by_base"](value)
    variable: Variable = wrapper(output, value, source)
    if variable.one_per_object:
        output.objects.remember(value, variable)
    return variable


def wrap_class(output: Output, cls: type) -> Variable:
    """A class that is the type of a known value. The guard on the value also covers the class."""
    return wrap(output, cls, ConstantSource(cls))


def class_constant(output: Output, cls: type) -> Variable:
    """A class that bytecode loads. It needs no guard."""
    granted().objects[id(cls)] = cls
    return output.objects.known(cls) or make(type, cls, ConstantSource(cls))


def guard_type(output: Output, value: Any, source: Source | None) -> None:
    if source is not None:
        output.guards.add(ExactTypeGuard.of(source, value))


def guard_identity(output: Output, value: Any, source: Source | None) -> None:
    if source is not None and not isinstance(source, ConstantSource):
        output.guards.add(IdentityGuard.of(source, value))
