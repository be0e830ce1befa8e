"""Captured programs refuse the dtypes that eager refuses, with and without symbolic sizes."""

from __future__ import annotations

import pytest
import torch

from tests.differential import assert_same

BOOL, LONG, FLOAT = (torch.tensor(values) for values in ([True, False], [1, 2], [1.0, 2.0]))
REFUSED = {
    "argmax": (lambda x: x.argmax(0), BOOL),
    "softmax": (lambda x: x.softmax(0), LONG),
    "round": (lambda x: x.round(), BOOL),
    "relu": (torch.relu, BOOL),
    "silu": (torch.nn.functional.silu, LONG),
    "lerp": (lambda x: torch.lerp(x, x, 0.5), LONG),
    "frac": (lambda x: x.frac(), LONG),
    "difference": (lambda x: 1 - x, BOOL),
    "alpha": (lambda x: torch.add(x, x, alpha=1.5), LONG),
    "addcmul": (lambda x: torch.addcmul(x, x, x, value=2), BOOL),
    "index_put": (lambda x: torch.ones(3).index_put((torch.tensor([0, 1]),), x), LONG),
    "matmul": (lambda x: x @ FLOAT, LONG),
    "mv": (lambda x: torch.mv(x.expand(2, 2), x), BOOL),
    "addmv": (lambda x: torch.addmv(x, x.expand(2, 2), x), BOOL),
    "interpolate": (lambda x: torch.nn.functional.interpolate(x.expand(1, 2, 2), size=5), BOOL),
    "interpolate of ints": (
        lambda x: torch.nn.functional.interpolate(x.expand(1, 2, 2, 2), scale_factor=2.0),
        LONG,
    ),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, dynamic):
    function, x = REFUSED[name]
    with pytest.raises(RuntimeError):
        function(x)
    assert_same(function, (x,), backend="llvm", dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "dtype", [torch.float8_e5m2, torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e8m0fnu]
)
def test_eight_bit_floats_move_through_a_graph(dtype, dynamic):
    def moved(x):
        return (
            x.clone(),
            x.t().contiguous().to(torch.bfloat16),
            torch.cat([x, x]).float(),
            x[1:],
            x.view(torch.uint8),
        )

    found = assert_same(
        moved, (torch.ones(4, 6).to(dtype),), backend="llvm", dynamic=dynamic, tolerance=(0.0, 0.0)
    )
    assert found.graph_count == 1


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_layout_set_in_place_stays_native(dynamic, caplog):
    """Eager's pooling to one element changes a tensor in channels_last in this way."""

    def pooled(x):
        return torch.nn.functional.adaptive_avg_pool2d(x, 1).flatten(1) * 2

    x = torch.randn(2, 4, 6, 6).contiguous(memory_format=torch.channels_last)
    with caplog.at_level("INFO", logger="capture.codegen"):
        assert_same(pooled, (x,), backend="llvm", dynamic=dynamic, tolerance=(1e-5, 1e-6))
    assert "eager" not in caplog.text
