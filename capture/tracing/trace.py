"""`capture.trace(folder)`: what this process captures, as a file of events.

In:  a folder, and what to show beside the usual events.
Out: a context manager. Inside of it, `trace-PID.jsonl` gets the events of all threads.

    with capture.trace("folder"): train()        CAPTURE_TRACE=folder python train.py
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from capture.report import observe
from capture.report.errors import ConfigError, UsageError, did_you_mean
from codegen.kernel import events

if TYPE_CHECKING:
    from capture.tracing.trace_file import TraceFile

#: what a trace has only if it is asked for
SHOWN = ("bytecode", "loops", "llvm", "asm", "calls")
#: what graphs from the store do not have
OF_COMPILED = frozenset(("loops", "llvm", "asm", "calls"))


class trace:
    """Write what is captured in the block to a file in `folder`.

    show: what to write beside the usual events, names of `SHOWN`, or "all" (docs/trace.md).
    `path` is the file. Errors: ConfigError for an unknown name; OSError if the folder can't be made.
    """

    def __init__(self, folder: str | os.PathLike[str], *, show: str | Iterable[str] = ()) -> None:
        names = [show] if isinstance(show, str) else list(show)
        for name in names:
            if name not in (*SHOWN, "all"):
                raise ConfigError(f"a trace can't show {name!r}: {did_you_mean(name, (*SHOWN, 'all'))}")
        self.folder = Path(folder).expanduser()
        self.show = SHOWN if "all" in names else tuple(names)
        self._file: TraceFile | None = None

    @property
    def path(self) -> Path:
        if self._file is None:
            raise UsageError("a trace has a file once its block is entered")
        return self._file.path

    def __enter__(self) -> trace:
        from capture.tracing.trace_file import TraceFile  # lazy: import time

        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = TraceFile(self.folder, self.show)
        self._compiled_all = events.compiles_all
        events.compiles_all |= not OF_COMPILED.isdisjoint(self.show)
        observe.add_recorder(self._file)
        return self

    def __exit__(self, *error: object) -> None:
        assert self._file is not None
        observe.remove_recorder(self._file)
        events.compiles_all = self._compiled_all
        self._file.close()


def start_from_environment(environment: Mapping[str, str] = os.environ) -> None:
    """Trace the whole process if CAPTURE_TRACE names a folder. CAPTURE_TRACE_SHOW is a list with commas."""
    folder = environment.get("CAPTURE_TRACE")
    if not folder:
        return
    show = [name.strip() for name in environment.get("CAPTURE_TRACE_SHOW", "").split(",") if name.strip()]
    started = trace(folder, show=show).__enter__()
    atexit.register(started.__exit__)
