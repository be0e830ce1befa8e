"""Runs a module or a script with every block of memory at the edge of a page that nobody may touch.

In:  options, the name of a module or a file, and its arguments.
Out: its exit status. A read or write behind a block, or of a freed one, ends the process at once: the line
     "guarded memory: touched ..." names the block, and Python's stack follows. A line at the end says how
     many blocks were guarded (guarded_memory.c).

    .venv/bin/python scripts/guarded_memory.py pytest -q tests/codegen/llvm
    .venv/bin/python scripts/guarded_memory.py --alignment 1 --separate program.py

It needs no instrumented code, as the address sanitizer does: the machine code of our compiler, torch, MKL and
oneDNN run as they are. torch and capture are imported ahead; their blocks are not guarded.

--front:     the guard lies before the block.
--separate:  each buffer of a graph is a block, not a part of the graph's workspace. Stored graphs keep what
             they were compiled with, so such runs have a store of their own.
--least:     smaller blocks come from the C library.
--sample:    of blocks that ask for no alignment, one of so many is guarded. (A process can't have more than
             some 14,000 of them, and what a compilation keeps would take them all.)
--alignment: memory of tensors, which asks for 64, gets this one. With 1 the last element is the last before
             the guard.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import importlib
import os
import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = Path(__file__).with_suffix(".c")
FOLDER = ROOT / "build" / "guarded_memory"
BEGIN = "guarded_memory_begin"
FIRST = ("torch", "capture", "llvmlite.binding")  # imported ahead: their blocks live as long as the process


def build() -> Path:
    """The library, compiled where its source is newer. -fno-builtin: gcc would make a call of calloc of our
    calloc.
    """
    library = FOLDER / "guarded_memory.so"
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        FOLDER.mkdir(parents=True, exist_ok=True)
        flags = ["-O2", "-g", "-Wall", "-Wextra", "-fno-builtin", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, str(SOURCE), "-o", str(library), "-ldl"], check=True)
    return library


def environment(options: argparse.Namespace) -> dict[str, str]:
    """For a process that runs under it."""
    return {
        **os.environ,
        "LD_PRELOAD": str(build()),
        "GUARDED_LEAST": str(options.least),
        "GUARDED_ALIGNMENT": str(options.alignment),
        "GUARDED_SAMPLE": str(options.sample),
        "GUARDED_FRONT": str(int(options.front)),
        "MKL_DISABLE_FAST_MM": "1",  # MKL keeps no memory of its own
    }


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--front", action="store_true")
    parser.add_argument("--least", type=int, default=64)
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--alignment", type=int, default=4096)
    parser.add_argument("--separate", action="store_true")
    parser.add_argument("program", help="a module, or the path of a script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


def run_guarded(program: str, separate: bool) -> None:
    """In the process with the library: the program, as if Python had been called with it."""
    for name in FIRST:
        importlib.import_module(name)
    importlib.import_module("codegen.launch.plan").SEPARATE = separate  # type: ignore[attr-defined]
    faulthandler.enable()  # ahead: the line on the block comes first
    getattr(ctypes.CDLL(None), BEGIN)()
    if program.endswith(".py"):
        sys.path[0] = str(Path(program).parent)
        runpy.run_path(program, run_name="__main__")
    else:
        sys.path[0] = ""
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    if not hasattr(ctypes.CDLL(None), BEGIN):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment(options))
    sys.argv[:] = [options.program, *options.arguments]
    run_guarded(options.program, options.separate)


if __name__ == "__main__":
    main(sys.argv[1:])
