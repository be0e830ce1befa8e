"""The table of handlers: the function that carries out an instruction on a `Translator`.

In:  functions with `@opcode("BINARY_OP")`, and the dialect of the running Python version.
Out: `handler_of(name)`: the handler of an instruction of the version, or None.

The names are those of CPython. A version may have several instructions for one act, or another name for it.
The dialect's table `SAME_AS` says which handler serves. In 3.11, `POP_JUMP_BACKWARD_IF_TRUE` does the same as
`POP_JUMP_IF_TRUE`. An instruction without a handler breaks the graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from capture.bytecode.dialects import dialect
from capture.interpret.opcodes import contents
from codegen.kernel.families import Table

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator

    Handler = Callable[[Translator, Instruction], None]

HANDLERS: Table[Handler] = Table(contents, "HANDLERS")


def opcode(*names: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for name in names:
            HANDLERS[name] = handler
        return handler

    return register


@functools.cache
def handler_of(name: str) -> Handler | None:
    handler: Handler | None = HANDLERS.get(dialect.SAME_AS.get(name, name))
    return handler
