"""The pytest plugin: options, fixtures, bad input; each in a run of pytest of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

TESTS = """
import torch, capture

def broken(x):
    return x * 2 if x.sum() > 0 else x

def whole(x):
    return x * 2 + 1

def test_whole(no_graph_breaks, no_recompiles):
    fast = capture.compile(whole, backend="eager")
    assert torch.equal(fast(torch.ones(3)), whole(torch.ones(3)))
    assert no_graph_breaks.graph_count == 1

def test_breaks(no_graph_breaks):
    capture.compile(broken, backend="eager")(torch.ones(3))

def test_recompiles(no_recompiles):
    fast = capture.compile(whole, backend="eager")
    fast(torch.ones(3))
    fast(torch.ones(3, dtype=torch.float64))

def test_plain():
    assert broken(torch.ones(3)).sum() == 6
"""


def run(tmp_path, *options: str, expected: int = 0) -> str:
    (tmp_path / "test_user.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "test_user.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout + done.stderr


PLUGIN: tuple[str, ...] = ("-p", "pytest_capture")


@pytest.fixture(autouse=True, scope="module")
def _loaded_once():
    """The entry point loads the plugin where the project is installed; its options exist once only."""
    from importlib.metadata import entry_points

    global PLUGIN
    if any(entry.value == "pytest_capture" for entry in entry_points(group="pytest11")):
        PLUGIN = ()


def test_fixtures_fail_a_test_with_the_reason(tmp_path):
    said = run(tmp_path, *PLUGIN, expected=1)
    assert "2 failed, 2 passed" in said
    assert "a branch depends on the values of a tensor [data_dependent_jump]" in said
    assert "return x * 2 if x.sum() > 0 else x" in said
    assert "dtype" in said


def test_all_tests_captured(tmp_path):
    said = run(tmp_path, *PLUGIN, "--capture-backend", "eager", "-k", "plain")
    assert "capture (eager): " in said and " 0 graphs" not in said


def test_unknown_backend(tmp_path):
    said = run(tmp_path, *PLUGIN, "--capture-backend", "egaer", expected=4)
    assert "did you mean 'eager'" in said


def test_the_plugin_itself_is_light():
    code = "import sys, pytest_capture; assert 'torch' not in sys.modules and 'capture' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
