"""capture.minify writes a script that fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import capture
from capture.checking.script import evaluated, literal
from capture.report.errors import UsageError
from tests.capture.checking.test_check import chain, data, planting


def test_a_wrong_operation(tmp_path: Path) -> None:
    path = str(tmp_path / "small.py")
    backend = planting("exp", lambda y: y * 1.01)
    found = capture.minify(chain, (data(8, 16),), path=path, backends=["eager", backend])
    assert found.reproduces and Path(path).read_text() == found.source
    assert ".exp()" in found.source and ".log()" not in found.source and "sin" not in found.source
    assert "torch.randn([1, 1]" in found.source


def test_values_are_kept_where_they_matter(tmp_path: Path) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return (x + 1).exp()

    backend = planting("exp", lambda y: torch.where(y > 2e4, y * 1.01, y))
    found = capture.minify(program, (torch.tensor([10.0]),), path=str(tmp_path / "x.py"), backends=[backend])
    assert found.reproduces and "torch.tensor([11.0], dtype=torch.float32)" in found.source


@pytest.mark.parametrize("value", [data(5, 7).bfloat16(), torch.arange(40), data(6, 8).t(), data(2, 3)])
def test_inputs_stand_in_the_script(value: torch.Tensor) -> None:
    again = evaluated(literal(value))
    assert torch.equal(again, value) and again.dtype == value.dtype and again.stride() == value.stride()


def test_the_script_fails_when_it_is_run(tmp_path: Path) -> None:
    def broken(gm: Any, example_inputs: list[Any]) -> Any:
        if any(node.target == "exp" for node in gm.graph.nodes):
            raise ValueError("no exp here")
        return gm.forward

    path = tmp_path / "small.py"
    assert capture.minify(chain, (data(4, 4),), path=str(path), backends=[broken]).reproduces
    register = "capture.backends.register('broken')(lambda gm, inputs: 1 / 0)\n"
    text = path.read_text().replace("\n\n\ndef ", f"\n\n{register}\n\ndef ", 1)
    path.write_text(text)
    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and "raised ZeroDivisionError" in ran.stdout, ran.stderr


def test_nothing_to_reproduce(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to reproduce: ok"):
        capture.minify(chain, (data(2, 2),), path=str(tmp_path / "x.py"))
