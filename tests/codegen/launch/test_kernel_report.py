"""CAPTURE_LOGS=kernels: the work of each kernel, and its time."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import torch
from torch import fx

from codegen.compile_fx import compile_fx
from codegen.kernel.traffic import buffers_moved, flops_of
from codegen.launch import kernel_report


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(kernel_report, "_watched", [])
    monkeypatch.setattr(kernel_report.atexit, "register", lambda function: None)
    monkeypatch.setattr(kernel_report.log, "level", logging.DEBUG)
    kernel_report.log.manager._clear_cache()  # type: ignore[attr-defined]
    yield
    kernel_report.log.manager._clear_cache()  # type: ignore[attr-defined]


def test_report(watched: None) -> None:
    x, w = torch.randn(100, 200), torch.randn(200, 300)
    with torch.no_grad():
        graph = compile_fx(fx.symbolic_trace(lambda x, w: (torch.relu(x @ w).logcumsumexp(1),)), [x, w])
        for _ in range(3):
            graph(x, w)
    _, head, *lines = kernel_report.report().splitlines()
    assert "us/call" in head and len(lines) == 3
    assert {line.rpartition(" ")[2] for line in lines} == {"gemm", "k0", "aten.logcumsumexp.default"}
    assert all(line.split()[0] == "3" for line in lines)
    ((_, work),) = kernel_report._watched
    gemm = next(item for item in work.values() if item.name == "gemm")
    assert gemm.flops == 2 * 100 * 200 * 300 and gemm.bytes_moved == 4 * (100 * 200 + 200 * 300 + 100 * 300)


def test_a_graph_is_not_timed_without_the_log() -> None:
    x = torch.randn(10)
    with torch.no_grad():
        graph = compile_fx(fx.symbolic_trace(lambda x: (x + 1,)), [x])
        graph(x)
    assert graph.timings is None  # type: ignore[union-attr]


def test_work_of_a_kernel() -> None:
    x, y = torch.randn(1000), torch.randn(1000)
    with torch.no_grad():
        graph = compile_fx(fx.symbolic_trace(lambda x, y: ((x * y).exp(), x.sum())), [x, y])
    assert sum(flops_of(kernel.body) or 0 for kernel in graph.kernels) >= 3000  # type: ignore[union-attr]
    moved = [name for kernel in graph.kernels for name in buffers_moved(kernel)]  # type: ignore[union-attr]
    assert {"x", "y"} <= set(moved)


def test_scratch_is_not_moved() -> None:
    x = torch.randn(512, 1024)
    with torch.no_grad():
        graph = compile_fx(fx.symbolic_trace(lambda x: (x.sum(0),)), [x])
    (kernel,) = graph.kernels  # type: ignore[union-attr]
    assert len(kernel.buffers) > 2 and len(buffers_moved(kernel)) == 2
