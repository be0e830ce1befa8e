"""Notebooks: the magics, autoreload, tracebacks, `%%capture` of IPython itself."""

from __future__ import annotations

import re

import pytest
import torch

import capture
from capture.policy import foresight, patience

IPython = pytest.importorskip("IPython", reason="IPython is not installed")

DEFINE = """
import torch, capture

def scale(x):
    return x * 2 + 1
"""


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    settings = Config()
    settings.HistoryManager.enabled = False
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(config=settings)
    made.run_line_magic("load_ext", "capture")
    made.run_cell(DEFINE)
    capture.reset()
    yield made
    InteractiveShell.clear_instance()


def graphs() -> int:
    return capture.counters["graphs"]["compiled"]


def test_a_cell_runs_captured(shell):
    shell.run_cell("%%captured --backend eager\ny = scale(torch.ones(3))")
    assert torch.equal(shell.user_ns["y"], torch.full((3,), 3.0))
    assert graphs() == 1
    shell.run_cell("y = scale(torch.ones(3, dtype=torch.float64))")
    assert graphs() == 1, "the next cell is not captured"


def test_a_cell_is_explained(shell, capsys):
    shell.run_cell("%%captured --backend eager --explain\nscale(torch.ones(3))")
    printed = capsys.readouterr().out
    assert "tensor([3., 3., 3.])" in printed and "1 graph, 0 graph breaks" in printed


def test_all_cells(shell, monkeypatch):
    monkeypatch.setattr(capture.config, "when", "first")
    shell.run_cell("%captured on --backend eager")
    shell.run_cell("y = scale(torch.ones(3))")
    assert graphs() == 1
    shell.run_cell("%captured off")
    shell.run_cell("y = scale(torch.ones(3, dtype=torch.float64))")
    assert graphs() == 1


def test_the_loop_of_a_cell_is_captured_where_it_pays(shell, monkeypatch):
    for name in ("UNIT_NS", "LEAST_NS", "FIRST_NS", "TURN_NS"):
        monkeypatch.setattr(patience, name, 0)
    monkeypatch.setattr(foresight, "share_done", lambda frame: None)  # pytest has loops, too
    loop = "x = torch.ones(3)\nfor i in range(20):\n    x = x.sin() + i\n"
    shell.run_cell(loop)
    expected = shell.user_ns["x"]
    with capture.config.patch(when="hot"):
        shell.run_cell("%captured on")
        shell.run_cell(loop)
        shell.run_cell("%captured off")
    assert torch.allclose(shell.user_ns["x"], expected)
    assert graphs() == 1


def test_an_error_shows_the_line_of_the_cell(shell, capsys):
    shell.run_cell("def fails(x):\n    y = x * 2\n    raise ValueError(f'dim {y.dim()}')\n")
    result = shell.run_cell("%%captured\nfails(torch.ones(3))")
    printed = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "ValueError" in printed and "dim 1" in printed and "raise ValueError" in printed
    before = graphs()
    shell.run_cell("y = scale(torch.ones(3))")
    assert graphs() == before, "the block has ended"


@pytest.mark.parametrize("line", ["%captured", "%captured --backend eagr on", "%captured upside"])
def test_bad_input_is_told(shell, capsys, line):
    shell.run_cell(line)
    told = capsys.readouterr()
    assert "Error" in told.out + told.err


def test_the_magic_for_output_is_ipythons(shell):
    shell.run_cell("%%capture said\nprint('hello')")
    assert shell.user_ns["said"].stdout == "hello\n"


def test_autoreload_of_a_compiled_function(shell, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "a_module_of_the_notebook.py"
    module.write_text("def f(x):\n    return x * 2\n")
    shell.run_line_magic("load_ext", "autoreload")
    shell.run_line_magic("autoreload", "2")
    shell.run_cell("import a_module_of_the_notebook as m\nfast = capture.compile(m.f, backend='eager')")
    shell.run_cell("y = fast(torch.ones(2))")
    assert torch.equal(shell.user_ns["y"], torch.full((2,), 2.0))
    module.write_text("def f(x):\n    return x * 300  # edited\n")
    shell.run_cell("y = fast(torch.ones(2))")
    assert torch.equal(shell.user_ns["y"], torch.full((2,), 300.0))
