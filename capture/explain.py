"""explain: a report about the capture of a program.

In:  a function or module, then arguments to call it with.
Out: `Explanation`: graphs, breaks with reason and line, guards, times. `str()` gives a text to read.

    found = capture.explain(toy_example)(a, b); print(found); found.save("report.html")

    2 graphs, 1 graph break, 5 operations
    graph break 1: a branch depends on the values of a tensor [data_dependent_jump] ...

The call runs once. It makes its own cache entries: it neither uses nor changes the earlier entries.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from capture.backends.settings import make_settings
from capture.hooks import converters, switch
from capture.hooks.compiled_module import original_of
from capture.hooks.regions import Region, original_function
from capture.report.arguments import checked_arguments, shown
from capture.report.errors import UsageError
from capture.report.observe import Event, observing
from capture_records import dataclass

if TYPE_CHECKING:
    import torch.fx

    from capture.policy.settings import Backend
    from capture.report.break_reasons import BreakReason

#: the large events that an Explanation keeps
SHOWN_EVENTS = ("bytecode", "loops")
CALLS = ("call_function", "call_method", "call_module")


@dataclass(frozen=True)
class CompileTime:
    """Seconds of one phase of a capture. "total" is the whole frame; the other phases are parts of it."""

    function: str
    phase: str
    seconds: float


@dataclass
class Explanation:
    """What was captured in one call.

    graphs: each torch.fx.GraphModule, in the order of capture.
    break_reasons: each graph break, with .id .reason .hint .user_stack.
    ops_per_graph: the targets of the calls in each graph.
    guards: each guard as a text.
    recompiles: for each recompile the guard of an earlier entry that failed, with the old and the new value.
    skipped: (function, reason) of each frame that Python ran as a whole.
    out: what the call returned.
    trace: the events of the call, as in a trace file (docs/trace.md).
    """

    graphs: list[torch.fx.GraphModule] = field(default_factory=list)
    break_reasons: list[BreakReason] = field(default_factory=list)
    compile_times: list[CompileTime] = field(default_factory=list)
    recompiles: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)  # of each graph
    names: list[str] = field(default_factory=list)  # of each graph: the name of its capture
    broken: list[str] = field(default_factory=list)  # of each break: the same
    out: Any = None
    trace: str = ""
    guarded: list[tuple[str, list[str]]] = field(default_factory=list)  # of each entry: function, its guards

    @property
    def graph_count(self) -> int:
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        return len(self.break_reasons)

    @property
    def guards(self) -> list[str]:
        return [text for _, texts in self.guarded for text in texts]

    @property
    def ops_per_graph(self) -> list[list[Any]]:
        return [[node.target for node in gm.graph.nodes if node.op in CALLS] for gm in self.graphs]

    @property
    def op_count(self) -> int:
        return sum(map(len, self.ops_per_graph))

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """The events of the call by their names, of what `json` can write (docs/trace.md)."""
        found: dict[str, list[dict[str, Any]]] = {}
        for line in self.trace.splitlines():
            event = json.loads(line)
            found.setdefault(event["event"], []).append(event)
        return found

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the report of the call as one HTML page. Errors: UsageError where a library for it lacks."""
        from capture.pages.page import write_report  # lazy: import time

        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "trace-0.jsonl").write_text(self.trace, encoding="utf-8")
            return write_report(folder, Path(path))

    def __str__(self) -> str:
        return "\n".join(_report(self))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        import html  # lazy: import time

        first, _, rest = html.escape(str(self)).partition("\n")
        return f"<details open><summary>{first}</summary><pre>{rest}</pre></details>"


@contextlib.contextmanager
def _traced(found: Explanation) -> Iterator[None]:
    """Keep the events of the block, as a trace file has them."""
    from capture.tracing.trace_file import TraceFile  # lazy: import time

    with tempfile.TemporaryDirectory() as folder:
        file = TraceFile(Path(folder), SHOWN_EVENTS)
        try:
            with observing(file):
                yield
        finally:
            file.close()
        found.trace = file.path.read_text(encoding="utf-8")


# --- collecting ---------------------------------------------------------------------------------------------


class Collector:
    """The recorder that fills an Explanation."""

    def __init__(self) -> None:
        self.found = Explanation()

    def record(self, event: Event) -> None:
        collect = COLLECTED.get(event.name)
        if collect is not None and event.frame is not None:
            collect(self.found, event, event.frame.name)


def _graph(found: Explanation, event: Event, name: str) -> None:
    found.graphs.append(event.fields["module"])
    assert event.frame is not None
    found.functions.append(event.frame.piece.function)
    found.names.append(name)


def _break(found: Explanation, event: Event, name: str) -> None:
    if not event.fields["is_error"]:
        found.break_reasons.append(event.fields["reason"])
        found.broken.append(name)


def _guards(found: Explanation, event: Event, name: str) -> None:
    found.guarded.append((name, [guard.text for guard in event.fields["guards"]]))


def _phase(found: Explanation, event: Event, name: str) -> None:
    seconds = event.fields["end"] - event.fields["start"]
    found.compile_times.append(CompileTime(name, event.fields["phase"], seconds))


def _recompile(found: Explanation, event: Event, name: str) -> None:
    found.recompiles.append(f"{name}: {event.fields['causes'][0].text}")


def _left(found: Explanation, event: Event, name: str) -> None:
    found.skipped.append((name, event.fields["reason"]))


def _end(found: Explanation, event: Event, name: str) -> None:
    assert event.frame is not None
    if event.frame.outcome == "entry":
        found.compile_times.append(CompileTime(name, "total", event.frame.seconds))


#: by event: what an Explanation takes from it
COLLECTED = {
    "graph": _graph,
    "break": _break,
    "guards": _guards,
    "phase": _phase,
    "recompile": _recompile,
    "left": _left,
    "frame_end": _end,
}


@checked_arguments
def explain(
    fn: Any,
    *args: Any,
    backend: str | Backend = "llvm",
    fullgraph: bool = False,
    dynamic: bool | None = None,
    hook: str = "pep523",
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Explanation]:
    """A function that calls `fn` and returns the Explanation. The settings are the arguments of `enable`.

    Errors: UsageError if `fn` is not callable or if its arguments are given here. The exceptions of `fn`
    pass through.
    """
    if args:
        raise UsageError("explain takes the function alone: write capture.explain(fn)(*args)")
    if not callable(fn):
        raise UsageError(
            f"only callables and modules can be explained, not {shown(fn)} of type {type(fn).__name__}"
        )
    settings: dict[str, Any] = {"fullgraph": fullgraph, "dynamic": dynamic, "options": options}
    make_settings(backend, **settings)  # a wrong one is an error here, not at the call
    switch.lookup(hook)
    target = original_of(fn) if isinstance(fn, torch.nn.Module) else original_function(fn)
    switch.request(target)  # as compile does: graphs of torch.fx are left alone elsewhere

    def explained(*args: Any, **kwargs: Any) -> Explanation:
        collector = Collector()
        region = Region(switch.lookup(hook), make_settings(backend, tag=object(), **settings))
        try:
            with _traced(collector.found), observing(collector), region:
                switch.prepare(region.hook, target)
                collector.found.out = target(*args, **kwargs)
        finally:
            forget_entries(region)
        return collector.found

    return explained


def forget_entries(region: Region) -> None:
    """Remove the entries that this call made: no later call can use them."""
    assert region.settings is not None
    converters.forget(region.settings)


# --- the report ---------------------------------------------------------------------------------------------

GUARDS_SHOWN = 8  # of each entry; all are in Explanation.guards
WIDTH = 140


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _report(found: Explanation) -> list[str]:
    counts = {
        "graph": found.graph_count,
        "graph break": found.graph_break_count,
        "operation": found.op_count,
        "guard": len(found.guards),
        "recompile": len(found.recompiles),
    }
    lines = [", ".join(_count(number, noun) for noun, number in counts.items())]
    for number, (name, operations) in enumerate(zip(found.names, found.ops_per_graph), 1):
        lines.append(_cut(f"graph {number} ({name}): " + ", ".join(map(_operation_name, operations))))
    lines += _numbered("graph break", map(str, found.break_reasons))
    lines += _numbered("recompile", found.recompiles)
    lines += _numbered("left to Python", (f"{function}: {reason}" for function, reason in found.skipped))
    for function, texts in found.guarded:
        lines += _guard_lines(function, texts)
    if found.compile_times:
        lines.append("compile times: " + _times(found.compile_times))
    return lines


def _numbered(noun: str, texts: Iterable[str]) -> list[str]:
    """Equal texts are one line with their count."""
    return [
        f"{noun} {number}{f', {count} times' if count > 1 else ''}: {text}"
        for number, (text, count) in enumerate(Counter(texts).items(), 1)
    ]


def _guard_lines(function: str, texts: list[str]) -> list[str]:
    lines = [f"guards of {function}:", *(_cut(f"  {text}") for text in texts[:GUARDS_SHOWN])]
    if len(texts) > GUARDS_SHOWN:
        lines.append(f"  ... and {len(texts) - GUARDS_SHOWN} more")
    return lines


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 4] + " ..."


def _times(times: list[CompileTime]) -> str:
    phases: dict[str, float] = {}
    for item in times:
        phases[item.phase] = phases.get(item.phase, 0.0) + item.seconds
    return ", ".join(f"{phase} {seconds * 1000:.1f} ms" for phase, seconds in phases.items())


def _operation_name(target: Any) -> str:
    return target if isinstance(target, str) else getattr(target, "__name__", str(target))
