"""The exceptions of a compilation that cannot continue, and what the caller does then.

In:  what the graph does not allow, or what this package does wrong.
Out: one class for each consequence.

    UntraceableError, UnsupportedTensor   the graph runs through eager, operator by operator
    NotSymbolic, UnplannableError         the graph is compiled for each combination of its sizes
    EmitError, CompilationFailed          a defect of this package: a warning, then as in the first line
"""

from __future__ import annotations


class UntraceableError(RuntimeError):
    """The graph does something that the tracer cannot express as a functional graph."""


class UnsupportedTensor(TypeError):
    """The fake tensors have no such kind: sparse, quantised, a subclass, ... The text names the kind."""


class NotSymbolic(Exception):
    """The graph has to be compiled for each combination of its ints."""


class UnplannableError(ValueError):
    """The program has something that a launch plan cannot express (a symbolic size)."""


class EmitError(ValueError):
    """Loop IR that cannot become machine code. The text names the buffer, accumulator or axis."""


class CompilationFailed(RuntimeError):
    """LLVM refused the text that the emitter wrote. `text` is the module."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text
