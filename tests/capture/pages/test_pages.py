"""The report of a trace: what it says, and what it says about bad traces."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from capture.__main__ import main
from capture.pages import advice, page, source_lines, write_report
from capture.pages.story import tell
from capture.report.errors import UsageError
from capture.tracing.read import read_folder
from tests.capture.pages import example_trace


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    example_trace.write(tmp_path)
    return tmp_path


def story(folder: Path) -> Any:
    return tell(read_folder(folder)[0])


# --- the data -----------------------------------------------------------------------------------------------


def test_times_add_up(folder: Path) -> None:
    totals = story(folder).totals
    assert (totals.captures, totals.breaks, totals.recompiles) == (3, 2, 1)
    assert totals.compiling == pytest.approx(0.6)
    assert totals.native == pytest.approx(0.4)
    assert totals.native + totals.compiling + totals.python == pytest.approx(totals.seconds)


def test_phases_within_a_capture_count_once(folder: Path) -> None:
    events = example_trace.events()
    late = {"event": "phase", "t": 1.9, "thread": 1, "frame": None, "phase": "lower", "graph": 0}
    events[-1:-1] = [{**late, "start": 1.7, "end": 1.9}, {**late, "start": 1.75, "end": 1.8}]
    example_trace.write(folder, events)
    assert story(folder).totals.compiling == pytest.approx(0.8)


def test_breaks_are_grouped(folder: Path) -> None:
    (group,) = story(folder).breaks
    assert len(group.events) == 2 and group.place["line"] == 3
    assert [capture.name for capture in group.captures] == ["scale [0/0]", "scale [0/1]"]


def test_lines_have_their_graphs(folder: Path) -> None:
    found = story(folder)
    lines = source_lines.lines_of(found.functions[0], found, source_lines.graphs_by_place(found))
    assert [line.number for line in lines] == [1, 2, 3, 4, 5]
    assert lines[1].graphs == ((0, 1), (1, 1), (2, 1)) and lines[1].pieces == (0, 1)
    assert lines[2].breaks == (0,) and lines[0].graphs == ()


def test_the_advice_names_what_costs_most(folder: Path) -> None:
    found = advice.advise(story(folder))
    assert 1 <= len(found) <= advice.SHOWN
    assert [item.seconds for item in found] == sorted((item.seconds for item in found), reverse=True)
    changed = next(item for item in found if "k changes" in item.what)
    assert changed.do.startswith("pass the number as a tensor") and changed.seconds == pytest.approx(0.2)
    broken = next(item for item in found if "a branch" in item.what)
    assert broken.place.endswith("prog.py:3") and broken.seconds == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("eager", "text"),
    [
        (None, "Without its captures the run took 1.40 s"),
        (1.0, "No: eager takes 1.00 s"),
        (1.8, "Not yet: without its captures the run is 1.29 times as fast"),
        (2.8, "Yes: without its captures the run is 2.00 times as fast"),
    ],
)
def test_worth(folder: Path, eager: float | None, text: str) -> None:
    assert page.worth(story(folder), eager).startswith(text)


def trial(entry: int, python: float, own: float, runs: int) -> list[dict[str, Any]]:
    times = {"python": {"mean": python * 1e9, "least": 0}, "own": {"mean": own * 1e9, "least": 0}}
    head = {"t": 1.9, "thread": 1, "frame": None, "attempt": None, "entry": entry}
    return [{**head, "event": "trial", **times}, {**head, "event": "runs", "runs": runs}]


@pytest.mark.parametrize(
    ("own", "runs", "text"),
    [
        (
            0.01,
            100,
            "Yes: 100 runs of frames that were timed in Python too, before their capture, took 1.00 s",
        ),
        (0.01, 10, "Not yet, by forwards alone: 10 runs"),
        (
            0.04,
            100,
            "100 runs of frames that were timed in Python too, before their capture, took 2.00 s more",
        ),
    ],
)
def test_worth_by_trials(tmp_path: Path, own: float, runs: int, text: str) -> None:
    events = example_trace.events()
    # the frame 1 has no break; 0 has one: what it calls is in its times, so they do not count
    example_trace.write(
        tmp_path, [*events[:-1], *trial(1, 0.02, own, runs), *trial(0, 9.0, 1.0, 5), events[-1]]
    )
    found = story(tmp_path)
    assert page.worth(found, None).startswith(text)
    assert [item.capture.number for item in found.trials] == [1]
    assert "Frames that were timed before and after" in page.render([found])


def test_the_kept_report_is_small_and_of_nobody() -> None:
    """The example on the site: made by this template, and without paths of the machine that made it."""
    text = (Path(__file__).parents[3] / "docs" / "example_report.html").read_text()
    assert len(text.encode()) < 1_000_000
    assert (page.TEMPLATES / "style.css").read_text() in text
    assert set(re.findall(r"(?<![\w.>])/(?:home|root|tmp|work)/(\w+)", text)) == {"me"}


def test_the_captures_break_even_after_some_runs(folder: Path) -> None:
    assert "break even after 0.43 runs" in page.worth(story(folder), 2.8)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "not measured"), (0, "0 s"), (2e-6, "2.00 µs"), (0.25, "250.0 ms"), (3, "3.00 s")],
)
def test_seconds(seconds: float | None, text: str) -> None:
    assert page.seconds_text(seconds) == text


# --- the page -----------------------------------------------------------------------------------------------


class Structure(HTMLParser):
    """Ids, links and what is not closed."""

    VOID = frozenset(("meta", "link", "br", "input", "img"))

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if tag == "a":
            self.links.append(str(found["href"]))
        if found.get("src") or (tag == "link" and not str(found["href"]).startswith("data:")):
            self.loaded.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """<path/>: nothing to close."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def structure(text: str) -> Structure:
    parser = Structure()
    parser.feed(text)
    parser.close()
    return parser


def test_the_page_is_whole(folder: Path, tmp_path: Path) -> None:
    example_trace.write(folder, pid=8)  # two processes in one page
    text = write_report(folder, tmp_path / "report.html").read_text()
    found = structure(text)
    assert found.open == []
    assert found.loaded == [] and not re.search(r"https?://(?!www\.w3\.org)", text)
    assert len(found.ids) == len(set(found.ids))
    assert {link.removeprefix("#") for link in found.links} <= set(found.ids)


def test_the_page_shows_every_part(folder: Path, tmp_path: Path) -> None:
    text = write_report(folder, tmp_path / "report.html", 2.8).read_text()
    for part in (
        "2.00 times as fast",
        "a branch depends on the values of a tensor",
        "k == 2",
        "k is 2",
        "<svg",
        "retq",
        "define i32 @k0()",
        "no torch operations",
        "kernel k0 &lt;a &amp; b&gt;",
        "prog.py &lt;script&gt;alert(1)",
        "scale [1/0, resumed at line 4]",
    ):
        assert part in text, part
    assert "<script>alert" not in text


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder), "--eager-seconds", "2.8"]) == 0
    assert capsys.readouterr().out.strip() == str(folder / "report.html")
    assert "2.00 times as fast" in (folder / "report.html").read_text()
    assert main(["report", str(folder / "no")]) == 2
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize("kept", ["loops", "llvm", "asm", None])
def test_a_kernel_has_the_texts_that_were_asked_for(folder: Path, kept: str | None) -> None:
    events = example_trace.events()
    for event in events:
        for kernel in event.get("kernels", []):
            for name in {"loops", "llvm", "asm"} - {kept}:
                del kernel[name]
    example_trace.write(folder, events)
    text = write_report(folder, folder / "report.html").read_text()
    assert [name for name in ("Loops", "LLVM", "Assembly") if f">{name}<" in text] == [
        {"loops": "Loops", "llvm": "LLVM", "asm": "Assembly"}[kept] for kept in [kept] if kept
    ]


# --- bad traces ---------------------------------------------------------------------------------------------


def refused(folder: Path, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        write_report(folder, folder / "report.html")


def test_folders_without_a_trace(tmp_path: Path) -> None:
    refused(tmp_path, r"has no trace .*with capture.trace")
    refused(tmp_path / "no", "there is no folder .*CAPTURE_TRACE=folder")


def test_a_damaged_line(folder: Path) -> None:
    path = folder / "trace-7.jsonl"
    lines = path.read_text().splitlines()
    lines[3] = lines[3][:20]
    path.write_text("\n".join(lines))
    refused(folder, r"trace-7.jsonl:4 is no JSON: remove the file")


def test_a_killed_process_has_a_report(folder: Path) -> None:
    path = folder / "trace-7.jsonl"
    path.write_text(path.read_text()[:-60])
    text = write_report(folder, folder / "report.html").read_text()
    assert "The trace ends early" in text


@pytest.mark.parametrize("length", [0, 1, 5])
def test_a_process_that_was_killed_early(folder: Path, length: int) -> None:
    events = example_trace.events()[: length + 1]
    example_trace.write(folder, events)
    assert "The trace ends early" in write_report(folder, folder / "report.html").read_text()


def test_another_schema(folder: Path) -> None:
    events = example_trace.events()
    example_trace.write(folder, [{**events[0], "schema": 2}, *events[1:]])
    refused(folder, "has schema 2, and this version of capture reads 1")


def test_no_first_event(folder: Path) -> None:
    example_trace.write(folder, example_trace.events()[1:])
    refused(folder, "does not begin with the event `process`")
    example_trace.write(folder, [*example_trace.events(), [1]])  # type: ignore[list-item]
    refused(folder, "is no event")


def test_an_empty_file(folder: Path) -> None:
    (folder / "trace-7.jsonl").write_text("")
    refused(folder, "does not begin with the event `process`")


@pytest.mark.parametrize("name", ["jinja2", "pygments"])
def test_a_missing_package(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    refused(folder, rf"a report needs {name}: pip install 'capture-runtime\[report\]'")


def test_a_file_that_can_t_be_written(folder: Path) -> None:
    with pytest.raises(UsageError, match="can't be written to"):
        write_report(folder, folder / "no" / "report.html")
