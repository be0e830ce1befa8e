"""Locals that nothing reads any more, but whose objects have to last as long as in Python: to the end of the
function.

In:  a local of the frame at a break, and the code that has been written for the break so far.
Out: whether its object may be told of its end (by a weak reference to it, or its `__del__`).

    node = Node(); ref = weakref.ref(node); <break>; ref()     ->    the resume function gets `node` too
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.variables.core.base import LazyVariable, Variable
from capture.variables.objects.user_object import ObjectVariable
from guards.sources import HEAP_TYPE

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode


def end_is_noticed(variable: Variable, code: PythonCode) -> bool:
    """Instances of the program's classes, where there is an object: of what the frame made only in thought,
    no one can hold a reference.
    """
    if isinstance(variable, LazyVariable):
        cls: type = type(variable.value)
    elif isinstance(variable, ObjectVariable) and (variable.source is not None or code.has_built(variable)):
        cls = variable.cls
    else:
        return False
    return bool(cls.__flags__ & HEAP_TYPE) and (cls.__weakrefoffset__ != 0 or hasattr(cls, "__del__"))
