"""`python -m capture run` runs a program as Python does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, pickle, sys
import torch
import capture
class Kept: pass
def f(x): return x.sin() + 1
def fail(x): raise ValueError("boom")
f(torch.ones(3))
print(__name__, __file__, sys.argv, sys.path[0], type(pickle.loads(pickle.dumps(Kept()))) is Kept)
how = sys.argv[-1]
if how == "exit": sys.exit(7)
if how == "fail": fail(f(torch.ones(3)))
if how == "interrupt": raise KeyboardInterrupt
if how == "hook":
    sys.excepthook = lambda kind, error, trace: print("hooked", trace.tb_frame.f_code.co_name)
    fail(1)
"""


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    where = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), str(folder)])}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env=os.environ | where, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("program")
    (made / "program.py").write_text(PROGRAM)
    (made / "wrong.py").write_text("x = = 1\n")
    return made


@pytest.mark.parametrize("how", ["", "exit", "fail", "interrupt", "hook"])
def test_as_python_does(folder: Path, how: str) -> None:
    plain = python(folder, "program.py", "--epochs", "3", how)
    run = python(folder, "-m", "capture", "run", "program.py", "--epochs", "3", how)
    assert (run.returncode, run.stdout, run.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_a_module(folder: Path) -> None:
    plain = python(folder, "-m", "program", "--help", "exit")
    run = python(folder, "-m", "capture", "run", "-m", "program", "--help", "exit")
    assert (run.returncode, run.stdout) == (plain.returncode, plain.stdout) == (7, plain.stdout)


def test_a_syntax_error(folder: Path) -> None:
    plain, run = python(folder, "wrong.py"), python(folder, "-m", "capture", "run", "wrong.py")
    assert (run.returncode, run.stderr) == (plain.returncode, plain.stderr)


def test_options(folder: Path) -> None:
    (folder / "captured.py").write_text(
        "import capture, torch\n"
        "def f(x):\n"
        "    return x.sin() + 1\n"
        "f(torch.ones(3))\n"
        "print(capture.counters['graphs']['compiled'])\n"
    )
    options = ["--check", "--backend", "eager", "--report", "traced"]
    run = python(folder, "-m", "capture", "run", *options, "captured.py")
    assert run.stdout == "1\n" and "1 graphs checked, 0 wrong" in run.stderr
    (file,) = (folder / "traced").glob("*.jsonl")
    assert '"graph"' in file.read_text() and (folder / "traced" / "report.html").exists()
