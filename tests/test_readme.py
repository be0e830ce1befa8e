"""The README is correct: its code runs and prints what it says; the names in it exist."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from pathlib import Path

import pytest

import capture

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks() -> list[tuple[str, str]]:
    """(code, the text after it) of each block that is marked to be run."""
    return re.findall(r"<!-- run -->\n```python\n(.*?)```.*?```text\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("number", range(len(blocks())))
def test_code_prints_what_it_says(number):
    code, expected = blocks()[number]
    name = f"<doctest README {number}>"  # linecache keeps a name of this form, for lines in reports
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    capture.reset()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), {"__name__": "readme"})
    assert printed.getvalue() == expected


def test_there_is_something_to_run():
    assert len(blocks()) >= 1


def test_linked_pages_exist():
    pages = re.findall(r"\]\((docs/[^)]+)\)", README)
    assert len(pages) >= 3
    assert [page for page in pages if not (ROOT / page).exists()] == []


def test_public_names_of_the_table_exist():
    names = set(re.findall(r"`capture\.(\w+)", README)) | {
        "graph_break",
        "is_capturing",
        "allow_in_graph",
        "reset",
    }
    assert [name for name in names if not hasattr(capture, name)] == []


def test_demos_and_targets_that_it_names_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake (\w+)", README):
        if target != "and":
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
