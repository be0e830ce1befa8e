"""Profilers see graphs and kernels by their names."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest
import torch

import capture
from codegen.launch import perf_map


@pytest.fixture(autouse=True)
def fresh() -> None:
    capture.reset()


def step(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = (x @ w).relu()
    return (y.softmax(1) * 2).sum(0)


def inputs(size: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    draw = (torch.randn(size, size, generator=generator) for _ in range(2))
    return next(draw), next(draw).requires_grad_()


def names_of(function: object, *calls: tuple[torch.Tensor, ...]) -> dict[str, int]:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for arguments in calls:
            function(*arguments).sum().backward()
    return {event.key: event.count for event in profile.key_averages()}


def test_each_run_of_a_graph() -> None:
    captured = capture.compile(step)
    captured(*inputs()).sum().backward()
    found = names_of(captured, inputs(), inputs())
    assert found["step [0/0]"] == 2 and found["step [0/0] backward"] == 2
    assert not any("k0" in name for name in found)


def test_each_kernel() -> None:
    with capture.config.patch(profile_kernels=True):
        captured = capture.compile(step)
        captured(*inputs()).sum().backward()
    found = names_of(captured, inputs())
    assert found["step [0/0]: gemm"] == 1
    assert any(re.match(r"step \[0/0\]: k0 \w+ -> ", name) for name in found)
    assert any(re.match(r"step \[0/0\] backward: k0 \w+ -> ", name) for name in found)


def test_graphs_for_other_sizes_keep_the_name() -> None:
    captured = capture.compile(step, dynamic=True)
    captured(*inputs(8)).sum().backward()
    found = names_of(captured, inputs(8), inputs(12), inputs(16))
    assert found["step [0/0]"] == 3 and found["step [0/0] backward"] == 3


def test_a_graph_that_raises_ends_its_range() -> None:
    def at(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return (x[i] * 2).exp()

    captured = capture.compile(at)
    captured(torch.ones(3), torch.tensor([1]))
    with torch.profiler.profile() as profile:
        with pytest.raises(IndexError):
            captured(torch.ones(3), torch.tensor([7]))
        torch.ones(3).cosh()
    (cosh,) = [event for event in profile.events() if event.name == "aten::cosh"]
    assert cosh.cpu_parent is None


def test_perf_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf_map, "FOLDER", str(tmp_path))
    with capture.config.patch(perf_map=True):
        capture.compile(step)(*inputs())
    (file,) = tmp_path.iterdir()
    assert file.name == f"perf-{os.getpid()}.map" and stat.S_IMODE(file.stat().st_mode) == 0o600
    for line in file.read_text().splitlines():
        address, size, name = line.split(" ", 2)
        assert int(address, 16) > 0 and 0 < int(size, 16) < 100_000 and name.startswith("step [0/0]: k")


def test_a_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf_map, "FOLDER", str(tmp_path))
    os.symlink(tmp_path / "elsewhere", perf_map.path())
    with pytest.raises(OSError):
        perf_map.write([], "step")
    assert not (tmp_path / "elsewhere").exists()
