"""Calls that stop in a debugger: the frame is left to Python, so the user finds the frame that was written.

In:  `breakpoint()`, `pdb.set_trace()` and the like, reached by the interpreter.
Out: a break that leaves the frame, and those that it was inlined into, to Python as a whole.

A rewritten frame would stop too. But the variables that the graph holds are no locals of it.
"""

from __future__ import annotations

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
    raise _stop("breakpoint")


def is_stop(function: Any) -> bool:
    return (function.__module__, function.__name__) in STOPS


def stop(tx: Any, function: Any, args: Any, kwargs: Any) -> Variable:
    """The call of a function in `STOPS`."""
    raise _stop(f"{function.function.__module__}.{function.function.__name__}")


def _stop(name: str) -> GraphBreak:
    signal = GraphBreak("debugger", name=name)
    signal.skips_frame = True
    return signal
