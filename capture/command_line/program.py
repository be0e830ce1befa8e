"""Runs a script or a module as Python does, with capture around it.

In:  a script, its arguments, the settings of `capture.enable`.
Out: the exit status. SystemExit and other exceptions pass; a traceback begins at the script's first line.

    Program("train.py", ["--epochs", "3"], {"backend": "llvm"}).run()
"""

from __future__ import annotations

import builtins
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import runpy
import sys
import types
from collections.abc import Iterator
from typing import Any

from capture.api import enable
from capture.report.config import config
from capture.report.errors import UsageError
from capture.tracing.trace import trace


class Program:
    """A program that is not running yet. Errors: UsageError if there is no such program or backend."""

    def __init__(
        self,
        script: str,
        arguments: list[str],
        settings: dict[str, Any],
        *,
        is_module: bool = False,
        check: bool = False,
        trace_to: str | None = None,
    ) -> None:
        self.script = script
        self.arguments = arguments
        self.is_module = is_module
        self.check = check
        if not is_module and not os.path.isfile(script):
            kind = "is a folder: name a file in it" if os.path.isdir(script) else "does not exist"
            raise UsageError(f"the script {script!r} {kind}; for a module write `run -m {script}`")
        if is_module:
            self.find_module()
        self.tracing = contextlib.nullcontext() if trace_to is None else _reported(trace_to)
        self.region = enable(**settings)

    def find_module(self) -> None:
        sys.path[0] = os.getcwd()
        try:
            found = importlib.util.find_spec(self.script)
        except (ImportError, ValueError) as error:
            raise UsageError(f"the module {self.script!r} can't be found: {error}") from None
        if found is None:
            raise UsageError(f"no module is named {self.script!r}; for a file write `run {self.script}`")

    def run(self) -> int:
        if self.check:
            config.check = True
        sys.argv = [self.script, *self.arguments]
        try:
            with self.tracing, self.region:
                if self.is_module:
                    runpy.run_module(self.script, run_name="__main__", alter_sys=True)
                else:
                    self.run_file()
        except SystemExit:
            raise
        except BaseException:
            sys.excepthook = _WithoutUs(sys.excepthook)
            raise
        return 0

    def run_file(self) -> None:
        path = os.path.abspath(self.script)
        sys.path[0] = os.path.dirname(path)
        with io.open_code(path) as file:
            code = compile(file.read(), path, "exec")
        main = types.ModuleType("__main__")
        main.__dict__.update(
            __file__=path,
            __builtins__=builtins,
            __cached__=None,
            __loader__=importlib.machinery.SourceFileLoader("__main__", path),
        )
        sys.modules["__main__"] = main
        exec(code, main.__dict__)


@contextlib.contextmanager
def _reported(folder: str) -> Iterator[None]:
    """Trace the block, and make the report of the trace, also where the program fails."""
    try:
        with trace(folder, show=("calls", "bytecode", "loops")):
            yield
    finally:
        from capture.pages import write_report  # lazy: import time

        try:
            path = write_report(folder, os.path.join(folder, "report.html"))
            print(f"the report of the run is {path}", file=sys.stderr)
        except UsageError as error:  # the trace is there; the program's own outcome stays as it is
            print(f"the run has a trace in {folder}, but no report: {error}", file=sys.stderr)


class _WithoutUs:
    """The program's excepthook. It does not see the frames below the program."""

    def __init__(self, hook: Any) -> None:
        self.hook = hook

    def __call__(self, kind: Any, error: BaseException, trace: types.TracebackType | None) -> None:
        while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
            trace = trace.tb_next
        error.__traceback__ = trace
        self.hook(kind, error, trace)


OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _is_ours(file: str) -> bool:
    return file.startswith(OURS) or file in ("<frozen runpy>", runpy.__file__)
