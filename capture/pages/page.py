"""The report of a trace as one HTML page.

In:  a folder with trace files; the file to write; the seconds that the program takes without capture, if
     somebody has measured them.
Out: the page. It has its style, its script and all drawings in itself. Errors: UsageError.

jinja2 and pygments are imported here alone, when a report is made.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from capture.pages import advice, drawing, source_lines, timeline
from capture.pages.story import Step, Story, tell
from capture.report.errors import UsageError
from capture.report.whole_file import write_whole
from capture.tracing.read import Event, read_folder
from capture_records import dataclass

TEMPLATES = Path(__file__).parent / "templates"
#: longer texts are cut: LLVM of one kernel may have megabytes
MOST_LETTERS = 20_000
MOST_KERNELS = 40  # in the table of all graphs
COLOURS = 8  # of pieces; the style has as many


def write_report(folder: str | Path, target: str | Path, eager_seconds: float | None = None) -> Path:
    stories = [tell(trace) for trace in read_folder(folder)]
    text = render(stories, eager_seconds)
    try:
        return write_whole(target, text)
    except OSError as error:
        raise UsageError(f"the report can't be written to {str(target)!r}: {error.strerror}") from error


def render(stories: list[Story], eager_seconds: float | None = None) -> str:
    highlight = _highlighter()
    environment = _environment()
    environment.filters.update(
        seconds=seconds_text,
        amount=amount_text,
        python=highlight.python,
        lines=highlight.lines,
        short=_short,
        counted=_count,
        cut=_cut,
    )
    views = [_view(number, story, eager_seconds) for number, story in enumerate(stories)]
    texts = {name: (TEMPLATES / name).read_text(encoding="utf-8") for name in ("style.css", "script.js")}
    return str(
        environment.get_template("report.html").render(
            views=views, style=texts["style.css"] + highlight.style, script=texts["script.js"]
        )
    )


def _missing(name: str) -> UsageError:
    return UsageError(f"a report needs {name}: pip install 'capture-runtime[report]'")


def _environment() -> Any:
    try:
        import jinja2
    except ImportError:
        raise _missing("jinja2") from None
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


@dataclass
class _Highlighter:
    python: Callable[[str], Any]
    lines: Callable[[list[source_lines.SourceLine]], list[Any]]
    style: str


def _highlighter() -> _Highlighter:
    try:
        import pygments
        from markupsafe import Markup
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import get_lexer_by_name
    except ImportError as error:
        raise _missing(error.name or "pygments") from None
    plain = HtmlFormatter(nowrap=True)
    lexer = get_lexer_by_name("python", stripnl=False)

    def python(text: str) -> Any:
        return Markup(pygments.highlight(_cut(text), lexer, plain))

    def lines(found: list[source_lines.SourceLine]) -> list[Any]:
        text = python("\n".join(line.text for line in found))
        return [Markup(line) for line in str(text).split("\n")]

    light = HtmlFormatter(style="default").get_style_defs(".code")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".code")
    return _Highlighter(python, lines, f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n")


# --- what the template shows of a story ---------------------------------------------------------------------


def _view(number: int, story: Story, eager_seconds: float | None) -> dict[str, Any]:
    places = source_lines.graphs_by_place(story)
    functions = [
        {
            "function": function,
            "lines": source_lines.lines_of(function, story, places),
            "pieces": sorted({c.frame["piece"] for c in function.captures}),
        }
        for function in story.functions
    ]
    return {
        "prefix": f"p{number}-",
        "story": story,
        "process": story.trace.process,
        "totals": story.totals,
        "worth": worth(story, eager_seconds),
        "bars": _bars(story),
        "advice": advice.advise(story),
        "functions": [view for view in functions if _is_shown(view)],
        "graphs": [_graph_view(graph, story) for graph in story.trace.of("graph")],
        "steps": sorted(story.steps, key=lambda step: -step.seconds),
        "left": [(capture, event) for capture in story.captures for event in capture.left],
        "timeline": timeline.draw(story),
        "most_memory": timeline.most_memory(story),
        "colours": COLOURS,
        "most_kernels": MOST_KERNELS,
    }


def _is_shown(view: dict[str, Any]) -> bool:
    """Functions of libraries are shown where they have captures of their own."""
    function = view["function"]
    has_graphs = any(line.graphs for line in view["lines"])
    return bool(function.captures) or (has_graphs and not function.is_of_library)


def _graph_view(graph: Event, story: Story) -> dict[str, Any]:
    capture = next((c for c in story.captures if graph in c.graphs), None)
    steps = [step for step in story.steps if step.graph == graph["graph"]]
    return {
        "graph": graph,
        "capture": capture,
        "steps": steps,
        "places": [_places(graph, step) for step in steps],
        "drawing": _drawing(graph),
        "code": _code(graph),
        "native": [native for native in story.trace.of("native") if native["graph"] == graph["graph"]],
    }


def _code(graph: Event) -> str:
    """The nodes as Python, with what each gives and the line that it comes from."""
    inputs = ", ".join(item["node"] for item in graph["inputs"])
    lines = [f"def forward({inputs}):"]
    before = None
    for node in graph["nodes"]:
        if node["op"] in ("placeholder", "output"):
            continue
        place = source_lines.own_place(graph, node)
        if place is not None and place != before:
            lines.append(f"    # {Path(place['file']).name}:{place['line']}: {_short(place['text'], 80)}")
        before = place
        shape = _shape(node)
        lines.append(f"    {node['text']}{f'  # {shape}' if shape else ''}")
    comma = "," if len(graph["outputs"]) == 1 else ""
    return "\n".join([*lines, f"    return ({', '.join(graph['outputs'])}{comma})"])


def _places(graph: Event, step: Step) -> list[str]:
    """The lines of the program that a kernel is for."""
    places = [source_lines.own_place(graph, node) for node in graph["nodes"] if node["name"] in step.nodes]
    texts = (f"{Path(p['file']).name}:{p['line']}: {_short(p['text'], 80)}" for p in places if p is not None)
    return list(dict.fromkeys(texts))


def _shape(node: Event) -> str:
    value = node.get("value") or {}
    return f"{value['dtype']}{value['shape']}" if value.get("kind") == "tensor" else ""


def _drawing(graph: Event) -> str:
    outputs = set(graph["outputs"])
    sources = {item["node"]: item["source"] for item in graph["inputs"]}
    nodes = [
        drawing.Node(node["name"], _label(node, sources), _kind(node, outputs), _tip(node))
        for node in graph["nodes"]
        if node["op"] != "output"
    ]
    edges = [(source, node["name"]) for node in graph["nodes"] for source in node["inputs"]]
    return drawing.draw(nodes, edges, f"the graph of {graph['name']}")


def _label(node: Event, sources: dict[str, str]) -> str:
    """The operation; of an input the end of its place, which tells most."""
    if node["op"] != "placeholder":
        return str(node["target"].rpartition(".")[2])
    text = str(sources.get(node["name"], node["name"]))
    return text if len(text) <= drawing.MOST_LETTERS else f"…{text[1 - drawing.MOST_LETTERS :]}"


def _kind(node: Event, outputs: set[str]) -> str:
    if node["op"] in ("placeholder", "get_attr"):
        return "input"
    return "output" if node["name"] in outputs else "operation"


def _tip(node: Event) -> str:
    shape = _shape(node)
    return f"{node['text']}: {shape}" if shape else str(node["text"])


def _bars(story: Story) -> list[tuple[str, float]]:
    totals = story.totals
    parts = [("native", totals.native or 0.0), ("compiling", totals.compiling), ("python", totals.python)]
    return [(name, seconds / max(totals.seconds, 1e-9)) for name, seconds in parts]


def worth(story: Story, eager_seconds: float | None) -> str:
    """Whether the captures have paid, in one sentence or two."""
    totals = story.totals
    running = max(totals.seconds - totals.compiling, 1e-9)
    if eager_seconds is None:
        return _worth_of_trials(story) or (
            f"Without its captures the run took {seconds_text(running)}. Whether that is faster than eager, "
            "a run without capture tells: give its seconds with the report (--eager-seconds)."
        )
    saved = eager_seconds - running
    if saved <= 0:
        return (
            f"No: eager takes {seconds_text(eager_seconds)}, and this run took {seconds_text(running)} "
            "without its captures. It never breaks even."
        )
    rate = eager_seconds / running
    answer = "Yes" if totals.seconds < eager_seconds else "Not yet"
    return (
        f"{answer}: without its captures the run is {rate:.2f} times as fast as eager. The captures took "
        f"{seconds_text(totals.compiling)}; they break even after {totals.compiling / saved:.2f} runs of "
        "this length."
    )


def _worth_of_trials(story: Story) -> str:
    """By the frames that were timed before and after their capture. Empty if there are none."""
    if not story.trials:
        return ""
    runs = sum(trial.runs for trial in story.trials)
    saved, compiling = sum(trial.saved for trial in story.trials), story.totals.compiling
    head = f"{_count(runs, 'run')} of frames that were timed in Python too, before their capture, "
    if saved <= 0:
        return f"{head}took {seconds_text(-saved)} more than in Python; backwards are not counted."
    answer = "Yes" if saved > compiling else "Not yet, by forwards alone"
    return (
        f"{answer}: {head}took {seconds_text(saved)} less than in Python; the captures took "
        f"{seconds_text(compiling)}. What backwards have saved is not counted."
    )


def seconds_text(seconds: float | None) -> str:
    if seconds is None:
        return "not measured"
    for limit, factor, unit in ((1.0, 1, "s"), (1e-3, 1e3, "ms"), (1e-9, 1e6, "µs")):
        if seconds >= limit:
            return f"{seconds * factor:,.{1 if seconds * factor >= 10 else 2}f} {unit}"
    return "0 s"


def amount_text(number: float) -> str:
    for limit, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= limit:
            return f"{number / limit:.1f} {unit}"
    return f"{number:.0f} B"


def _cut(text: str) -> str:
    left = len(text) - MOST_LETTERS
    return text if left <= 0 else f"{text[:MOST_LETTERS]}\n... and {left:,} more letters"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _short(text: str, most: int = 100) -> str:
    text = " ".join(str(text).split())
    return text if len(text) <= most else text[: most - 1] + "…"
