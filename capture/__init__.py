"""Captures PyTorch programs from CPython bytecode and runs them as native code.

    import capture

    with capture.enable():              # every frame called in the block, on this thread
        train(model, loader)

    fast = capture.compile(model)       # or one callable; also @capture.compile
    print(capture.explain(model)(x))

In:  PyTorch programs.
Out: the names below; see README.md.

This import loads the hook, the guards and the store. The first frame that is translated imports the
interpreter; the first graph that is compiled imports the modules that lower graphs, and LLVM. A process that
finds all its entries in the store imports neither.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec


def _check_siblings() -> None:
    """Raise a clear error if another module hides one of our packages: they have common names.

    A folder of that name without Python files (data that a program keeps in `cache/`) hides none. Python
    finds it first where an editable install has put us behind `sys.path`.
    """
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name in ("cache", "codegen", "guards"):
        spec = importlib.util.find_spec(name)
        if spec is not None and _is_folder_of_data(spec):
            spec = _import_from(home, name)
        found = spec.origin if spec is not None else None
        if found is None or os.path.dirname(os.path.dirname(os.path.abspath(found))) != home:
            where = f"{found or 'a namespace package or no file'} instead of {os.path.join(home, name)}"
            raise ImportError(
                f"capture needs its own package {name!r}, but `import {name}` gives {where}: "
                f"rename that module, or keep its folder off sys.path"
            )


def _is_folder_of_data(spec: ModuleSpec) -> bool:
    folders = spec.submodule_search_locations if spec.origin is None else None
    return bool(folders) and not any(
        name.endswith(".py") for folder in folders or () for name in os.listdir(folder)
    )


def _import_from(home: str, name: str) -> ModuleSpec | None:
    """Our package `name`, whatever stands in front of it."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(home, name, "__init__.py"))
    if spec is not None and spec.loader is not None:
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return spec


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
    import cache.store
    import capture.frame.convert
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
    from capture.check import CheckResult, check
    from capture.explain import Explanation, explain
    from capture.exporting.export import Exported, export
    from capture.exporting.loading import load
    from capture.graphdef.importer import import_graphdef
    from capture.minify import Minified, minify
    from capture.policy.stance import set_stance
    from capture.primitives import primitives
    from capture.report import log, observe, views
    from capture.report.callbacks import on_guard_failure
    from capture.report.config import config
    from capture.report.counters import counters
    from capture.report.errors import (
        ArgumentError,
        BackendError,
        CaptureError,
        CaptureWarning,
        ConfigError,
        ConstraintViolation,
        ExportError,
        GraphDefError,
        InternalError,
        RecompileError,
        RecompileLimitExceeded,
        UnknownBackend,
        Unsupported,
        UsageError,
    )
    from capture.scalar import jit_scalar
    from capture.tracing.trace import start_from_environment, trace

observe.add_recorder(views.Views())
start_from_environment()

__version__ = versions.CAPTURE


def load_ipython_extension(shell: object) -> None:
    """`%load_ext capture` in a notebook: the magics `%%captured` and `%captured on`."""
    from capture import notebook

    notebook.load(shell)


__all__ = [
    "ArgumentError",
    "BackendError",
    "CaptureError",
    "CaptureWarning",
    "CheckResult",
    "ConfigError",
    "ConstraintViolation",
    "Explanation",
    "ExportError",
    "Exported",
    "GraphDefError",
    "InternalError",
    "Minified",
    "RecompileError",
    "RecompileLimitExceeded",
    "UnknownBackend",
    "Unsupported",
    "UsageError",
    "allow_in_graph",
    "assume_constant_result",
    "backends",
    "check",
    "compile",
    "config",
    "counters",
    "disable",
    "enable",
    "explain",
    "export",
    "graph_break",
    "import_graphdef",
    "is_capturing",
    "is_compiling",
    "jit_scalar",
    "load",
    "log",
    "mark_dynamic",
    "mark_static",
    "maybe_mark_dynamic",
    "minify",
    "on_guard_failure",
    "primitives",
    "reset",
    "set_stance",
    "store",
    "trace",
]
