"""The handlers of the bytecode instructions, one file for each family.

In:  `HANDLERS[name](tx, instruction)`.
Out: changes of `tx`: its stack, its locals, its position, the graph.

Each instruction of the running Python version is either in `HANDLERS`, or in the dialect's `UNSUPPORTED` with
the reason for its graph break.
"""

from __future__ import annotations

from capture.bytecode.dialects import dialect
from capture.interpret.opcodes import (
    calls,
    collections,
    control,
    exceptions,
    names,
    operators,
    patterns,
    stack,
)
from capture.interpret.opcodes.registry import handlers_of
from capture.variables import families

HANDLERS = handlers_of(dialect)

__all__ = ["HANDLERS"]
FAMILIES = (calls, collections, control, exceptions, names, operators, patterns, stack)
