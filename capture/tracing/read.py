"""Trace files as events.

In:  a folder that `capture.trace` has written; docs/trace.md is the schema.
Out: a `Trace` for each process, in the order in which they began. Errors: UsageError, with the way out.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import field
from pathlib import Path
from typing import Any

from capture.report.errors import UsageError
from capture.tracing.process_form import SCHEMA
from capture_records import dataclass

Event = dict[str, Any]

HOW = "write one by `with capture.trace(folder):`, or run the program with CAPTURE_TRACE=folder"


@dataclass
class Trace:
    """The events of one process, by their names. `is_cut`: its last line is not whole."""

    path: Path
    events: list[Event]
    is_cut: bool = False
    by_name: dict[str, list[Event]] = field(default_factory=dict)

    @property
    def process(self) -> Event:
        return self.events[0]

    def of(self, name: str) -> list[Event]:
        return self.by_name.get(name, [])


def read_folder(folder: str | Path) -> list[Trace]:
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(f"there is no folder {str(folder)!r}: {HOW}")
    files = sorted(path.glob("trace-*.jsonl"))
    if not files:
        raise UsageError(f"the folder {str(folder)!r} has no trace (trace-*.jsonl): {HOW}")
    traces = [_read(file) for file in files]
    return sorted(traces, key=lambda trace: trace.process.get("started", 0.0))


def _read(path: Path) -> Trace:
    lines = path.read_bytes().splitlines()
    events: list[Event] = []
    is_cut = False
    for number, line in enumerate(lines, 1):
        try:
            events.append(json.loads(line))
        except ValueError:
            if number < len(lines) or not events:
                raise UsageError(f"{path}:{number} is no JSON: remove the file, or {HOW}") from None
            is_cut = True  # the process was killed while it wrote
    _check(path, events)
    by_name = defaultdict(list)
    for event in events:
        by_name[event["event"]].append(event)
    return Trace(path, events, is_cut or not by_name["end"], dict(by_name))


def _check(path: Path, events: list[Event]) -> None:
    first = events[0] if events and isinstance(events[0], dict) else {}
    if first.get("event") != "process":
        raise UsageError(f"{path} does not begin with the event `process`: it is no whole trace; {HOW}")
    if first.get("schema") != SCHEMA:
        raise UsageError(
            f"{path} has schema {first.get('schema')}, and this version of capture reads {SCHEMA}: make the "
            "report with the version that wrote the trace"
        )
    for number, event in enumerate(events, 1):
        if not isinstance(event, dict) or "event" not in event:
            raise UsageError(f"{path}:{number} is no event: remove the file, or {HOW}")
