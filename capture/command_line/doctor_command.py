"""python -m capture doctor: what this installation is, and whether it works.

In:  nothing.
Out: a table to send with a report of a bug; the exit status is 1 where something does not work.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import _capture
import torch
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from capture import api, store
from capture.backends.llvm import kernel_store
from capture.check import check
from capture.report.config import Config, config
from capture.report.log import failure_text
from codegen.launch.compiled import calibrate
from codegen.llvm.target import Target

PACKAGES = ("capture-runtime", "torch", "llvmlite", "bytecode", "numpy")
CALLS = 200
PROGRAM = """
def program(x, w):
    y = torch.tanh(x @ w)
    return (y * y).softmax(1).sum()
"""

Row = tuple[str, str]


def doctor() -> None:
    """Versions, processor, extension, store and a test of itself: send this with a report of a bug."""
    table = Table("what", "found", show_edge=False, box=None)
    failed = False
    for section in SECTIONS:
        try:
            rows = list(section())
        except Exception as error:  # what does not work is what is to be shown
            failed = True
            rows = [(f"{section.__name__.lstrip('_')} failed", failure_text(error))]
        for name, found in rows:
            table.add_row(name, escape(found))
    Console(soft_wrap=True).print(table)
    raise typer.Exit(1 if failed else 0)


def _versions() -> Iterator[Row]:
    yield "Python", f"{platform.python_version()} ({sys.executable})"
    for name in PACKAGES:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield name, "not installed as a package"


def _machine() -> Iterator[Row]:
    yield "system", platform.platform()
    yield "processor", _processor()
    yield "machine code for", Target.host().cpu
    yield "torch's kernels", torch.backends.cpu.get_cpu_capability()
    yield "threads", f"{torch.get_num_threads()} of torch, {len(os.sched_getaffinity(0))} processors"
    compiler = shutil.which(os.environ.get("CC", "cc"))
    yield "C compiler", _first_line([compiler, "--version"]) if compiler else "none (needed to install only)"


def _processor() -> str:
    with open("/proc/cpuinfo") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _first_line(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).partition("\n")[0]


def _extension() -> Iterator[Row]:
    file = getattr(_capture, "__file__", None)
    yield "extension", file or "not built: only hook='settrace' works, without machine code"
    if file is not None:
        calibrate()
        yield "layout of tensors", "found"


def _storage() -> Iterator[Row]:
    kept = kernel_store()
    where = "none: nothing is kept for the next process" if kept is None else str(kept.directory)
    yield "store", where
    if kept is not None:
        yield (
            "in the store",
            ", ".join(f"{number} {name}" for name, number in store.info().items()) or "nothing",
        )


def _settings() -> Iterator[Row]:
    changed = {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(Config)
        if getattr(config, field.name) != field.default
    }
    yield "settings", ", ".join(f"{name}={value!r}" for name, value in changed.items()) or "all as they come"
    names = sorted(name for name in os.environ if name.startswith("CAPTURE_"))
    yield "environment", ", ".join(f"{name}={os.environ[name]}" for name in names) or "no CAPTURE_ variables"


def _self_test() -> Iterator[Row]:
    names: dict[str, Any] = {"torch": torch}
    exec(compile(PROGRAM, "<doctor>", "exec"), names)  # frames in our own files are not captured
    program = names["program"]
    x, w = torch.randn(64, 64), torch.randn(64, 64, requires_grad=True)
    result = check(program)(x, w)
    yield "self-test", str(result)
    captured = api.compile(program)
    started = time.perf_counter()
    captured(x, w)
    yield "first call", f"{(time.perf_counter() - started) * 1e3:.0f} ms"
    yield "a call in eager", f"{_microseconds(program, x, w):.0f} us"
    yield "a captured call", f"{_microseconds(captured, x, w):.0f} us"
    if not (result.ok and result.graphs):
        raise RuntimeError("nothing was captured" if result.ok else "the results are wrong")


def _microseconds(function: Callable[..., object], *args: object) -> float:
    started = time.perf_counter()
    for _ in range(CALLS):
        function(*args)
    return (time.perf_counter() - started) / CALLS * 1e6


SECTIONS = (_versions, _machine, _extension, _storage, _settings, _self_test)
