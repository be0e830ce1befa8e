"""Dispatchers: a function runs a dispatcher's code instead of its own, so that the hook sees its calls.

In:  a function, and a callable for its calls.
Out: a code object with the function's signature. It passes all arguments to the callable as one tuple.

    def f(a, *rest, k=1): ...     ->     def f(a, *rest, k=1): return dispatch(dispatcher, (a, k, rest))

The tuple has the order of the frame's locals. The dispatcher is the first constant of the code. `own_code`
finds it there, and returns the bytecode that the author wrote.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from inspect import CO_NEWLOCALS, CO_OPTIMIZED, CO_VARARGS, CO_VARKEYWORDS
from typing import Any

from capture.bytecode import library
from capture.bytecode.dialects import Assembler
from capture.bytecode.emit import bytecode_like, held_constant, release_constants


class Dispatcher:
    """A function's own code, and a function `positional` that runs it with all arguments positional.

    A dispatcher has no reference to the function itself. The garbage collector does not see code objects, so
    the function and its dispatcher would keep each other alive for ever.
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
    """The number of parameters of all kinds: positional, keyword-only, *args, **kwargs.

    They are the first locals of a frame.
    """
    return (
        code.co_argcount
        + code.co_kwonlyargcount
        + bool(code.co_flags & CO_VARARGS)
        + bool(code.co_flags & CO_VARKEYWORDS)
    )


def positional_code(code: types.CodeType) -> types.CodeType:
    """The same code with all parameters positional: it takes the first locals of a frame in their order."""
    return code.replace(
        co_argcount=argument_count(code),
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~(CO_VARARGS | CO_VARKEYWORDS),
    )


def dispatcher_code(dispatcher: Dispatcher) -> types.CodeType:
    """Code for the function of `dispatcher`, with the same name, place, signature and free variables."""
    own = dispatcher.code
    names = list(own.co_varnames[: argument_count(own)])
    held = held_constant(dispatcher)
    code = Assembler(library.InstrLocation(own.co_firstlineno, None, None, None))
    code.begin()
    code.load_callable(held)
    for name in names:
        code.load_local(name)
    code.call(len(names))
    code.return_value()
    flags = CO_OPTIMIZED | CO_NEWLOCALS | own.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
    result = bytecode_like(own, code.instructions, names, flags)
    result.docstring = held  # the docstring becomes the first constant
    result.argcount = own.co_argcount
    result.posonlyargcount, result.kwonlyargcount = own.co_posonlyargcount, own.co_kwonlyargcount
    result.freevars = list(own.co_freevars)
    return release_constants(result.to_code())


def dispatcher_of(code: types.CodeType) -> Dispatcher | None:
    """The dispatcher of a dispatching code object."""
    first = code.co_consts[:1]
    return first[0] if first and type(first[0]) is Dispatcher else None


def own_code(code: types.CodeType) -> types.CodeType:
    """The code that the author wrote: for a dispatching code object the code of its function."""
    dispatcher = dispatcher_of(code)
    return code if dispatcher is None else dispatcher.code
