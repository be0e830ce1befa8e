"""The timeline of a process as SVG: captures and their phases, and memory.

In:  a story.
Out: the text of an `<svg>` element. One row a thread, phases within captures below one another.
"""

from __future__ import annotations

from html import escape

from capture.pages.story import Story
from capture.tracing.read import Event

WIDTH, ROW, MEMORY = 1000, 16, 60
SHORTEST = 0.5  # of a pixel unit: shorter phases are not drawn


def draw(story: Story) -> str:
    length = max(story.totals.seconds, 1e-9)
    rows, top = [], 0
    for thread in dict.fromkeys(event["thread"] for event in story.trace.of("phase")):
        spans = [e for e in story.trace.of("phase") if e["thread"] == thread]
        spans += [
            _as_phase(c.frame, c.seconds, c.name) for c in story.captures if c.frame["thread"] == thread
        ]
        depth = 0
        for event, level in _nested(spans):
            rows.append(_bar(event, top + level * ROW, length))
            depth = max(depth, level + 1)
        top += (depth + 1) * ROW
    memory = _memory(story, top, length)
    height = top + (MEMORY if memory else 0)
    return (
        f'<svg class="timeline" role="img" aria-label="Phases over time" viewBox="0 0 {WIDTH} {height}" '
        f'height="{height}" preserveAspectRatio="none">{"".join(rows)}{memory}</svg>'
    )


def most_memory(story: Story) -> int:
    return max((event["peak"] for event in story.trace.of("memory")), default=0)


def _as_phase(frame: Event, seconds: float, name: str) -> Event:
    return {"phase": "capture", "start": frame["t"], "end": frame["t"] + seconds, "name": name}


def _nested(spans: list[Event]) -> list[tuple[Event, int]]:
    """Each span with its depth: how many spans around it are open."""
    result: list[tuple[Event, int]] = []
    open_until: list[float] = []
    for event in sorted(spans, key=lambda e: (e["start"], -e["end"])):
        while open_until and open_until[-1] <= event["start"] + 1e-9:
            open_until.pop()
        result.append((event, len(open_until)))
        open_until.append(event["end"])
    return result


def _x(seconds: float, length: float) -> float:
    return WIDTH * seconds / length


def _bar(event: Event, y: float, length: float) -> str:
    x, width = _x(event["start"], length), WIDTH * (event["end"] - event["start"]) / length
    if width < SHORTEST:
        return ""
    name = event.get("name", event["phase"])
    tip = f"{name}: {1000 * (event['end'] - event['start']):.1f} ms"
    return (
        f'<rect class="phase {escape(event["phase"])}" x="{x:.1f}" y="{y}" width="{width:.1f}" '
        f'height="{ROW - 2}"><title>{escape(tip)}</title></rect>'
    )


def _memory(story: Story, top: float, length: float) -> str:
    points = [(e["t"], e["resident"]) for e in story.trace.of("memory")]
    if len(points) < 2:
        return ""
    most = max(resident for _, resident in points)
    foot = top + MEMORY
    line = " ".join(f"{_x(t, length):.1f},{foot - (MEMORY - 4) * r / most:.1f}" for t, r in points)
    end = f"{_x(points[-1][0], length):.1f},{foot} {_x(points[0][0], length):.1f},{foot}"
    return f'<polygon class="memory" points="{line} {end}"><title>memory</title></polygon>'
