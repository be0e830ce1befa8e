"""The check of versions: a line for each thing that does not fit, and the ranges of pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from capture.report import versions
from capture.report.versions import LIBRARIES, PYTHON, parse, problem, text_of

ROOT = Path(__file__).parents[3]
TORCH = next(needed for needed in LIBRARIES if needed.library == "torch")


@pytest.mark.parametrize(
    ("text", "version"),
    [("2.13.0+cpu", (2, 13, 0)), ("2.14.0a0+git1234", (2, 14, 0)), ("2.15.0.dev2026", (2, 15, 0)), ("?", ())],
)
def test_parse(text, version):
    assert parse(text) == version


@pytest.mark.parametrize("found", ["2.13.0", "2.13.1+cpu", "2.14.1+cu130", "2.15.0", "2.15.9"])
def test_versions_that_fit(found):
    assert problem(TORCH, found) is None


@pytest.mark.parametrize("found", ["2.12.1", "2.16.0", "2.16.0a0", "3.0", "1.13.1+cpu"])
def test_versions_that_do_not(found):
    assert problem(TORCH, found) == (
        f"capture needs torch >=2.13,<2.16, but {found} is installed: `pip install torch==2.13.0`"
    )


def test_a_library_that_is_not_there():
    assert problem(TORCH, None) == (
        "capture needs torch >=2.13,<2.16, but it is not installed: `pip install torch==2.13.0`"
    )


def test_the_ranges_are_those_of_the_distribution():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for needed in LIBRARIES:
        assert f"{needed.library}{text_of(needed)}" in project["dependencies"]
    assert project["requires-python"] == text_of(PYTHON)


def test_another_python(monkeypatch):
    monkeypatch.setattr(versions.sys, "version", "3.12.1 (main) [GCC]")
    with pytest.raises(ImportError, match=r"needs Python >=3\.11,<3\.12, but this is 3\.12\.1: make"):
        versions.check()


@pytest.mark.parametrize(
    ("text", "found"),
    [('__version__ = "0.18.2"\n', "0.18.2"), ("version = '0.18.2'\n", "0.20"), (None, "0.20")],
)
def test_a_library_that_is_not_imported_tells_its_version_in_a_file(tmp_path, monkeypatch, text, found):
    """Another file, or none: it is imported."""
    (tmp_path / "other_bytecode").mkdir()
    (tmp_path / "other_bytecode" / "__init__.py").write_text("__version__ = '0.20'")
    if text is not None:
        (tmp_path / "other_bytecode" / "version.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert versions._found("other_bytecode") == found
    finally:
        sys.modules.pop("other_bytecode", None)


OTHER_TORCH = """
import sys, types
sys.modules["torch"] = types.ModuleType("torch")
sys.modules["torch"].__version__ = "2.12.1"
import capture
"""


def test_the_check_comes_before_all_that_depends_on_torch():
    done = subprocess.run([sys.executable, "-c", OTHER_TORCH], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "ImportError: capture needs torch >=2.13,<2.16, but 2.12.1"
    )
