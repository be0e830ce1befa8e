"""scripts/failing_allocations.py tells by stacks whether torch, Python's compiler or capture crashed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = str(Path(__file__).parents[1] / "scripts")

EVAL = "#7  0x0000 in _PyEval_EvalFrameDefault (tstate=<optimized out>)"
HOOK = "#8  0x0000 in eval_frame (tstate=0x1, frame=0x2) at native/frame/eval_frame.c:368"
FREED = ["#0  0x0000 in _PyObject_GC_UNTRACK (op=0x2f) at ./Include/internal/pycore_object.h:172", EVAL, HOOK]
ALLOCATION = "#0  hook_fmalloc (ctx=0x1, size=8)"
COMPILER = "#4  0x0000 in _PyAST_Compile (mod=0x1, filename=0x2)"
TORCH = "#3  0x0000 in THPVariable_Wrap () from /lib/python3.11/site-packages/torch/lib/libtorch_python.so"
GUARDS = "#2  0x0000 in guard_program_run (program=0x1) at native/guards/guard_program.c:10"
WRITE = "#5  0x0000 in _io_TextIOWrapper_write (self=0x7f1, arg=0x7f2) at ./Modules/_io/clinic/textio.c.h:402"
OTHER_WRITE = WRITE.replace("0x7f2", "0x7f3")
CLEAR = "#0  0x0000 in textiowrapper_clear (self=0x7f1) at ./Modules/_io/textio.c:1484"
ABORT = "#0  0x0000 in raise () from /lib/x86_64-linux-gnu/libc.so.6"
LLVM = "#2  0x0000 in LLVMPY_Parse () from /lib/python3.11/site-packages/llvmlite/binding/libllvmlite.so"


@pytest.fixture
def who_crashed(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("_testcapi")
    monkeypatch.setattr(sys, "path", [SCRIPTS, *sys.path])
    return importlib.import_module("failing_allocations").who_crashed


@pytest.mark.parametrize(
    ("failing", "crash", "whose"),
    [
        ([ALLOCATION, COMPILER, EVAL], FREED, "python"),
        ([ALLOCATION, EVAL, COMPILER], FREED, "unknown"),  # the compiler called code that failed
        ([ALLOCATION, EVAL], FREED, "unknown"),
        ([], FREED, "unknown"),
        ([ALLOCATION, COMPILER, EVAL], [FREED[0], GUARDS, EVAL, HOOK], "capture"),
        ([ALLOCATION, COMPILER, EVAL], [HOOK], "capture"),
        ([ALLOCATION, EVAL], [FREED[0], TORCH, EVAL, HOOK], "torch"),
        ([ALLOCATION, WRITE, EVAL], [CLEAR, WRITE, EVAL, HOOK], "python"),
        ([ALLOCATION, WRITE, EVAL], [ABORT, CLEAR, WRITE, EVAL, HOOK], "python"),
        ([ALLOCATION, WRITE, EVAL], [CLEAR, OTHER_WRITE, EVAL, HOOK], "unknown"),  # a later call
        ([ALLOCATION, WRITE, EVAL], [CLEAR, GUARDS, WRITE, EVAL, HOOK], "capture"),
        ([ALLOCATION, GUARDS, WRITE, EVAL], [CLEAR, WRITE, EVAL, HOOK], "unknown"),
        ([ALLOCATION, LLVM, WRITE, EVAL], [CLEAR, WRITE, EVAL, HOOK], "unknown"),
    ],
)
def test_whose_crash(failing: list[str], crash: list[str], whose: str, who_crashed: Any) -> None:
    assert who_crashed(failing, crash).partition(":")[0] == whose
