"""The trace file of a process: one JSON object a line.

In:  events of `capture.report.observe`, of all threads.
Out: lines of `trace-PID.jsonl`. docs/trace.md has the schema.

    Event("store", kind="graph", found=True)
        ->    {"event": "store", "t": 0.3, "thread": 1, "frame": 7, "attempt": null, "kind": "graph", ...}

A line is written whole, and at once: what a process that is killed has written can be read.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import linecache
import os
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

from cache.code_table import CodeTable
from capture.report.log import warn_once_at
from capture.report.observe import Event
from capture.tracing.forms import FORMS
from capture.tracing.places import Form
from capture.tracing.process_form import end_form, memory_form, process_form
from codegen.kernel import forks
from codegen.launch.kernel_report import copy_bandwidth

_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode
_lock = forks.held_by_forks(threading.RLock(), forks.TRACE)


class TraceFile:
    """The recorder of a trace. `show`: the names of the large events that are asked for."""

    def __init__(self, folder: Path, show: Sequence[str]) -> None:
        self.folder = folder
        self.show = frozenset(show)
        self._timed: list[tuple[int, Any, dict[int, Any]]] = []
        self._tried: list[tuple[int, weakref.ref[Any]]] = []  # entries that had a trial
        self._begin()

    def _begin(self) -> None:
        """Open the file of this process, and write its first line."""
        self.pid = os.getpid()
        self.path, self._file = _new_file(self.folder, self.pid)
        self._codes: CodeTable[int] = CodeTable()
        self._numbers = itertools.count()
        self._natives = itertools.count()
        self.started, self._processor = time.perf_counter(), time.process_time()
        self._write("process", self.started, process_form(sorted(self.show)))

    def record(self, event: Event) -> None:
        form = FORMS.get(event.name)
        if form is None:
            return
        with _lock:
            if self._file.closed:
                return
            if os.getpid() != self.pid:  # a child of `fork` writes a file of its own
                self._begin()
            fields = form(event, self)
            if fields is not None:
                self._write(event.name, event.time, fields, event)
            if event.name == "frame_end":
                self._write("memory", event.time, memory_form(), event)
            elif event.name == "trial":
                entry = event.fields["entry"]
                self._tried.append((entry.number, weakref.ref(entry)))

    def close(self) -> None:
        with _lock:
            if self._file.closed:
                return
            now = time.perf_counter()
            if os.getpid() == self.pid:
                for number, graph, work in self._timed:
                    self._write("calls", now, calls_form(number, graph, work))
                for number, entry in self._tried:
                    if (found := entry()) is not None:
                        self._write("runs", now, {"entry": number, "runs": found.hits})
                self._write("memory", now, memory_form())
                seconds, processor = self.since_start(now), time.process_time() - self._processor
                copied = copy_bandwidth() if self._timed else None
                self._write("end", now, end_form(seconds, processor, copied))
            self._timed.clear()
            self._tried.clear()
            self._file.close()

    def since_start(self, moment: float) -> float:
        return round(moment - self.started, 7)

    def number_of_code(self, code: CodeType) -> int:
        """The number of a code object. The first time, its event is written."""
        known = self._codes.get(code)
        if known is None:
            known = self._codes[code] = next(self._numbers)
            self._write("code", time.perf_counter(), {"code": known, **code_form(code)})
        return known

    def number_of_native(self, graph: Any, work: dict[int, Any]) -> int:
        """The number of new native code. Its calls are timed from now on, if that was asked for."""
        number = next(self._natives)
        if "calls" in self.show:
            graph.start_timing()
            self._timed.append((number, graph, work))
        return number

    def _write(self, name: str, moment: float, fields: Form, event: Event | None = None) -> None:
        frame = None if event is None or event.frame is None else event.frame
        head = {
            "event": name,
            "t": self.since_start(moment),
            "thread": threading.get_ident(),
            "frame": None if frame is None else frame.number,
            "attempt": None if frame is None else frame.attempt,
        }
        try:
            self._file.write(_encode(head | fields) + "\n")
        except OSError as error:  # a full disk: the program goes on without the trace
            with contextlib.suppress(OSError):  # the line that it could not write
                self._file.close()
            warn_once_at((str(self.path), 1), "trace", f"the trace ends here: {error}")


def _new_file(folder: Path, pid: int) -> tuple[Path, Any]:
    """The first file of this process that is not there yet. Lines are written at once."""
    for name in _names(pid):
        path = folder / name
        try:
            return path, open(path, "x", buffering=1, encoding="utf-8")
        except FileExistsError:
            continue
    raise AssertionError("the names have no end")


def _names(pid: int) -> Iterator[str]:
    yield f"trace-{pid}.jsonl"
    for number in itertools.count(1):
        yield f"trace-{pid}-{number}.jsonl"


def code_form(code: CodeType) -> Form:
    """A function and its lines."""
    last = max((line for *_, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 : last]
    return {
        "function": code.co_qualname,
        "file": code.co_filename,
        "first": code.co_firstlineno,
        "last": last,
        "source": "".join(lines) if lines else None,
    }


def calls_form(number: int, graph: Any, work: dict[int, Any]) -> Form:
    steps = [
        {
            "name": work[place].name,
            "calls": calls,
            "ns": spent,
            "bytes": work[place].bytes_moved,
            "flops": work[place].flops,
        }
        for place, (calls, spent) in enumerate(graph.timings)
        if calls and place in work
    ]
    return {"native": number, "steps": steps}
