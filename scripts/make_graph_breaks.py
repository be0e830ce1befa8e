"""Writes docs/graph_breaks.md from the table of break reasons.

python scripts/make_graph_breaks.py            writes the page
python scripts/make_graph_breaks.py --check    exit status 1 if the page is out of date
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from capture.report.break_reasons import REASONS

PAGE = Path(__file__).parent.parent / "docs" / "graph_breaks.md"

INTRODUCTION = """# Graph breaks

A graph ends at an instruction that can't be captured: Python runs the instruction, and a new graph begins
after it. The result is the same, but the program is slower. `capture.explain(fn)(*args)` and
`CAPTURE_LOGS=graph_breaks` show each break with its line. Under `fullgraph=True` a break is an error,
`capture.Unsupported`.

The values that the program has at the break take the place of the words in braces.
`scripts/make_graph_breaks.py` makes this page from `capture/report/break_reasons.py`.

"""


def page() -> str:
    items = (_item(name, reason.text, reason.hint) for name, reason in sorted(REASONS.items()))
    return INTRODUCTION + "\n".join(items)


def _item(name: str, text: str, hint: str) -> str:
    """A reason and, below it, what helps; 110 columns wide."""
    paragraphs = (f"- `{name}`: {text}.", f"  What helps: {hint}.")
    return "".join(textwrap.fill(part, 110, subsequent_indent="  ") + "\n" for part in paragraphs)


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        if PAGE.exists() and PAGE.read_text() == page():
            return 0
        print(f"{PAGE} is out of date: run `make docs`", file=sys.stderr)
        return 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
