"""Attention over short sequences is products and a softmax: values, strides and gradients like eager's."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture
from capture.report.config import config
from tests.codegen.aten_graphs import record

TOLERANCE = {torch.float32: {"rtol": 1e-4, "atol": 1e-5}, torch.float64: {"rtol": 1e-10, "atol": 1e-10}}
BATCH, HEADS, SIZE = 2, 3, 4


@pytest.fixture(autouse=True)
def anew() -> None:
    capture.reset()


def masks(queries: int, keys: int) -> dict[str, torch.Tensor | None]:
    some = torch.rand(BATCH, 1, queries, keys) < 0.7
    nowhere = some.clone()
    nowhere[0, :, 1] = False
    return {
        "none": None,
        "scores": torch.randn(queries, keys),
        "bool": some,
        "of each head": torch.randn(BATCH, HEADS, queries, keys),
        "a query that looks nowhere": nowhere,
        "padding": torch.zeros(BATCH, 1, 1, keys).masked_fill_(torch.arange(keys) > keys // 2, -math.inf),
    }


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
    return F.scaled_dot_product_attention(q * 1.5, k, v, **options)


def results(function: Any, tensors: list[torch.Tensor], options: dict[str, Any]) -> list[torch.Tensor]:
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    value = function(*leaves, options)
    return [value, *torch.autograd.grad(value.pow(3).sum(), leaves)]


def tensors_of(queries: int, keys: int, dtype: torch.dtype, heads_inside: bool) -> list[torch.Tensor]:
    made = []
    for length in (queries, keys, keys):
        tensor = torch.randn(BATCH, HEADS, length, SIZE, dtype=dtype)
        made.append(tensor.transpose(1, 2).contiguous().transpose(1, 2) if heads_inside else tensor)
    return made


def check(tensors: list[torch.Tensor], options: dict[str, Any]) -> None:
    with config.patch(raise_on_error=True):
        found = results(capture.compile(attend, fullgraph=True, dynamic=False), tensors, options)
    for ours, theirs in zip(found, results(attend, tensors, options), strict=True):
        torch.testing.assert_close(ours, theirs, **TOLERANCE[ours.dtype])
        assert ours.stride() == theirs.stride()


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("kind", masks(5, 7))
@pytest.mark.parametrize("heads_inside", [True, False])
def test_masks(dtype: torch.dtype, kind: str, heads_inside: bool) -> None:
    mask = masks(5, 7)[kind]
    if mask is not None and mask.dtype is not torch.bool:
        mask = mask.to(dtype)
    check(tensors_of(5, 7, dtype, heads_inside), {"attn_mask": mask})


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize(("queries", "keys"), [(6, 6), (3, 8), (8, 3), (2, 1)])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_causal(dtype: torch.dtype, queries: int, keys: int, scale: float | None) -> None:
    check(tensors_of(queries, keys, dtype, True), {"is_causal": True, "scale": scale})


def test_scores_that_overflow() -> None:
    tensors = tensors_of(4, 4, torch.float32, False)
    tensors[0][0, 0, 1], tensors[1][0, 0] = -2e38, 1.0
    value = attend(*tensors, {})
    found = capture.compile(attend, fullgraph=True)(*tensors, {})
    assert value[0, 0, 1].count_nonzero() == 0
    torch.testing.assert_close(found, value)


@pytest.mark.parametrize(
    ("queries", "keys", "batch", "by_operator"),
    [(64, 64, 2, False), (65, 64, 2, True), (1, 8, 2, True), (64, 64, 22, True), (32, 32, 90, False)],
)
def test_which_lengths(queries: int, keys: int, batch: int, by_operator: bool) -> None:
    tensors = [torch.randn(batch, HEADS, length, SIZE) for length in (queries, keys, keys)]
    graph, _ = record(F.scaled_dot_product_attention, tensors)
    calls = [str(node.target) for node in graph.nodes if node.op == "call_function"]
    assert any("flash" in name for name in calls) == by_operator
    assert any("bmm" in name for name in calls) != by_operator


def test_lengths_that_are_symbols() -> None:
    compiled = capture.compile(attend, fullgraph=True, dynamic=True)
    for length in (5, 9, 70, 64, 65):
        tensors = tensors_of(length, length, torch.float32, True)
        torch.testing.assert_close(compiled(*tensors, {}), attend(*tensors, {}))
    assert len(capture.explain(attend)(*tensors, {}).graphs) == 1


def test_lengths_that_the_data_gives() -> None:
    def chosen(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q = x[mask].view(1, -1, 2, 8).transpose(1, 2)
        return F.scaled_dot_product_attention(q, q, q)

    compiled = capture.compile(chosen)
    for length in (5, 200, 9, 300):
        x, mask = torch.randn(length, 16), torch.arange(length) % 3 > 0
        torch.testing.assert_close(compiled(x, mask), chosen(x, mask))
