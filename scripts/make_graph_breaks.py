"""Writes docs/graph_breaks.md from the table of break reasons.

python scripts/make_graph_breaks.py            writes the page
python scripts/make_graph_breaks.py --check    exit status 1 if the page is out of date
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

from capture.report.break_reasons import REASONS, Reason

PAGE = Path(__file__).parent.parent / "docs" / "graph_breaks.md"

INTRODUCTION = """# Graph breaks

A graph ends at an instruction that can't be captured: Python runs the instruction, and a new graph begins
after it. The result is the same, but the program is slower. `capture.explain(fn)(*args)` and
`CAPTURE_LOGS=graph_breaks` show each break with its line. Under `fullgraph=True` a break is an error,
`capture.Unsupported`.

The values that the program has at the break take the place of the words in braces. A break that is not on
this page, `turn`, is no fault of the program: a loop got hot while it ran, and each turn runs one capture.
`scripts/make_graph_breaks.py` makes this page from `capture/report/break_reasons.py` and
`docs/break_examples.py`. Each reason has a program that breaks and one that does not; both are run by a test.

"""

EXAMPLES = Path(__file__).parent.parent / "docs" / "break_examples.py"


def page() -> str:
    examples = read_examples()
    items = (_item(name, reason, examples[name]) for name, reason in sorted(REASONS.items()))
    return INTRODUCTION + "\n".join(items)


def read_examples() -> dict[str, str]:
    """The sections of the file of examples: id of a reason -> program text."""
    _, *parts = re.split(r"^# === (\w+)\n", EXAMPLES.read_text(), flags=re.MULTILINE)
    return {name: text.strip() + "\n" for name, text in zip(parts[::2], parts[1::2])}


def _item(name: str, reason: Reason, example: str) -> str:
    """A reason, what helps, and the example; 110 columns wide."""
    told = textwrap.fill(f"{reason.text[0].upper()}{reason.text[1:]}. What helps: {reason.hint}.", 110)
    return f"## `{name}`\n\n{told}\n\n```python\n{example}```\n"


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
