"""Memory of captured functions goes with them. What stays is measured in a process of its own, since pytest
keeps the records of logs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks import leaks

ROOT = Path(__file__).parents[1]


def test_nothing_stays() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "benchmarks.leaks", "100", "60"],
        cwd=ROOT,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.count(" a call\n") == len(leaks.PROGRAMS)


def test_the_measure_sees_what_stays() -> None:
    kept: list[object] = []
    left = leaks.measure(lambda _: kept.append([bytearray(2000) for _ in range(4)]), warm_up=1, calls=50)
    assert left.stays
    assert left.blocks >= 4 and left.bytes > 7000
    assert not leaks.measure(lambda _: None, warm_up=1, calls=50).stays
