"""The three things to do about a program.

In:  a `Story`.
Out: at most three pieces of `Advice`, the one that saves most first.

Each costs seconds of captures that would not have been, if the program were changed: those behind a break,
those that a changed value caused. What Python runs between the graphs is not known, so it does not count.
"""

from __future__ import annotations

from collections import defaultdict

from capture.pages.story import Capture, Story
from capture_records import dataclass

SHOWN = 3
MUCH = 0.5  # of the time: then the program is too short for what it captures


@dataclass(frozen=True)
class Advice:
    """place: file and line, as text. seconds: what it costs now."""

    what: str
    do: str
    place: str
    text: str
    seconds: float
    target: str = ""


def advise(story: Story) -> list[Advice]:
    found = [*_about_breaks(story), *_about_recompiles(story), *_about_length(story), *_about_eager(story)]
    return sorted(found, key=lambda advice: -advice.seconds)[:SHOWN]  # what has no seconds comes last


def _about_breaks(story: Story) -> list[Advice]:
    costs = _costs_of_breaks(story)
    result = []
    for number, group in enumerate(story.breaks):
        place = group.place
        what = f"{group.first['reason']} ({_times(len(group.events))})"
        where = f"{place['file']}:{place['line']}"
        spots = {(c.frame["code"], event["stack"][0]["line"]) for c, event in group.pairs if event["stack"]}
        seconds = sum(costs[spot] for spot in spots)
        result.append(Advice(what, group.first["hint"], where, place["text"], seconds, f"break-{number}"))
    return result


def _costs_of_breaks(story: Story) -> dict[tuple[int, int], float]:
    """(code, line of the break) -> seconds of the captures behind it: a resume function goes on at the line
    of its break, or behind it.
    """
    lines: dict[int, set[int]] = defaultdict(set)
    for capture in story.captures:
        lines[capture.frame["code"]] |= {
            event["stack"][0]["line"] for event in capture.breaks if event["stack"]
        }
    costs: dict[tuple[int, int], float] = defaultdict(float)
    for capture in story.captures:
        code, resumed = capture.frame["code"], capture.frame["resumed_at"]
        before = [line for line in lines[code] if resumed is not None and line <= resumed]
        if before:
            costs[code, max(before)] += capture.seconds
    return costs


def _about_recompiles(story: Story) -> list[Advice]:
    groups: dict[tuple[str, str], list[Capture]] = defaultdict(list)
    for capture in story.captures:
        if capture.causes:
            groups[capture.frame["function"], capture.causes[0]["source"]].append(capture)
    result = []
    for (function, source), captures in groups.items():
        cause, frame = captures[0].causes[0], captures[0].frame
        what = f"{function} is captured again because {source} changes ({_times(len(captures))})"
        place = f"{frame['file']}:{frame['line']}"
        text = f"was {_cut(cause['was'])}, now {_cut(cause['now'])}"
        seconds = sum(capture.seconds for capture in captures)
        result.append(Advice(what, _against(cause), place, text, seconds, f"capture-{captures[0].number}"))
    return result


def _against(cause: dict[str, str]) -> str:
    """What keeps such a value from a recompile."""
    if "size" in cause["now"] or "shape" in cause["now"]:
        return "mark the dimension that changes with capture.mark_dynamic, or pass dynamic=True"
    if cause["now"].replace(".", "").replace("-", "").isdigit():
        return "pass the number as a tensor, or keep it the same in all calls"
    return "keep it the same in all calls, or make it before the first call"


def _about_length(story: Story) -> list[Advice]:
    totals = story.totals
    if totals.compiling <= MUCH * totals.seconds:
        return []
    share = f"{totals.compiling / totals.seconds:.0%}"
    do = "run longer; what is in the store need not be compiled again by the next process"
    return [Advice(f"compiling took {share} of the run", do, "", "", 0.0)]


def _about_eager(story: Story) -> list[Advice]:
    return [
        Advice(f"eager runs {story.graph_name(event['graph'])}", event["reason"], "", "", 0.0, "graphs")
        for event in story.trace.of("eager_graph")[:SHOWN]
    ]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
