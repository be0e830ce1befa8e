"""Dispatchers: code that a function runs in place of its own, to have its calls looked at.

In:  a function, and what its calls shall go to.
Out: a code object with the function's signature that hands its arguments over, all in one tuple.

    def f(a, *rest, k=1): ...     ->     def f(a, *rest, k=1): return dispatch(dispatcher, (a, k, rest))

The order in the tuple is that of the frame's locals. The dispatcher is the first constant of the code: from
there `own_code` finds the way back, for those who read a function's bytecode.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from bytecode import Bytecode, CompilerFlags, Instr
from bytecode.instr import InstrLocation

CO_OPTIMIZED, CO_NEWLOCALS, CO_VARARGS, CO_VARKEYWORDS = 0x1, 0x2, 0x4, 0x8


class Dispatcher:
    """What a dispatching code object knows: its function's own code, and a function that runs it with all
    arguments positional.

    No reference to the function itself: code objects are no part of garbage collection, the two would keep
    each other alive for ever.
    """

    def __init__(
        self, dispatch: Callable[[Dispatcher, tuple[Any, ...]], Any], function: types.FunctionType
    ) -> None:
        self.dispatch = dispatch
        self.code = function.__code__
        self.positional = types.FunctionType(
            positional_code(self.code), function.__globals__, function.__name__, None, function.__closure__
        )

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatch(self, arguments)


def argument_count(code: types.CodeType) -> int:
    """Formals of all kinds: positional, keyword-only, *args, **kwargs; the first locals of a frame."""
    return (
        code.co_argcount
        + code.co_kwonlyargcount
        + bool(code.co_flags & CO_VARARGS)
        + bool(code.co_flags & CO_VARKEYWORDS)
    )


def positional_code(code: types.CodeType) -> types.CodeType:
    """The same code, its formals all positional: takes the first locals of a frame in their order."""
    return code.replace(
        co_argcount=argument_count(code),
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~(CO_VARARGS | CO_VARKEYWORDS),
    )


def dispatcher_code(dispatcher: Dispatcher) -> types.CodeType:
    """Code for the function of `dispatcher`: same name, place, signature and free variables."""
    own = dispatcher.code
    names = own.co_varnames[: argument_count(own)]
    place = InstrLocation(own.co_firstlineno, None, None, None)
    steps: list[tuple[Any, ...]] = [("RESUME", 0), ("PUSH_NULL",), ("LOAD_CONST", dispatcher)]
    steps += [("LOAD_FAST", name) for name in names]
    steps += [("PRECALL", len(names)), ("CALL", len(names)), ("RETURN_VALUE",)]
    result = Bytecode([Instr(*step, location=place) for step in steps])
    result.name, result.filename, result.first_lineno = own.co_name, own.co_filename, own.co_firstlineno
    result.qualname = own.co_qualname
    result.docstring = dispatcher  # type: ignore[assignment]  # becomes the first constant
    result.argnames, result.argcount = list(names), own.co_argcount
    result.posonlyargcount, result.kwonlyargcount = own.co_posonlyargcount, own.co_kwonlyargcount
    result.flags = CompilerFlags(CO_OPTIMIZED | CO_NEWLOCALS | own.co_flags & (CO_VARARGS | CO_VARKEYWORDS))
    result.freevars = list(own.co_freevars)
    return result.to_code()


def dispatcher_of(code: types.CodeType) -> Dispatcher | None:
    """The dispatcher of a dispatching code object."""
    first = code.co_consts[:1]
    return first[0] if first and type(first[0]) is Dispatcher else None


def own_code(code: types.CodeType) -> types.CodeType:
    """The code that the author wrote: of a dispatching code object that of its function, of any other that
    itself.
    """
    dispatcher = dispatcher_of(code)
    return code if dispatcher is None else dispatcher.code
