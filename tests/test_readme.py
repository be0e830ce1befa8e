"""The README and the pages are correct: code runs and prints what it says; the names in them exist."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from pathlib import Path

import pytest

import capture
from capture.report.config import OTHER_VARIABLES, Config

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


PAGES = {path.name: path.read_text() for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]}


def blocks(page: str) -> list[tuple[str, str]]:
    """(code, the text after it) of each block that is marked to be run."""
    return re.findall(r"<!-- run -->\n+```python\n(.*?)```.*?```text\n(.*?)```", PAGES[page], re.DOTALL)


BLOCKS = [(page, number) for page in sorted(PAGES) for number in range(len(blocks(page)))]


@pytest.mark.parametrize(("page", "number"), BLOCKS)
def test_code_prints_what_it_says(page, number):
    code, expected = blocks(page)[number]
    name = f"<doctest {page} {number}>"  # linecache keeps a name of this form, for lines in reports
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    capture.reset()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), {"__name__": "readme"})
    assert printed.getvalue() == expected


def test_there_is_something_to_run():
    assert {"README.md", "quick_start.md"} <= {page for page, _ in BLOCKS}


def test_linked_pages_exist():
    pages = re.findall(r"\]\((docs/[^)]+)\)", README)
    assert len(pages) >= 3
    assert [page for page in pages if not (ROOT / page).exists()] == []


def test_public_names_of_the_table_exist():
    text = "\n".join(PAGES.values())
    names = {
        name for name in re.findall(r"`capture\.(\w+)", text) if not (ROOT / "capture" / name).exists()
    } | {
        "graph_break",
        "is_capturing",
        "allow_in_graph",
        "reset",
    }
    assert [name for name in names if not hasattr(capture, name)] == []


def test_every_public_name_is_on_the_page_of_the_api():
    page = PAGES["api.md"]
    errors = {name for name in capture.__all__ if isinstance(getattr(capture, name), type)}
    modules_and_values = {"backends", "config", "counters", "log", "store"}
    missing = [
        name
        for name in set(capture.__all__) - errors - modules_and_values
        if not re.search(rf"^::: [\w.]+\.{name}$", page, re.MULTILINE)
    ]
    assert missing == []


def test_settings_and_variables_that_pages_name_exist():
    known = {f"CAPTURE_{name.upper()}" for name in Config.__dataclass_fields__} | set(OTHER_VARIABLES)
    named = {name for text in PAGES.values() for name in re.findall(r"\b(CAPTURE_[A-Z_]+)\b", text)}
    assert {name for name in named if not name.endswith("_")} <= known


def test_demos_and_targets_that_it_names_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake (\w+)", README):
        if target != "and":
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
