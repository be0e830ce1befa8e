"""The table of handlers: the function that carries out an instruction on a `Translator`.

In:  functions with `@opcode("BINARY_OP")`, and the dialect of the running Python version.
Out: `handlers_of(dialect)`: the handler of each instruction of the version.

The names are those of CPython. A version may have several instructions for one act, or another name for it.
The dialect's table `SAME_AS` says which handler serves. In 3.11, `POP_JUMP_BACKWARD_IF_TRUE` does the same as
`POP_JUMP_IF_TRUE`. The table leaves out the handlers that the version does not need. An instruction without a
handler breaks the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator

    Handler = Callable[[Translator, Instruction], None]

_handlers: dict[str, Handler] = {}


def opcode(*names: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for name in names:
            assert name not in _handlers, f"{name} has two handlers"
            _handlers[name] = handler
        return handler

    return register


def handlers_of(dialect: Any) -> dict[str, Handler]:
    acts = {name: dialect.SAME_AS.get(name, name) for name in dialect.OPCODES}
    return {name: _handlers[act] for name, act in acts.items() if act in _handlers}
