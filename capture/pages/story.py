"""What a trace tells, in the order in which the page shows it.

In:  a `Trace`.
Out: a `Story`: totals, functions with their lines and pieces, breaks, recompiles, graphs, kernels.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field
from typing import Any

from capture.tracing.read import Event, Trace
from capture_records import dataclass


@dataclass
class Totals:
    """Seconds of the whole trace, in native code (None: not measured) and in captures."""

    seconds: float
    native: float | None
    compiling: float
    captures: int
    breaks: int
    recompiles: int

    @property
    def python(self) -> float:
        """The rest: Python, operators of torch outside of graphs, waiting."""
        return max(0.0, self.seconds - self.compiling - (self.native or 0.0))


@dataclass
class Step:
    """A kernel or call of native code, with what was measured of it.

    title: the operators of a kernel. nodes: of the graph, those that it computes.
    """

    graph: int | None
    role: str
    name: str
    calls: int = 0
    seconds: float = 0.0
    bytes_moved: float = 0.0  # of one call
    operations: float | None = None
    texts: dict[str, str] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    title: str = ""
    nodes: list[str] = field(default_factory=list)

    @property
    def bandwidth(self) -> float | None:
        return self.bytes_moved * self.calls / self.seconds if self.seconds else None


@dataclass
class Capture:
    """One capture of a piece: a `frame` event and what belongs to it."""

    number: int
    frame: Event
    end: Event
    graphs: list[Event]
    breaks: list[Event]
    guards: list[Event]
    causes: list[Event]
    bytecode: Event | None
    left: list[Event]

    @property
    def name(self) -> str:
        return str(self.frame["name"])

    @property
    def seconds(self) -> float:
        return float(self.end.get("seconds") or 0.0)


@dataclass
class Function:
    """A function of the program: its source and the captures of its pieces."""

    code: Event
    captures: list[Capture]
    is_of_library: bool = False

    @property
    def seconds(self) -> float:
        return sum(capture.seconds for capture in self.captures)


@dataclass
class Group:
    """The same break in several captures."""

    first: Event
    place: Event
    events: list[Event]
    captures: list[Capture]

    @property
    def pairs(self) -> list[tuple[Capture, Event]]:
        return list(zip(self.captures, self.events))


@dataclass
class Trial:
    """An entry that Python ran before: seconds of a run, and how often the entry ran."""

    capture: Capture
    python: float
    own: float
    runs: int

    @property
    def saved(self) -> float:
        return (self.python - self.own) * self.runs


@dataclass
class Story:
    trace: Trace
    totals: Totals
    captures: list[Capture]
    functions: list[Function]
    breaks: list[Group]
    steps: list[Step]
    copy_bandwidth: float | None
    trials: list[Trial]

    def graph_name(self, number: int | None) -> str:
        found = (graph for graph in self.trace.of("graph") if graph["graph"] == number)
        return str(next((graph["name"] for graph in found), "another graph"))


def tell(trace: Trace) -> Story:
    captures = _captures(trace)
    steps = _steps(trace)
    seconds = [event["end"] for event in trace.of("phase")]
    end = trace.of("end")[0] if trace.of("end") else {"seconds": max([trace.events[-1]["t"], *seconds])}
    measured = sum(step.seconds for step in steps) if trace.of("calls") else None
    totals = Totals(
        seconds=end["seconds"],
        native=measured,
        compiling=_compiling(trace, captures),
        captures=len(captures),
        breaks=len(trace.of("break")),
        recompiles=len(trace.of("recompile")),
    )
    bandwidth = end.get("copy_bandwidth")
    functions, trials = _functions(trace, captures), _trials(trace, captures)
    return Story(trace, totals, captures, functions, _breaks(captures), steps, bandwidth, trials)


def _trials(trace: Trace, captures: list[Capture]) -> list[Trial]:
    """Those of frames without breaks. A frame with breaks calls others, whose own trials have their part."""
    by_number = {capture.number: capture for capture in captures if not capture.breaks}
    runs = {event["entry"]: event["runs"] for name in ("runs", "dropped") for event in trace.of(name)}
    found = [
        Trial(
            by_number[event["entry"]],
            event["python"]["mean"] / 1e9,
            event["own"]["mean"] / 1e9,
            runs.get(event["entry"], 0),
        )
        for event in trace.of("trial")
        if event["entry"] in by_number
    ]
    return sorted(found, key=lambda trial: -abs(trial.saved))


def _compiling(trace: Trace, captures: list[Capture]) -> float:
    """Captures, and the backwards that were compiled at their first run. Phases within phases count once."""
    spans = [(p["start"], p["end"]) for p in trace.of("phase") if p["frame"] is None]
    spans += [(c.frame["t"], c.frame["t"] + c.seconds) for c in captures]
    total, reached = 0.0, 0.0
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _captures(trace: Trace) -> list[Capture]:
    by_frame: dict[int, dict[str, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for event in trace.events:
        if event.get("frame") is not None:
            by_frame[event["frame"]][event["event"]].append(event)
    found = []
    for number, events in by_frame.items():
        for frame in events["frame"][:1]:
            found.append(
                Capture(
                    number=number,
                    frame=frame,
                    end=next(iter(events["frame_end"]), {}),
                    graphs=events["graph"],
                    breaks=events["break"],
                    guards=[guard for event in events["guards"] for guard in event["guards"]],
                    causes=_different([cause for event in events["recompile"] for cause in event["causes"]]),
                    bytecode=next(iter(events["bytecode"]), None),
                    left=events["left"],
                )
            )
    return found


def _different(causes: list[Event]) -> list[Event]:
    """Several entries fail for one reason."""
    return list({cause["text"]: cause for cause in causes}.values())


def is_of_library(file: str) -> bool:
    return "site-packages" in file or "dist-packages" in file or "/lib/python3" in file


def _functions(trace: Trace, captures: list[Capture]) -> list[Function]:
    """Those of the program first, and among them those whose captures took the longest."""
    own: dict[int, list[Capture]] = defaultdict(list)
    for capture in captures:
        own[capture.frame["code"]].append(capture)
    result = [Function(c, own[c["code"]], is_of_library(c["file"])) for c in trace.of("code")]
    return sorted(result, key=lambda f: (f.is_of_library, -f.seconds, f.code["file"], f.code["first"]))


def _breaks(captures: list[Capture]) -> list[Group]:
    groups: dict[tuple[Any, ...], Group] = {}
    for capture in captures:
        for event in capture.breaks:
            place = (
                event["stack"][-1] if event["stack"] else {"file": "", "line": 0, "function": "", "text": ""}
            )
            key = (event["id"], event["reason"], place["file"], place["line"])
            group = groups.setdefault(key, Group(event, place, [], []))
            group.events.append(event)
            group.captures.append(capture)
    return sorted(groups.values(), key=lambda group: -len(group.events))


def _steps(trace: Trace) -> list[Step]:
    steps: dict[tuple[int, str], Step] = {}
    natives = {native["native"]: native for native in trace.of("native")}
    for number, native in natives.items():
        for kernel in native["kernels"]:
            texts = {name: kernel[name] for name in ("loops", "llvm", "asm") if kernel.get(name)}
            steps[number, kernel["name"]] = Step(
                native["graph"],
                native["role"],
                kernel["name"],
                texts=texts,
                inputs=kernel.get("inputs", []),
                outputs=kernel.get("outputs", []),
                title=kernel.get("title", ""),
                nodes=kernel.get("nodes", []),
            )
    for event in trace.of("calls"):
        native = natives.get(event["native"], {"graph": None, "role": ""})
        for measured in event["steps"]:
            name = measured["name"].partition(",")[0]
            step = steps.setdefault((event["native"], name), Step(native["graph"], native["role"], name))
            step.calls += measured["calls"]
            step.seconds += measured["ns"] / 1e9
            step.bytes_moved = max(step.bytes_moved, measured["bytes"])
            step.operations = measured["flops"]
    return list(steps.values())
