"""In:   A captured graph and example inputs.
Out:  A callable that runs it.
"""

from __future__ import annotations

from capture.backends import llvm as llvm  # registers the backends of the package
from capture.backends.registry import lookup, names, register

__all__ = ["lookup", "names", "register"]
