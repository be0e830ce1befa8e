"""What each bytecode instruction does to a Translator, one file a family.

`HANDLERS[name](tx, instruction)`. Every opcode of `dis.opmap` is either there or in `UNSUPPORTED`, with the
reason why it breaks the graph.
"""

from __future__ import annotations

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
from capture.interpret.opcodes.registry import HANDLERS
from capture.variables import families
from capture.variables import wrappers as wrapping

UNSUPPORTED: dict[str, str] = {
    "PRINT_EXPR": "interactive statements only",
    "IMPORT_STAR": "module level only",
    "GET_AITER": "asynchronous code is left to Python",
    "GET_ANEXT": "asynchronous code is left to Python",
    "BEFORE_ASYNC_WITH": "asynchronous code is left to Python",
    "END_ASYNC_FOR": "asynchronous code is left to Python",
    "ASYNC_GEN_WRAP": "asynchronous code is left to Python",
    "GET_AWAITABLE": "asynchronous code is left to Python",
}

__all__ = ["HANDLERS", "UNSUPPORTED"]
FAMILIES = (calls, collections, control, exceptions, names, operators, patterns, stack)
