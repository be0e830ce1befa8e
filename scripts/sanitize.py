"""Runs tests of the extension under gcc's sanitizers, and kernels and programs with guarded memory.

In:  arguments for pytest; without any, `tests/native` and `tests/guards`, and then what `GUARDED` lists.
Out: an exit status. What the sanitizers report is printed, and is a failure.

    make sanitize                                        # or
    .venv/bin/python scripts/sanitize.py tests/native/test_entries.py -x

The sources are copied to build/sanitize, and the extension is built there. The one of other tests stays.
CPython and torch are not instrumented. But their allocations go through the sanitizer too, so a write behind
an object, a use after a free and a free by the wrong function are found wherever our code is one side of it.
Kernels are not instrumented either. They run with guarded memory (guarded_memory.py): tests of kernels, and
whole programs, each buffer of a graph in a block of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPY = ROOT / "build" / "sanitize"
REPORTS = COPY / "reports"
FOLDERS = ("cache", "capture", "codegen", "guards", "native", "scripts", "tests", "docs")
FILES = ("pyproject.toml", "setup.py", "README.md", "capture_records.py")
TESTS = ["tests/native", "tests/guards"]

#: kernels of odd sizes and strides, and whole programs: what runs in two minutes
KERNELS = [
    "llvm/dense", "lower/test_reduction.py", "kernel/test_recurrent.py", "kernel/test_convolution.py",
    "launch/test_own_product.py",
]  # fmt: skip
PROGRAMS = ("yolo", "translation", "unet")
SCRIPT = "scripts/guarded_memory.py"
PYTEST = ["pytest", "-q", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
GUARDED = [
    [*PYTEST, *(f"tests/codegen/{name}" for name in KERNELS)],
    *(["benchmarks.programs.child", name, "enable", "4"] for name in PROGRAMS),
]

ASAN = {
    "alloc_dealloc_mismatch": 1,  # malloc, then operator delete
    "detect_stack_use_after_return": 1,
    "allocator_may_return_null": 1,  # tests ask for tensors that no memory can hold, and expect torch's error
    # CPython and torch keep much for ever, and a stack that passes through CPython can't be followed cheaply:
    # nothing would tell our leaks from theirs. Tests of references look for leaks.
    "detect_leaks": 0,
    "log_path": REPORTS / "address",
}
UBSAN = {"print_stacktrace": 1, "halt_on_error": 1, "log_path": REPORTS / "undefined"}


def copy_sources() -> None:
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    for name in FOLDERS:
        shutil.rmtree(COPY / name, ignore_errors=True)
        shutil.copytree(ROOT / name, COPY / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy2(ROOT / name, COPY / name)


def library(name: str) -> str:
    """The path of a library of the compiler."""
    done = subprocess.run(
        ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not os.path.isabs(done):
        raise SystemExit(f"gcc has no {name}: install the sanitizers of your compiler")
    return done


def options(values: dict[str, object]) -> str:
    return ":".join(f"{name}={value}" for name, value in values.items())


def environment() -> dict[str, str]:
    return {
        **os.environ,
        # The sanitizer has to be the first library. It looks for the C++ library when it starts, but Python
        # loads that with torch.
        "LD_PRELOAD": f"{library('libasan.so')} {library('libstdc++.so')}",
        "ASAN_OPTIONS": options(ASAN),
        "UBSAN_OPTIONS": options(UBSAN),
        "PYTHONMALLOC": "malloc",  # each object is an allocation of its own
        "PYTHONPATH": str(COPY),
    }


def sanitized(arguments: list[str]) -> int:
    copy_sources()
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(build, cwd=COPY, env={**os.environ, "CAPTURE_SANITIZE": "1"}, check=True)
    tests = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    status = subprocess.run(tests, cwd=COPY, env=environment()).returncode
    found = [(path, path.read_text()) for path in sorted(REPORTS.iterdir())]
    found = [(path, text) for path, text in found if "ERROR" in text or "runtime error" in text]
    for path, text in found:
        print(f"\n--- {path}\n{text}")
    return status or bool(found)


def guarded() -> int:
    """How many of the programs have failed."""
    options = ["--alignment", "1", "--separate", "--sample", "16"]
    failed = 0
    for program in GUARDED:
        with tempfile.TemporaryDirectory() as store:
            settings = {**os.environ, "CAPTURE_WHEN": "first", "CAPTURE_CACHE_DIR": store}
            done = subprocess.run([sys.executable, SCRIPT, *options, *program], cwd=ROOT, env=settings)
        if done.returncode:
            print(f"\n--- with guarded memory, {' '.join(program)} has failed")
            failed += 1
    return failed


def main(arguments: list[str]) -> int:
    if arguments:
        return sanitized(arguments)
    return sanitized(TESTS) or guarded()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
