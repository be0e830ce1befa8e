"""The first step of a network takes time in proportion to its layers.

No pass looks at a whole graph for each part of it.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from types import CodeType, FrameType
from typing import Any

import pytest
import torch
from torch import nn

import capture
from capture.frame.convert import Converter
from capture.report.config import config
from codegen.autograd.segment_backward import SegmentBackward


def convolutions() -> nn.Module:
    return nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())


def rows() -> nn.Module:
    return nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))


def attention() -> nn.Module:
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)


class Steps(nn.Module):
    """A recurrent cell; the same one for each step."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count, self.cell = count, nn.LSTMCell(4, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = c = x.new_zeros(3, 8)
        for _ in range(self.count):
            h, c = self.cell(x, (h, c))
        return h


NETWORKS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "convolutions": (lambda count: nn.Sequential(*(convolutions() for _ in range(count))), (2, 4, 6, 6)),
    "rows": (lambda count: nn.Sequential(*(rows() for _ in range(count))), (2, 3, 8)),
    "attention": (lambda count: nn.Sequential(*(attention() for _ in range(count))), (2, 3, 8)),
    "recurrent": (Steps, (3, 4)),
}


def calls(network: nn.Module, x: torch.Tensor) -> Counter[CodeType]:
    """How often each Python function runs in the first step."""
    found: Counter[CodeType] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found[frame.f_code] += 1

    def counting(method: Any) -> Any:
        """Frames are not captured under a profile function, so it is set below the hook."""

        def counted(*args: Any) -> Any:
            sys.setprofile(count)
            try:
                return method(*args)
            finally:
                sys.setprofile(None)

        return counted

    capture.reset()
    compiled = capture.compile(network, dynamic=False)
    gc.collect()
    gc.disable()
    with config.patch(disk_cache=False), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Converter, "_convert", counting(Converter._convert))
        patch.setattr(SegmentBackward, "compiled_backward", counting(SegmentBackward.compiled_backward))
        try:
            compiled(x).pow(2).mean().backward()
        finally:
            gc.enable()
    return found


@pytest.mark.sweep
@pytest.mark.parametrize("name", NETWORKS)
def test_work_grows_with_the_layers(name: str) -> None:
    make, shape = NETWORKS[name]
    x = torch.randn(shape, requires_grad=True)
    calls(make(2), x)  # fills the caches of the process
    one, two, four = (calls(make(count), x) for count in (5, 10, 20))
    first, second = (b.total() - a.total() for a, b in ((one, two), (two, four)))
    worst = sorted(four, key=lambda code: four[code] - 3 * two[code] + 2 * one[code])[-5:]
    assert first > 10_000
    assert second < 2.03 * first, [(code.co_qualname, one[code], two[code], four[code]) for code in worst]
