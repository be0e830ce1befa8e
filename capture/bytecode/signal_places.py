"""Where the interpreter looks for signals: behind calls, jumps back, and at the begin of a function.

In:  a code object, and an instruction at which new code goes on, or which it runs.
Out: whether a handler of a signal may run there: the `except`, `finally` and `with` blocks that see what it
     raises are those that see it in eager.

    with lock: x = f(x)      ->    between the call of `f` and that of `lock.__exit__` nobody looks for
                                   signals: else the lock would stay taken

So what a signal raises must not move out of a block. To move into one does no harm: the signal comes a moment
later.
"""

from __future__ import annotations

from types import CodeType

from capture.bytecode.by_code import cached
from capture.bytecode.dialects import dialect
from capture.bytecode.instructions import Handler, decode


def seen_behind(code: CodeType, index: int, target: int) -> int | None:
    """The instruction whose handlers see what a signal raises between instruction `index` and then `target`.
    None: nobody looks for signals there.
    """
    decoded = decode(code)
    looks = decoded.instructions[index].name in dialect.LOOKS_FOR_SIGNALS
    return index if looks or decoded.handlers[index] == decoded.handlers[target] else None


@cached(maxsize=4096)
def sees_signals_before(code: CodeType, index: int) -> bool:
    """Whether the handlers of instruction `index` may see what a signal raises ahead of it: no block ends on
    the only way to it from a place where the interpreter looks for signals.
    """
    decoded, targets = decode(code), _targets(code)
    while index not in targets and index > 0:
        if _leaves_block(decoded.handlers[index - 1], decoded.handlers[index]):
            return False
        index -= 1
        name = decoded.instructions[index].name
        if name in dialect.LOOKS_FOR_SIGNALS or name in dialect.BEGINS_FRAME:
            return True
    return False


@cached(maxsize=1024)
def _targets(code: CodeType) -> frozenset[int]:
    decoded = decode(code)
    jumps = (step.target for step in decoded.instructions if step.target is not None)
    return frozenset((*jumps, *(handler.target for handler in decoded.handlers if handler is not None)))


def _leaves_block(handler: Handler | None, following: Handler | None) -> bool:
    """The handlers of inner blocks stand in front of those of outer ones."""
    if handler is None or handler == following:
        return False
    return following is None or following.target > handler.target
