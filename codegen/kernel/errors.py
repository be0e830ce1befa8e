"""What a compilation raises where it can't go on, and who answers.

In:  what the graph, or the compiler itself, does not allow.
Out: one class for each answer.

    UntraceableError, UnsupportedTensor   the graph runs through eager, operator by operator
    NotSymbolic, UnplannableError         the graph is compiled for each combination of its sizes
    EmitError, CompilationFailed          a defect of this package: one warning, and the graph runs through eager
"""

from __future__ import annotations


class UntraceableError(RuntimeError):
    """The graph does something that the tracer has no functional form for."""


class UnsupportedTensor(TypeError):
    """A tensor of a kind that has no fake twin: sparse, quantised, a subclass, ... The text says which."""


class NotSymbolic(Exception):
    """The graph has to be compiled for each combination of its ints."""


class UnplannableError(ValueError):
    """The program has something that a launch plan cannot say (a symbolic size)."""


class EmitError(ValueError):
    """Loop IR that has no meaning as machine code; the text names the buffer, accumulator or axis."""


class CompilationFailed(RuntimeError):
    """LLVM refused a text that the emitter wrote. `text` is the module."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text
