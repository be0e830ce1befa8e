"""The tour of docs/ shows what its program prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from codegen.llvm.target import LEVELS, Target

ROOT = Path(__file__).parents[1]
TOUR = (ROOT / "docs" / "tour.md").read_text()
LOGS = "graph_breaks,graph,guards,bytecode,recompiles,loops,llvm"
LEVEL = "x86-64-v3"

pytestmark = pytest.mark.skipif(
    Target.host().vector_bytes < LEVELS[LEVEL].vector_bytes, reason=f"the tour shows code of {LEVEL}"
)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    program = re.search(r"<!-- program -->\n```python\n(.*?)```", TOUR, re.DOTALL)
    assert program is not None
    path = tmp_path_factory.mktemp("tour") / "tour.py"
    path.write_text(program[1])
    environment = {**os.environ, "CAPTURE_LOGS": LOGS, "CAPTURE_CPU": LEVEL, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, check=True)
    return done.stderr


def as_pattern(block: str) -> str:
    """`...` on its own line matches any lines; within a line it matches anything."""
    return "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n"
        for line in block.splitlines()
    )


BLOCKS = re.findall(r"<!-- log -->\n```text\n(.*?)```", TOUR, re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_log(number: int, printed: str) -> None:
    found = re.search("^" + as_pattern(BLOCKS[number]), printed, re.MULTILINE) is not None
    assert found, f"not printed any more:\n{BLOCKS[number]}"


def test_there_is_something_to_compare() -> None:
    assert len(BLOCKS) >= 5


def test_linked_files_exist() -> None:
    paths = re.findall(r"\]\(\.\./([^)]+)\)", TOUR)
    assert len(paths) >= 10
    assert [path for path in paths if not (ROOT / path).exists()] == []
