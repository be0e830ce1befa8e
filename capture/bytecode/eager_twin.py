"""The code of a function as a callee with positional arguments alone.

In:  a code object.
Out: the names of its arguments; the same code that takes them all by position.

    def f(x, *, scale)    ->    def f(x, scale)
"""

from __future__ import annotations

import types

from capture.bytecode.by_code import cached


def argument_names(code: types.CodeType) -> tuple[str, ...]:
    """The argument names of a frame in the order of its locals: positional, keyword-only, *args, **kwargs."""
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return code.co_varnames[:count]


@cached(maxsize=4096)
def eager_twin(code: types.CodeType) -> types.CodeType:
    """The same code with all parameters positional. It gets a mark, so it is never captured."""
    count = len(argument_names(code))
    flags = code.co_flags & ~(0x04 | 0x08)
    return code.replace(co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=flags)
