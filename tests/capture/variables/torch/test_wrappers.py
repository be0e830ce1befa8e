"""torch's own Python wrappers: what they answer is guarded."""

from __future__ import annotations

import torch
from torch.fx import _symbolic_trace as tracing

import capture
from capture.process.other_tracers import FX_FLAG, FX_FLAGS


def test_tracing_by_fx(monkeypatch):
    def branch(x):
        return x + 1 if tracing.is_fx_tracing() else x - 1

    capture.reset()
    captured, x = capture.compile(branch), torch.ones(3)
    flags = FX_FLAGS if isinstance(FX_FLAGS, dict) else vars(FX_FLAGS)
    for flag in (False, True, False):
        monkeypatch.setitem(flags, FX_FLAG, flag)
        assert torch.equal(captured(x), branch(x))
