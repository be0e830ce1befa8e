"""A trace as tlparse reads it, the tool for logs of torch.compile (`pip install tlparse`).

In:  a folder of trace files.
Out: a log for each process. tlparse makes a page of it: a tree of the captured frames by the stacks of their
     functions, and a folder for each capture: graph, break, recompile, guards, bytecode, kernels.

    {"event": "graph", "nodes": [...], ...}
        ->   V0401 12:00:00.250000 4242 capture:1] {"dynamo_output_graph": {}, "frame_id": 0, ...}
             and the texts of the nodes, each line behind a tab

A capture `scale [1/0, resumed at line 6]` is compile id N/0 there: N counts the pieces of all functions.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from capture.report.whole_file import write_whole
from capture.tracing.read import Trace, read_folder

Form = dict[str, Any]
Payload = str | None
#: what an event is in the log: its head, and a text
Entry = tuple[Form, Payload]


def write_tlparse(folder: str | Path) -> list[Path]:
    """Write `tlparse-PID.log` beside each trace file of the folder. Errors: those of `read_folder`."""
    written = []
    for trace in read_folder(folder):
        name = trace.path.name.replace("trace-", "tlparse-").replace(".jsonl", ".log")
        written.append(write_whole(trace.path.with_name(name), "".join(_Log(trace).lines())))
    return written


class _Log:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.pid, self.started = trace.process["pid"], trace.process["started"]
        self.files: dict[str, int] = {}
        self.pieces: dict[tuple[int, int], int] = {}
        self.ids: dict[int, Form] = {}
        self.frames_of_graphs: dict[int, int] = {}

    def lines(self) -> Iterator[str]:
        yield self.line(0.0, {"artifact": {"name": "process", "encoding": "json"}}, _json(self.trace.process))
        for event in self.trace.events:
            if event["event"] == "frame":
                yield from self.begin(event)
            if event["event"] == "graph":
                self.frames_of_graphs[event["graph"]] = event["frame"]
            frame = event["frame"]
            if frame is None:  # a backward, compiled at its first run
                frame = self.frames_of_graphs.get(event.get("graph", -1))
            make = ENTRIES.get(event["event"])
            for head, payload in make(event) if make is not None else ():
                yield self.line(event["t"], {**head, **self.ids.get(frame, {})}, payload)

    def begin(self, event: Form) -> Iterator[str]:
        """The names of its file, and the place at which it hangs in the tree."""
        piece = self.pieces.setdefault((event["code"], event["piece"]), len(self.pieces))
        self.ids[event["frame"]] = {
            "frame_id": piece,
            "frame_compile_id": event["capture"],
            "attempt": 0,
        }
        if event["file"] not in self.files:
            self.files[event["file"]] = len(self.files)
            yield self.line(event["t"], {"str": [event["file"], self.files[event["file"]]]})
        place = {"line": event["line"], "name": event["name"], "filename": self.files[event["file"]]}
        start = {"dynamo_start": {"stack": [place]}}
        yield self.line(event["t"], {**start, **self.ids[event["frame"]]})

    def line(self, t: float, head: Form, payload: Payload = None) -> str:
        moment = self.started + t
        stamp = time.strftime("V%m%d %H:%M:%S", time.gmtime(moment)) + f".{int(moment % 1 * 1e6):06}"
        text = ""
        if payload is not None:
            head = {**head, "has_payload": hashlib.md5(payload.encode(), usedforsecurity=False).hexdigest()}
            text = "".join(f"\t{line}\n" for line in payload.split("\n"))
        return f"{stamp} {self.pid} capture:1] {_json(head)}\n{text}"


def _json(form: Any) -> str:
    return json.dumps(form, separators=(",", ":"))


# --- the events that tlparse shows ------------------------------------------------------------------------


def _text(name: str, payload: str, encoding: str = "string") -> Entry:
    return {"artifact": {"name": name, "encoding": encoding}}, payload


def _graph(event: Form) -> Iterator[Entry]:
    yield {"dynamo_output_graph": {"sizes": {}}}, "\n".join(node["text"] for node in event["nodes"])


def _break(event: Form) -> Iterator[Entry]:
    made = [f"made by: {made['text']}" for made in event["made_by"]]
    stack = [f"  {place['file']}:{place['line']}: {place['text']}" for place in event["stack"]]
    text = "\n".join([f"{event['reason']} [{event['id']}]", f"hint: {event['hint']}", *made, *stack])
    yield _text("dynamo_graph_break_reason", text)


def _recompile(event: Form) -> Iterator[Entry]:
    yield _text("recompile_reasons", _json([cause["text"] for cause in event["causes"]]), "json")


def _guards(event: Form) -> Iterator[Entry]:
    yield _text("guards", "\n".join(guard["text"] for guard in event["guards"]))


def _bytecode(event: Form) -> Iterator[Entry]:
    for name in ("before", "after", "python"):
        yield _text(f"bytecode_{name}", event[name])


def _native(event: Form) -> Iterator[Entry]:
    for kernel in event["kernels"]:
        title = f"{event['role']}_{kernel['name']}"
        for name in ("loops", "llvm", "asm"):
            if kernel.get(name):
                yield _text(f"{title}_{name}", kernel[name])


def _left(event: Form) -> Iterator[Entry]:
    yield _text("left_to_python", event["reason"])


ENTRIES: dict[str, Callable[[Form], Iterator[Entry]]] = {
    "graph": _graph,
    "break": _break,
    "recompile": _recompile,
    "guards": _guards,
    "bytecode": _bytecode,
    "native": _native,
    "left": _left,
}
