"""Runs PyTorch's operator database through `capture.compile` and writes docs/operators.md.

python scripts/opinfo.py                                   all operators and dtypes (`make opinfo`)
python scripts/opinfo.py --operators add,softmax --dtypes float32 --no-table
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.opinfo.cases import DTYPES, ENTRIES, KINDS, OPERATORS, supported_dtypes
from tests.opinfo.report import write_table
from tests.opinfo.runner import WRONG, Result
from tests.opinfo.shards import run_all


def main() -> int:
    options = parse()
    dtypes = options.dtypes.split(",")
    names = options.operators.split(",") if options.operators else list(OPERATORS)
    pairs = [(name, dtype) for dtype in dtypes for name in names if supported_dtypes(ENTRIES[name], [dtype])]
    results: list[Result] = []
    with open(options.lines, "w") if options.lines else open("/dev/null", "w") as lines:
        for result in run_all(pairs, options.samples, options.processes, options.kinds.split(",")):
            results.append(result)
            lines.write(json.dumps(result.as_dict()) + "\n")
            lines.flush()
            for text in result.wrong:
                print(f"{result.operator} {result.dtype}: {text}", flush=True)
    if not options.no_table:
        results += earlier(options.earlier, {(result.operator, result.dtype) for result in results})
        write_table(results, ROOT / "docs" / "operators.md", options.note)
    print(dict(Counter(result.status for result in results)))
    return int(any(result.status == WRONG for result in results))


def earlier(path: str, run_now: set[tuple[str, str]]) -> list[Result]:
    """Results of an earlier run (`--lines`); the last one counts if a pair occurs several times."""
    lines = Path(path).read_text().splitlines() if path else []
    found = {
        (result.operator, result.dtype): result for result in (Result(**json.loads(line)) for line in lines)
    }
    return [result for pair, result in found.items() if pair not in run_now]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--operators", default="", help="names in the database, with commas; all by default")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--samples", type=int, default=6, help="of each operator and dtype")
    parser.add_argument("--kinds", default="plain", help=f"of programs: {', '.join(KINDS)}")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument(
        "--lines", default="", help="also write the results to this file, a JSON object a line"
    )
    parser.add_argument(
        "--earlier", default="", help="a file of such lines: results for the table of what is not run now"
    )
    parser.add_argument("--note", default="", help="a sentence for the table: where its results come from")
    parser.add_argument("--no-table", action="store_true", help="leave docs/operators.md as it is")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
