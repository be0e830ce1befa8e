"""Large programs: right, and captured in a time that grows with their size."""

from __future__ import annotations

import time

import bytecode
import pytest
import torch

import capture
from benchmarks.large_programs import all_returned, lines
from benchmarks.many_functions import measure
from capture.bytecode.resume import resume_code
from capture.output.result_recipe import Recipe


def test_thousands_of_results() -> None:
    program = all_returned(2000)
    found = capture.compile(program, backend="eager", fullgraph=True)(torch.ones(2))
    assert len(found) == 2000 and found[-1].tolist() == [2001.0, 2001.0]


def test_a_recipe_finds_its_outputs_at_once() -> None:
    graph = torch.fx.Graph()
    recipe = Recipe(None)  # type: ignore[arg-type]
    nodes = [graph.placeholder(f"x{i}") for i in range(5000)]
    started = time.process_time()
    for node in nodes * 2:
        recipe.output(node)
    assert time.process_time() - started < 1  # a search among the outputs for each takes 5 s
    assert recipe.outputs == nodes and recipe.program[-1] == ("out", 4999)


def test_a_large_function_with_breaks() -> None:
    program = lines(1000, break_each=100)
    x = torch.randn(3)
    wanted = program(x)
    compiled = capture.compile(program, backend="eager")
    for _ in range(2):
        assert torch.equal(compiled(x), wanted)
    assert capture.explain(program)(x).graph_break_count == 9


def test_resume_functions_of_a_large_function_are_not_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    code = lines(5000).__code__

    def refuse(*args: object) -> None:
        raise AssertionError("the library reads the whole code")

    monkeypatch.setattr(bytecode.Bytecode, "from_code", refuse)
    for target in range(400, 12_000, 1000):
        assert len(resume_code(code, target, (), ("x0", "x1"), target).co_code) > len(code.co_code)


def test_each_of_many_functions_is_captured() -> None:
    capture.reset()
    found = measure("eager", 20)
    assert capture.counters["frames"] == {"captured": 21}  # the first one is not measured
    assert len(found.seconds) == len(found.bytes) == 10 and min(found.seconds) > 0
    assert found.ratio == found.seconds[9] / found.seconds[0]
    assert found.kept_bytes == pytest.approx(sum(found.bytes[1:]) / 9)
