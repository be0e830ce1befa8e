"""The logs and the counters, as views of the stream of events.

In:  events of `capture.report.observe`.
Out: records of the logs that are on; counts.

    Event("break", reason=...)    ->    [capture.graph_breaks] scale [0/0]: a branch depends on ...
                                        counters["graph_breaks"]["data_dependent_jump"] == 1

A log or counter is a row in one of the two tables at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from capture.report import log, observe
from capture.report.counters import counters
from capture.report.observe import Event


class Views:
    """The recorder of the process that writes logs and counts."""

    def record(self, event: Event) -> None:
        count = COUNTS.get(event.name)
        if count is not None:
            count(event)
        name, write = TEXTS.get(event.name, ("", None))
        if write is not None and log.get(name).enabled:
            text = write(event)
            if text is not None:
                log.get(name)("%s%s", _name(event), text)


def _name(event: Event) -> str:
    if event.frame is not None:
        return event.frame.name
    code = event.fields.get("code")
    return "" if code is None else observe.piece_of(code).name


# --- counts -----------------------------------------------------------------------------------------------

#: by outcome of a capture
FRAMES = {"entry": "captured", "left": "skipped", "failed": "failed"}


def _count_frame(event: Event) -> None:
    assert event.frame is not None
    counted = FRAMES.get(event.frame.outcome)
    if counted is not None:
        counters["frames"][counted] += 1


def _count_break(event: Event) -> None:
    if not event.fields["is_error"]:
        counters["graph_breaks"][event.fields["reason"].id] += 1


def _count_graph(event: Event) -> None:
    counters["graphs"]["compiled"] += 1
    counters["graphs"]["calls_captured"] += event.fields["operations"]


def _count_recompile(event: Event) -> None:
    assert event.frame is not None
    counters["recompiles"][event.frame.piece.name] += 1


def _count_loaded(entry: dict[str, Any]) -> None:
    """A program has as many graphs, breaks and recompiles as without the store."""
    if entry["graph"] is not None:
        counters["graphs"]["loaded"] += 1
        counters["graphs"]["compiled"] += 1
        counters["graphs"]["calls_captured"] += entry["operations"]
    if entry["reason"] is not None:
        counters["graph_breaks"][entry["reason"]] += 1
    if entry["again"]:
        counters["recompiles"][observe.piece_of(entry["code"]).name] += 1


def _count_store(event: Event) -> None:
    found, kind = event.fields["found"], event.fields["kind"]
    if kind == "frame":
        counters["entries"]["loaded" if found else "missing"] += 1
        if found:
            _count_loaded(event.fields)
    else:
        counters["cache"][f"{kind} {'found' if found else 'missing'}"] += 1


def _count_dropped(event: Event) -> None:
    counters["frames"]["did_not_pay"] += 1


COUNTS: dict[str, Callable[[Event], None]] = {
    "frame_end": _count_frame,
    "break": _count_break,
    "graph": _count_graph,
    "recompile": _count_recompile,
    "store": _count_store,
    "dropped": _count_dropped,
}

# --- texts ------------------------------------------------------------------------------------------------


def _break(event: Event) -> str:
    return f": {event.fields['reason']}"


def _left(event: Event) -> str:
    return f" is left to Python: {event.fields['reason']}"


def _recompile(event: Event) -> str:
    assert event.frame is not None
    code = event.frame.code
    return f" ({code.co_filename}:{code.co_firstlineno}): {event.fields['causes'][0].text}"


def _limit(event: Event) -> str:
    return f": {event.fields['text']}"


def _guards(event: Event) -> str:
    return f":\n{event.fields['guards'].text}"


def _graph(event: Event) -> str:
    return f":\n{event.fields['module'].print_readable(print_output=False)}"


def _bytecode(event: Event) -> str:
    listing = event.fields["listing"]
    return f":\n{listing(event.fields['before'])}\nbecomes\n{listing(event.fields['after'])}"


def _captured(event: Event) -> str | None:
    capture = event.frame
    if capture is None or capture.outcome != "entry":
        return None
    return f" is captured in {capture.seconds * 1e3:.0f} ms{capture.waited}"


def _dropped(event: Event) -> str:
    return f" is left to Python: {event.fields['reason']}"


#: by event: the log, and what it says behind the name; None: nothing
TEXTS: dict[str, tuple[str, Callable[[Event], str | None]]] = {
    "break": ("graph_breaks", _break),
    "left": ("graph_breaks", _left),
    "recompile": ("recompiles", _recompile),
    "limit": ("recompiles", _limit),
    "guards": ("guards", _guards),
    "graph": ("graph", _graph),
    "bytecode": ("bytecode", _bytecode),
    "frame_end": ("hot", _captured),
    "dropped": ("hot", _dropped),
}
