"""The examples of exports: a C program and a program for Node give what eager gives."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from typing import Any

from tests.capture.exporting.c_programs import need_tools

EXAMPLES = Path(__file__).parents[3] / "examples"


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / name / "export.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_model_in_a_c_program(tmp_path, capsys):
    need_tools("x86-64")
    example("export_c").main(str(tmp_path))
    said = capsys.readouterr().out
    source = str(EXAMPLES / "export_c" / "main.c")
    command = [
        "cc",
        "-O2",
        "-Wall",
        "-Werror",
        "-Idigits",
        source,
        "digits/digits.o",
        "-lm",
        "-o",
        "classify",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    image = (tmp_path / "image.txt").read_text()
    done = subprocess.run(
        ["./classify"], cwd=tmp_path, input=image, capture_output=True, text=True, check=True
    )
    assert said.split(";")[0].removeprefix("eager says ") == done.stdout.split(",")[0]


def test_a_function_in_node(tmp_path, capsys):
    need_tools("wasm32")
    example("export_wasm").main(str(tmp_path / "ripples"))
    said = capsys.readouterr().out
    script = str(EXAMPLES / "export_wasm" / "draw.mjs")
    done = subprocess.run(
        ["node", script, str(tmp_path / "ripples")], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == said.strip()
