"""Runs CPython's own tests of the language under capture: each test ends as it does without.

In:  names of modules of the interpreter's `test` package; none: all of MODULES.
Out: one line for each module, and a line for each test that ends differently. The exit status is 1 if one
     does.

    python scripts/cpython_tests.py with scope          # these two
    python scripts/cpython_tests.py --share 0/3         # the first of three shares

Each module runs in a process of its own, once as it is and once inside `capture.enable(backend="eager")`.
Where these differ, it also runs with capture loaded and off. The package is reached through a link outside of
the standard library, so its frames count as the user's code.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = Path(unittest.__file__).parents[1] / "test"
SECONDS = 600

# fmt: off
MODULES = (
    "abc", "abstract_numbers", "array", "asyncgen", "augassign", "baseexception", "bdb", "binop",
    "bisect", "bool", "builtin", "bytes", "call", "class", "cmath", "code", "codeop", "collections",
    "compare", "compile", "complex", "contains", "context", "contextlib", "contextlib_async", "copy",
    "copyreg", "coroutines", "cprofile", "dataclasses", "decorators", "defaultdict", "deque", "descr",
    "descrtut", "dict", "dict_version", "dictcomps", "dictviews", "dis", "dynamic",
    "dynamicclassattribute", "enum", "enumerate", "eof", "except_star", "exception_group",
    "exception_hierarchy", "exception_variations", "exceptions", "extcall", "float", "flufl", "fnmatch",
    "format", "fractions", "frame", "fstring", "funcattrs", "functools", "future_stmt", "gc",
    "generator_stop", "generators", "genericalias", "genericclass", "genexps", "global", "grammar",
    "graphlib", "hash", "heapq", "index", "inspect", "int", "int_literal", "isinstance", "iter",
    "iterlen", "itertools", "keyword", "keywordonlyarg", "list", "listcomps", "long", "longexp", "math",
    "memoryview", "metaclass", "named_expressions", "numeric_tower", "opcache", "operator",
    "ordered_dict", "patma", "peepholer", "pep646_syntax", "positional_only_arg", "pow", "pprint",
    "print", "profile", "property", "queue", "raise", "random", "range", "reprlib", "richcmp", "scope",
    "set", "setcomps", "slice", "sort", "string", "string_literals", "struct", "structseq",
    "subclassinit", "super", "syntax", "sys", "sys_setprofile", "sys_settrace", "thread", "threading",
    "threading_local", "trace", "traceback", "tuple", "type_annotations", "type_cache", "typechecks",
    "types", "typing", "unary", "unpack", "unpack_ex", "userdict", "userlist", "userstring", "warnings",
    "weakref", "weakset", "with", "yield_from",
)
# fmt: on

#: tests that end differently, and why
COUNTS = "it counts the objects of the whole process"
GARBAGE = "it counts what the collector finds, or needs a collection at one moment: capture leaves cycles"
KNOWN_DIFFERENCES = {
    "test.test_descr.ClassPropertiesAndMethods.test_slots": COUNTS,
    "test.test_gc.GCCallbackTests.test_collect_garbage": GARBAGE,
    "test.test_gc.GCTests.test_boom2": GARBAGE,
    "test.test_gc.GCTests.test_boom2_new": GARBAGE,
    "test.test_gc.GCTests.test_resurrection_does_not_block_cleanup_of_other_objects": GARBAGE,
    "test.test_gc.GCTogglingTests.test_bug1055820c": GARBAGE,
}


# --- one module in this process ---------------------------------------------------------------------------


class Outcomes(unittest.TestResult):
    """A list of words for each test: what was reported of it."""

    def __init__(self) -> None:
        super().__init__()
        self.words: dict[str, list[str]] = {}

    def note(self, test: Any, word: str, error: Any = None) -> None:
        text = word if error is None else f"{word} {error[0].__name__}: {without_addresses(str(error[1]))}"
        self.words.setdefault(without_addresses(test.id()), []).append(text)

    def addSuccess(self, test: Any) -> None:
        self.note(test, "passed")

    def addError(self, test: Any, err: Any) -> None:
        self.note(test, "raised", err)

    def addFailure(self, test: Any, err: Any) -> None:
        self.note(test, "failed", err)

    def addSkip(self, test: Any, reason: str) -> None:
        self.note(test, "skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self.note(test, "failed as expected")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.note(test, "passed unexpectedly")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self.note(test, f"{subtest._subDescription()} raised", err)


def without_addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def surroundings(mode: str) -> contextlib.AbstractContextManager[Any]:
    if mode == "plain":
        return contextlib.nullcontext()
    import capture  # here, because it takes seconds

    return capture.enable(backend="eager") if mode == "captured" else contextlib.nullcontext()


def run_here(name: str, mode: str, file: str) -> None:
    import test.support

    assert Path(test.support.__file__).parents[2] != PACKAGE.parent, "the tests must not count as the library"
    suite = unittest.defaultTestLoader.loadTestsFromName(f"test.test_{name}")
    result = Outcomes()
    with surroundings(mode):
        suite.run(result)
    Path(file).write_text(json.dumps(result.words))
    os._exit(0)  # threads that a test has left do not hold us up


# --- all modules, each in a process of its own ------------------------------------------------------------


def outcomes(name: str, mode: str) -> dict[str, list[str]]:
    """The words of each test of a module; "the process" is one of them where it did not come to its end.

    mode: "plain"; "loaded": after `import capture`; "captured".
    """
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(PACKAGE, os.path.join(folder, "test"))
        file = os.path.join(folder, "outcomes.json")
        command = [sys.executable, __file__, "--here", file, "--mode", mode, name]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, str(ROOT)])}
        try:
            ended = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return {"the process": [f"did not end in {SECONDS} s"]}
        if not os.path.exists(file):
            last = ended.stderr.decode(errors="replace").strip().splitlines()[-3:]
            return {"the process": [f"ended with {ended.returncode}: {' | '.join(last)}"]}
        found: dict[str, list[str]] = json.loads(Path(file).read_text())
        return found


def differences(name: str) -> tuple[int, list[str]]:
    """The number of tests of a module, and a line for each that ends differently under capture."""
    captured = outcomes(name, "captured")
    lines = different(outcomes(name, "plain"), captured)
    if lines:
        lines = different(outcomes(name, "loaded"), captured)
    return len(captured), lines


def different(expected: dict[str, list[str]], found: dict[str, list[str]]) -> list[str]:
    return [
        f"{test}: {found.get(test)} where Python {expected.get(test)}"
        for test in sorted(expected.keys() | found.keys())
        if expected.get(test) != found.get(test) and test not in KNOWN_DIFFERENCES
    ]


def share_of(text: str) -> tuple[str, ...]:
    number, count = map(int, text.split("/"))
    return MODULES[number::count]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", help="names without test_")
    parser.add_argument("--share", type=share_of, default=MODULES, help="such as 0/3")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    parser.add_argument("--mode", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        run_here(options.modules[0], options.mode, options.here)
    failed = 0
    for name in options.modules or options.share:
        count, lines = differences(name)
        print(f"{name}: {count} tests, {len(lines)} differ", *lines, sep="\n    ", flush=True)
        failed += bool(lines)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
