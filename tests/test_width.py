"""No line of the project's text is wider than 110 columns; ruff and clang-format see to Python and C."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WIDTH = 110
TEXT = {".md", ".toml", ".yaml", ".cfg", ""}  # "": Makefile, .ci/run and the like


def test_no_line_is_too_wide() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: nothing says which files are the project's")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [name for name in listed.splitlines() if Path(name).suffix in TEXT]
    assert "README.md" in files
    wide = [
        f"{name}:{number}"
        for name in files
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1)
        if len(line) > WIDTH
    ]
    assert not wide
