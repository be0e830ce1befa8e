"""`python -m benchmarks.peers`: measures, and writes table and picture (benchmarks/peers/__init__.py)."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from benchmarks.measure import console
from benchmarks.peers import picture, runs, table

ROOT = Path(__file__).parents[2]
README, DATA, PICTURE = ROOT / "README.md", ROOT / "docs" / "speed.json", ROOT / "docs" / "speed.svg"
SECTION = re.compile(r"(?<=<!-- speed -->\n\n).*?(?=\n<!-- end of speed -->)", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="write the table into the README")
    parser.add_argument("--plot", action="store_true", help="write the picture docs/speed.svg")
    parser.add_argument("--again", action="store_true", help="use docs/speed.json, measure nothing")
    options = parser.parse_args()
    if not options.again:
        DATA.write_text(json.dumps(runs.measure(), indent=1) + "\n")
    data = json.loads(DATA.read_text())
    text = table.markdown(data)
    console.print(text, markup=False, soft_wrap=True)
    if options.markdown:
        README.write_text(SECTION.sub(lambda _: text, README.read_text()))
    if options.plot:
        picture.draw(data, PICTURE)


if __name__ == "__main__":
    main()
