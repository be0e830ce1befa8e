"""Captures PyTorch programs from CPython bytecode and runs them as native code.

    import capture

    with capture.enable():              # every frame called in the block, on this thread
        train(model, loader)

    fast = capture.compile(model)       # or one callable; also @capture.compile
    print(capture.explain(model)(x))

In:  PyTorch programs.
Out: the names below; see README.md.

This import loads the interpreter, the guards and the tracer. The first graph that is compiled imports the
modules that lower graphs.
"""

from __future__ import annotations

import importlib.util
import os
import sys


def _check_siblings() -> None:
    """Raise a clear error if another module hides one of our packages: they have common names."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name in ("cache", "codegen", "guards"):
        spec = importlib.util.find_spec(name)
        found = spec.origin if spec is not None else None
        if found is None or os.path.dirname(os.path.dirname(os.path.abspath(found))) != home:
            where = f"{found or 'a namespace package or no file'} instead of {os.path.join(home, name)}"
            raise ImportError(
                f"capture needs its own package {name!r}, but `import {name}` gives {where}: "
                f"rename that module, or keep its folder off sys.path"
            )


_check_siblings()

from capture.report import versions

versions.check()

try:
    import _capture
except ImportError:  # the extension is not built: its twin is enough for hook="settrace"
    from capture.hooks import python_capture

    sys.modules["_capture"] = python_capture

from capture.process import collection

with collection.settled():
    import llvmlite.binding
    import platformdirs

    import cache.store
    import capture.frame.convert
    import capture.variables.core.wrap
    import codegen.launch.jit

from capture import backends, store
from capture.api import (
    allow_in_graph,
    assume_constant_result,
    compile,
    disable,
    enable,
    graph_break,
    is_capturing,
    is_compiling,
    mark_dynamic,
    mark_static,
    maybe_mark_dynamic,
    reset,
)
from capture.explain import Explanation, explain
from capture.policy.stance import set_stance
from capture.report import log
from capture.report.callbacks import on_guard_failure
from capture.report.config import config
from capture.report.counters import counters
from capture.report.errors import (
    BackendError,
    CaptureError,
    CaptureWarning,
    ConfigError,
    ConstraintViolation,
    InternalError,
    RecompileError,
    RecompileLimitExceeded,
    UnknownBackend,
    Unsupported,
    UsageError,
)

__version__ = "0.1.0"

__all__ = [
    "BackendError",
    "CaptureError",
    "CaptureWarning",
    "ConfigError",
    "ConstraintViolation",
    "Explanation",
    "InternalError",
    "RecompileError",
    "RecompileLimitExceeded",
    "UnknownBackend",
    "Unsupported",
    "UsageError",
    "allow_in_graph",
    "assume_constant_result",
    "backends",
    "compile",
    "config",
    "counters",
    "disable",
    "enable",
    "explain",
    "graph_break",
    "is_capturing",
    "is_compiling",
    "log",
    "mark_dynamic",
    "mark_static",
    "maybe_mark_dynamic",
    "on_guard_failure",
    "reset",
    "set_stance",
    "store",
]
