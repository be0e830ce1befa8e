"""A trace as Perfetto and chrome://tracing read it.

In:  the events of trace files.
Out: one JSON file: phases and captures as slices, breaks and recompiles as instants, memory as a counter.

    {"event": "phase", "phase": "lower", ...}    ->    {"name": "lower", "ph": "X", "ts": 83.0, ...}

Times in that format are microseconds. Processes are placed by the time at which their traces began.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from capture.report.whole_file import write_whole
from capture.tracing.read import read_folder

Form = dict[str, Any]


def write_perfetto(folder: str | Path, target: str | Path) -> Path:
    """Write all trace files of `folder` to one file.

    Errors: FileNotFoundError if there are none, UsageError for a file that is no trace.
    """
    if not any(Path(folder).glob("trace-*.jsonl")):
        raise FileNotFoundError(f"{folder} has no file trace-*.jsonl")
    traces = read_folder(folder)
    first = traces[0].process["started"]
    written = [
        form for trace in traces for form in _of_process(trace.events, trace.process["started"] - first)
    ]
    return write_whole(target, json.dumps({"traceEvents": written, "displayTimeUnit": "ms"}))


def _of_process(events: list[Form], later: float) -> Iterator[Form]:
    """The slices of one process, whose trace began `later` seconds after the first one."""
    pid, starts, names = events[0]["pid"], {}, {}
    yield {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": " ".join(events[0]["argv"])}}
    for event in events:
        if event["event"] == "frame":
            starts[event["frame"]], names[event["frame"]] = event["t"], event["name"]
        make = SLICES.get(event["event"])
        if make is None:
            continue
        form = make(event, names.get(event["frame"], ""))
        begin = form.pop("begin", starts.get(event["frame"], event["t"]))
        if form["ph"] == "X":
            form["dur"] = (event.get("end", event["t"]) - begin) * 1e6
        else:
            begin = event["t"]
        yield {"ts": (begin + later) * 1e6, "pid": pid, "tid": event["thread"], **form}


def _frame_end(event: Form, name: str) -> Form:
    return {"name": name, "cat": "capture", "ph": "X", "args": {"outcome": event["outcome"]}}


def _phase(event: Form, name: str) -> Form:
    args = {"capture": name, "graph": event["graph"]}
    return {"name": event["phase"], "cat": "phase", "ph": "X", "begin": event["start"], "args": args}


def _break(event: Form, name: str) -> Form:
    args = {"capture": name, "reason": event["reason"], "stack": event["stack"]}
    return {"name": f"break: {event['id']}", "ph": "i", "s": "t", "args": args}


def _recompile(event: Form, name: str) -> Form:
    args = {"capture": name, "causes": [cause["text"] for cause in event["causes"]]}
    return {"name": "recompile", "ph": "i", "s": "t", "args": args}


def _left(event: Form, name: str) -> Form:
    args = {"capture": name, "reason": event["reason"]}
    return {"name": "left to Python", "ph": "i", "s": "t", "args": args}


def _memory(event: Form, name: str) -> Form:
    return {"name": "memory", "ph": "C", "args": {"resident": event["resident"]}}


SLICES: dict[str, Callable[[Form, str], Form]] = {
    "frame_end": _frame_end,
    "phase": _phase,
    "break": _break,
    "recompile": _recompile,
    "left": _left,
    "memory": _memory,
}
