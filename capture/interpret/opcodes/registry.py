"""The table that the opcode families fill: `@opcode("BINARY_OP")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator

    Handler = Callable[[Translator, Instruction], None]

HANDLERS: dict[str, Handler] = {}


def opcode(*names: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for name in names:
            HANDLERS[name] = handler
        return handler

    return register
