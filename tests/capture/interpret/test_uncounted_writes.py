"""Operators that write to running statistics without a new version of the tensors."""

from __future__ import annotations

import pytest
import torch

import capture
from capture.interpret.operations import uncounted_writes
from capture.report.config import config

aten = torch.ops.aten
F = torch.nn.functional

PROGRAMS = {
    "functional": lambda x, w, m, v: F.batch_norm(x, m, v, w, w, True, 0.5),
    "torch": lambda x, w, m, v: torch.native_batch_norm(x, w, w, m, v, True, 0.5, 0.1),
    "aten": lambda x, w, m, v: aten.native_batch_norm(x, w, w, m, v, True, 0.5, 0.1),
    "overload": lambda x, w, m, v: aten.native_batch_norm.default(x, w, w, m, v, True, 0.5, 0.1),
    "legit": lambda x, w, m, v: aten._native_batch_norm_legit(x, w, w, m, v, True, 0.5, 0.1),
    "update": lambda x, w, m, v: aten._batch_norm_with_update(x, w, w, m, v, 0.5, 0.1),
    "update overload": lambda x, w, m, v: aten._batch_norm_with_update.default(x, w, w, m, v, 0.5, 0.1),
    "instance": lambda x, w, m, v: F.instance_norm(x, m, v, w, w, True, 0.5),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("dynamic", [None, True], ids=["fixed", "symbols"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_statistics_are_written_once(name, dynamic, backend, dtype):
    def program(x, w, m, v):
        before = m + 1
        results = PROGRAMS[name](x, w, m, v)
        result = results if isinstance(results, torch.Tensor) else results[0]
        return result * 2, before, m * v

    def inputs():
        torch.manual_seed(0)
        return (torch.randn(4, 3, 5) + 1).to(dtype), *(torch.rand(3).to(dtype) for _ in range(3))

    capture.reset()
    with config.patch(raise_on_error=True):
        captured = capture.compile(program, backend=backend, fullgraph=True, dynamic=dynamic)
        ours, theirs = inputs(), inputs()
        for _ in range(2):
            results, expected = captured(*ours), program(*theirs)
            tolerance = {} if dtype is torch.float32 else {"atol": 0.03, "rtol": 0.03}
            torch.testing.assert_close((results, ours), (expected, theirs), **tolerance)


def test_what_an_operator_says_it_writes_to():
    nodes = {name: torch.fx.Graph().placeholder(name) for name in "xwbmvo"}
    x, w, b, m, v, o = nodes.values()
    update = aten._batch_norm_with_update
    assert uncounted_writes(update, (x, w, b, m, v, 0.5, 0.1), {}) == [m, v]
    assert uncounted_writes(update.default, (x, w, b), {"running_mean": m, "running_var": v}) == [m, v]
    assert uncounted_writes(aten.add.out, (x, w), {"out": o}) == [o]
    assert uncounted_writes(aten.add, (x, w), {"out": o}) == [o]
    assert uncounted_writes(aten.add.Tensor, (x, w), {}) == []
    assert uncounted_writes(aten.native_batch_norm, (x, w, b, m, v, False, 0.5, 0.1), {}) == []
