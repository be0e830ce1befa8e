"""Kernels have the names of what they compute, in logs, profiles and traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture
from codegen.kernel.program import Origin


def kernels_of(tmp_path: Path, function: Any, *args: Any) -> dict[str, dict[str, Any]]:
    """By role and name: what a trace tells of the kernels of a function and its backward."""
    with capture.trace(tmp_path) as trace:
        result = capture.compile(function)(*args)
        if result.requires_grad:
            result.sum().backward()
    events = map(json.loads, trace.path.read_text().splitlines())
    return {
        f"{event['role']} {kernel['name']}": kernel
        for event in events
        if event["event"] == "native"
        for kernel in event["kernels"]
    }


def test_a_chain_is_one_kernel(tmp_path: Path) -> None:
    def chain(x: torch.Tensor) -> torch.Tensor:
        doubled = x * 2
        return doubled.sin() * doubled.cos() * 3 + 1

    found = kernels_of(tmp_path, chain, torch.randn(100))
    assert found["forward k0"]["title"] == "fused_mul_sin_cos_mul_mul_add"
    assert found["forward k0"]["nodes"] == ["mul", "sin", "cos", "mul_1", "mul_2", "add"]


def test_a_kernel_of_one_operator_has_its_name(tmp_path: Path) -> None:
    assert kernels_of(tmp_path, lambda x: x.exp(), torch.randn(9))["forward k0"]["title"] == "exp"


def test_a_sum_that_keeps_its_dimensions_is_named(tmp_path: Path) -> None:
    found = kernels_of(tmp_path, lambda x: x.sum(1, keepdim=True), torch.randn(9, 5))
    assert found["forward k0"]["nodes"] == ["sum_1"]


def test_kernels_of_a_backward_name_the_forward(tmp_path: Path) -> None:
    """The operators are those of the backward; the nodes are those that the program wrote."""

    def loss(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.gelu(x @ w).tanh()

    w = torch.randn(5, 6, requires_grad=True)
    found = kernels_of(tmp_path, loss, torch.randn(4, 5), w)
    assert sorted(found["backward k0"]["nodes"]) == ["gelu", "tanh"]
    assert "gelu_backward" in found["backward k0"]["title"]


def test_rows_of_a_table_keep_their_nodes(tmp_path: Path) -> None:
    def both(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        a = torch.exp(x)
        b = torch.exp(y)
        return torch.cat([a.sum(0, keepdim=True) @ x, b.sum(0, keepdim=True) @ y])

    found = kernels_of(tmp_path, both, torch.randn(6, 6), torch.randn(6, 6))
    nodes = [name for kernel in found.values() for name in kernel["nodes"]]
    assert sorted(nodes) == ["exp", "exp_1", "sum_1", "sum_2"]


@pytest.mark.parametrize(
    ("count", "title"),
    [(0, ""), (1, "op0"), (2, "fused_op0_op1"), (10, "fused_op0_op1_op2_op3_op4_op5_op6_op7_2_more")],
)
def test_titles(count: int, title: str) -> None:
    assert Origin(tuple(f"op{number}" for number in range(count))).title == title


def test_the_log_of_the_machine_code_has_titles(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger="capture.llvm"):
        capture.compile(lambda x: (x * 2).sin())(torch.randn(100))
    assert any(record.getMessage().startswith("k0: fused_mul_sin\n") for record in caplog.records)
