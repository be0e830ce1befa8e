"""A share of scripts/interruptions.py and failing_allocations.py: captures without memory, and killed.

Interrupts are for the script alone: torch ends the process where one strikes inside of its own destructors.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.sweep


@pytest.mark.parametrize(
    ("arguments", "least"),
    [
        (("memory", "30", "eager"), {"MemoryError": 15}),
        (("memory", "15", "llvm"), {"results": 1}),
        (("kill", "15"), {"killed": 3}),
    ],
    ids=["memory-eager", "memory-llvm", "kill"],
)
def test_the_program_goes_on_right(arguments: tuple[str, ...], least: dict[str, int]) -> None:
    check("scripts/interruptions.py", arguments, least)


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb tells torch's crashes from ours")
@pytest.mark.parametrize(
    ("arguments", "least"),
    [
        (("capture", "60", "eager"), {"MemoryError": 25}),
        (("capture", "20", "llvm"), {"MemoryError": 5}),
        (("call", "all", "llvm"), {"MemoryError": 1}),
    ],
    ids=["capture-eager", "capture-llvm", "call"],
)
def test_single_allocations_fail(arguments: tuple[str, ...], least: dict[str, int]) -> None:
    check("scripts/failing_allocations.py", arguments, least)


def check(script: str, arguments: tuple[str, ...], least: dict[str, int]) -> None:
    command = [sys.executable, script, *arguments]
    settings = os.environ | {"CAPTURE_SEED": "0"}
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    counts = json.loads(done.stdout.splitlines()[0])
    for name, count in least.items():
        assert counts[name] >= count, counts
