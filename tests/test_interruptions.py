"""A share of scripts/interruptions.py: captures without memory, and killed.

Interrupts are for the script alone: torch ends the process where one strikes inside of its own destructors.
"""

from __future__ import annotations

import json
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
    command = [sys.executable, "scripts/interruptions.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    counts = json.loads(done.stdout.splitlines()[0])
    for name, count in least.items():
        assert counts[name] >= count, counts
