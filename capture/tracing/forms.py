"""The events, in the form in which a trace file has them: one row for each (docs/trace.md).

In:  an event of `capture.report.observe`, and the trace that writes it.
Out: its fields, of what `json` can write; None: this trace does not show it.

    Event("break", reason=...)    ->    {"id": "data_dependent_jump", "stack": [...], ...}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from capture.bytecode.resume import point_of
from capture.decompile import decompile
from capture.report.observe import Event
from capture.tracing.graph_form import graph_form, inputs_form
from capture.tracing.places import Form, place_form, stack_form
from codegen.launch.kernel_texts import kernel_texts

if TYPE_CHECKING:
    from capture.tracing.trace_file import TraceFile
    from guards.failure import FailureText
    from guards.guard import Guard


def _frame(event: Event, trace: TraceFile) -> Form:
    capture, settings = event.frame, event.fields["settings"]
    assert capture is not None
    code = point_of(capture.code).original
    return {
        "name": capture.name,
        "function": capture.piece.function,
        "piece": capture.piece.number,
        "capture": capture.capture,
        "resumed_at": capture.piece.line,
        "file": code.co_filename,
        "line": code.co_firstlineno,
        "code": trace.number_of_code(code),
        "backend": settings.backend_name,
        "fullgraph": settings.fullgraph,
        "dynamic": settings.dynamic,
    }


def _frame_end(event: Event, trace: TraceFile) -> Form:
    capture = event.frame
    assert capture is not None
    return {
        "outcome": capture.outcome,
        "kind": None if capture.entry is None else _kind(capture.entry),
        "graph": capture.graph,
        "seconds": capture.seconds,
        "attempts": 0 if capture.attempt is None else capture.attempt + 1,
    }


def _kind(entry: Any) -> str:
    if entry.code is not None:
        return "code"
    return "python" if entry.graph is None else "graph"


def _phase(event: Event, trace: TraceFile) -> Form:
    start, end = (trace.since_start(event.fields[name]) for name in ("start", "end"))
    return {"phase": event.fields["phase"], "start": start, "end": end, "graph": event.fields["graph"]}


def _attempt(event: Event, trace: TraceFile) -> Form:
    signal = event.fields["signal"]
    return {"signal": type(signal).__name__, "text": str(signal)}


def _graph(event: Event, trace: TraceFile) -> Form:
    assert event.frame is not None
    return {
        "graph": event.frame.graph,
        "name": event.frame.name,
        "operations": event.fields["operations"],
        "inputs": inputs_form(event.fields["inputs"]),
        **graph_form(event.fields["module"].graph),
    }


def _break(event: Event, trace: TraceFile) -> Form:
    reason = event.fields["reason"]
    return {
        "id": reason.id,
        "reason": reason.reason,
        "hint": reason.hint,
        "message": reason.message,
        "stack": stack_form(reason.user_stack),
        "made_by": [
            {"text": text, "place": place_form(place.co_filename, place.line, place.co_qualname)}
            for text, place in reason.made_by
        ],
        "is_error": event.fields["is_error"],
    }


def _guards(event: Event, trace: TraceFile) -> Form:
    return {"guards": list(map(_guard, event.fields["guards"]))}


def _guard(guard: Guard) -> Form:
    return {
        "kind": type(guard).__name__,
        "source": guard.sources[0].text if guard.sources else "",
        "text": guard.text,
        "place": _place_of(guard),
    }


def _place_of(guard: Guard | None) -> Form | None:
    if guard is None or not guard.user_stack:
        return None
    return stack_form(guard.user_stack[-1:])[0]


def _recompile(event: Event, trace: TraceFile) -> Form:
    pairs = zip(event.fields["entries"], event.fields["causes"], strict=True)
    return {"causes": [_cause(entry, cause) for entry, cause in pairs]}


def _cause(entry: Any, cause: FailureText) -> Form:
    return {
        "entry": entry.number,
        "source": cause.source,
        "was": cause.old,
        "now": cause.new,
        "text": cause.text,
        "place": _place_of(cause.guard),
    }


def _bytecode(event: Event, trace: TraceFile) -> Form | None:
    if "bytecode" not in trace.show:
        return None
    listing, after = event.fields["listing"], event.fields["after"]
    slots = [source.text for source in event.fields["slots"]]
    return {
        "before": listing(event.fields["before"]),
        "after": listing(after),
        "python": decompile(after, slots, event.fields["graph"]).text,
    }


def _native(event: Event, trace: TraceFile) -> Form:
    graph = event.fields["native"]
    return {
        "native": trace.number_of_native(graph, event.fields["work"]),
        "graph": event.fields["graph"],
        "role": event.fields["role"],
        "kernels": kernel_texts(graph, trace.show),
        "operators": list(graph.extern_calls),
        "workspace": event.fields["workspace"],
    }


def _trial(event: Event, trace: TraceFile) -> Form:
    times = {name: dict(zip(("mean", "least"), event.fields[name])) for name in ("python", "own")}
    return {"entry": event.fields["entry"].number, **times}


def _dropped(event: Event, trace: TraceFile) -> Form:
    entry = event.fields["entry"]
    return {"entry": entry.number, "reason": event.fields["reason"], "runs": entry.hits}


def _as_it_is(event: Event, trace: TraceFile) -> Form:
    return dict(event.fields)


def _store(event: Event, trace: TraceFile) -> Form:
    return {name: event.fields.get(name) for name in ("kind", "found", "graph")}


FORMS: dict[str, Callable[[Event, TraceFile], Form | None]] = {
    "frame": _frame,
    "frame_end": _frame_end,
    "phase": _phase,
    "attempt": _attempt,
    "graph": _graph,
    "break": _break,
    "guards": _guards,
    "recompile": _recompile,
    "limit": _as_it_is,
    "left": _as_it_is,
    "bytecode": _bytecode,
    "native": _native,
    "eager_graph": _as_it_is,
    "store": _store,
    "trial": _trial,
    "dropped": _dropped,
    "warning": _as_it_is,
}
