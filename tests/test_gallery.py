"""Each example of the gallery runs, in a process of its own, and is short. The doors need other packages, so
`nox` runs them; here they are short, and their versions are pinned.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SINGLE = [ROOT / "examples" / f"{name}.py" for name in ("graphdef", "primitives", "scalar_jit")]
DOORS = ROOT / "examples" / "doors"
EXAMPLES = [*sorted((ROOT / "examples" / "gallery").glob("*.py")), *SINGLE]


NEEDS = {"hf_model": "transformers", "lightning_module": "lightning"}  # packages that a user brings


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path):
    package = NEEDS.get(path.stem)
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("CAPTURE_WHEN", None)  # as a user runs it
    done = subprocess.run([sys.executable, str(path)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("path", [*EXAMPLES, *DOORS.glob("*.py")], ids=lambda path: path.stem)
def test_example_is_short(path):
    assert len(path.read_text().splitlines()) <= 60


def test_each_door_has_pinned_versions():
    programs = {path.stem for path in DOORS.glob("*.py")} - {"counted", "noxfile"}
    assert programs == {path.stem for path in (DOORS / "requirements").glob("*.txt")}
    for path in (DOORS / "requirements").glob("*.txt"):
        lines = path.read_text().split()
        assert "torch==2.13.0" in lines and all("==" in line for line in lines), path
        page = (ROOT / "docs" / "doors.md").read_text()
        assert f"{path.stem}.py" in page
        for line in lines:
            package, version = line.split("==")
            assert re.search(rf"{re.escape(package.partition('[')[0])} {re.escape(version)}", page), line
