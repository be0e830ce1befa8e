"""Runs cases with the store of entries, in a process of its own.

In:  on the command line: every n-th case, beginning with the k-th.
Out: a line of JSON: the names of the cases that gave another answer than eager, and how many entries the
     store had.

    python -m tests.capture.stored.second_process 20 3    ->   {"wrong": [], "loaded": 61, "stored": 2}
"""

from __future__ import annotations

import json
import sys
import warnings

import capture
import codegen.stored.compile_graph
from capture.report.config import config
from capture.report.counters import counters
from tests.capture.cases.registry import CASES
from tests.capture.stored.test_stored_cases import operator_by_operator, run
from tests.capture.test_cases import outcome, same


def main(step: int, first: int) -> None:
    # results are eager's to the last bit
    codegen.stored.compile_graph.compile_anew = operator_by_operator
    codegen.stored.compile_graph.compile_sizes_anew = lambda *_: None
    wrong = []
    for case in CASES[first::step]:
        arguments = case.arguments()
        eager, args = arguments(), arguments()
        expected = outcome(case.function, eager)
        with config.patch(store_entries=True, when="first", raise_on_error=True):
            found = run(case, args)
        alike = found[1:] == expected[1:] and same(found[0], expected[0]) and same(args, eager)
        if not alike:
            wrong.append(case.name)
    counted = counters["entries"]
    print(json.dumps({"wrong": wrong, "loaded": counted["loaded"], "stored": counted["stored"]}))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*map(int, sys.argv[1:]))
    capture.reset()
