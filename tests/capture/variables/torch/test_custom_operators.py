"""Custom operators written in Python: one call in a graph, with any code inside."""

from __future__ import annotations

import pytest
import torch

import capture
from capture.report.counters import counters


@torch.library.custom_op("capture_models::by_parts", mutates_args=())
def by_parts(x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    parts, start = [], 0
    for end in ends.tolist():
        parts.append(x[start:end] * end)
        start = end
    return torch.cat(parts)


@by_parts.register_fake
def _(x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def scaled(x, ends):
    return by_parts(x.sin(), ends).sum(0) * 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "llvm"])
def test_what_it_does_is_no_graph(backend):
    capture.reset()
    x = torch.randn(6, 4)
    compiled = capture.compile(scaled, backend=backend)
    for ends in ([2, 6], [1, 6], [5, 6]):
        ends = torch.tensor(ends)
        torch.testing.assert_close(compiled(x, ends), scaled(x, ends))
    assert counters["graphs"]["compiled"] == 1
