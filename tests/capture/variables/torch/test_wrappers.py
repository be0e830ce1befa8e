"""torch's own Python wrappers: what they answer is guarded."""

from __future__ import annotations

import torch
from torch.fx import _symbolic_trace as tracing

import capture


def test_tracing_by_fx(monkeypatch):
    def branch(x):
        return x + 1 if tracing.is_fx_tracing() else x - 1

    capture.reset()
    captured, x = capture.compile(branch), torch.ones(3)
    for flag in (False, True, False):
        monkeypatch.setattr(tracing, "_is_fx_tracing_flag", flag)
        assert torch.equal(captured(x), branch(x))
