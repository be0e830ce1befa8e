"""Calls that stop in a debugger, or let one follow: the frame is left to Python as it was written.

In:  `breakpoint()`, `pdb.set_trace()`, `sys.settrace(f)` and the like, reached by the interpreter.
Out: a break that leaves the frame, and those that it was inlined into, to Python as a whole.

A rewritten frame would stop too. But the variables that the graph holds are no locals of it. A trace function
would see the call of the function that goes on behind the break.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.core.rules import rule

if TYPE_CHECKING:
    from capture.variables.core.base import Interpreter, Variable

#: (module, name) of the Python functions of debuggers that stop where they are called
STOPS = frozenset(
    [
        ("pdb", "set_trace"),
        ("ipdb.__main__", "set_trace"),
        ("pudb", "set_trace"),
        ("debugpy.public_api", "breakpoint"),
        ("IPython.core.debugger", "set_trace"),
        ("IPython.terminal.embed", "embed"),
        ("code", "interact"),
        ("torch.distributed", "breakpoint"),
    ]
)


@rule(breakpoint)
def _breakpoint(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    raise _left("debugger", name="breakpoint")


@rule(sys.settrace)
def _settrace(tx: Interpreter, function: Variable) -> Variable:
    raise _left("call", value="sys.settrace")


@rule(sys.setprofile)
def _setprofile(tx: Interpreter, function: Variable) -> Variable:
    raise _left("call", value="sys.setprofile")


def is_stop(function: Any) -> bool:
    return (function.__module__, function.__name__) in STOPS


def stop(tx: Any, function: Any, args: Any, kwargs: Any) -> Variable:
    """The call of a function in `STOPS`."""
    raise _left("debugger", name=f"{function.function.__module__}.{function.function.__name__}")


def _left(reason: str, **values: str) -> GraphBreak:
    signal = GraphBreak(reason, **values)
    signal.skips_frame = True
    return signal
