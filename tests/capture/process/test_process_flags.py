"""Settings of torch that captured code changes: in the graph, after it, but not during translation."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import capture
from capture.process.process_flags import read_flags, write_flags


def dtype_for_a_while(x):
    torch.set_default_dtype(torch.float64)
    y = torch.ones(3) * 2
    torch.set_default_dtype(torch.float32)
    return y, torch.ones(3) + x.sum()


def dtype_left_behind(x):
    torch.set_default_dtype(torch.float64)
    return torch.ones(3) * 2, x + 1


def dtype_across_a_break(x):
    torch.set_default_dtype(torch.float64)
    y = torch.ones(3) * 2
    capture.graph_break()
    z = torch.ones(3) * 3
    torch.set_default_dtype(torch.float32)
    return y, z, torch.ones(3) * x.sum()


def draws_of_another_dtype(x):
    torch.set_default_dtype(torch.float64)
    try:
        return torch.rand(3) * 4, torch.arange(3) / 2, x + torch.randn(4)
    finally:
        torch.set_default_dtype(torch.float32)


def deterministic(x):
    torch.use_deterministic_algorithms(True, warn_only=True)
    told = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    x = torch.sin(x)
    torch.use_deterministic_algorithms(False)
    x = torch.cos(x)
    torch.use_deterministic_algorithms(True, warn_only=False)
    return x + 1, told


def hooks_forbidden(x):
    with torch.autograd.graph.disable_saved_tensors_hooks("outer"):
        y = x * 2
        with torch.autograd.graph.disable_saved_tensors_hooks("inner"):
            y = y + 1
        told = torch._C._autograd._saved_tensors_hooks_get_disabled_error_message()
    return y, told


def one_kind_of_attention(x):
    q = x.view(1, 3, 4)
    with sdpa_kernel(SDPBackend.MATH):
        told = torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled()
        y = F.scaled_dot_product_attention(q, q, q)
    return y, told, torch.backends.cuda.flash_sdp_enabled()


PROGRAMS = [
    (dtype_for_a_while, 1),
    (dtype_left_behind, 1),
    (dtype_across_a_break, 2),
    (draws_of_another_dtype, 1),
    (deterministic, 1),
    (hooks_forbidden, 1),
    (one_kind_of_attention, 1),
]


@pytest.mark.parametrize("backend", ["llvm", "aot_eager", "eager"])
@pytest.mark.parametrize("function, graphs", PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_as_in_eager(function: Any, graphs: int, backend: str) -> None:
    flags = read_flags()
    x = torch.randn(3, 4)
    try:
        torch.manual_seed(0)
        expected = function(x), read_flags()
        write_flags(flags)
        capture.reset()
        captured = capture.compile(function, backend=backend)
        for _ in range(2):
            torch.manual_seed(0)
            result = captured(x), read_flags()
            write_flags(flags)
            assert result[1] == expected[1]
            for left, right in zip(result[0], expected[0], strict=True):
                if isinstance(left, torch.Tensor):
                    assert left.dtype == right.dtype
                    assert torch.allclose(left, right)
                else:
                    assert left == right
        assert capture.counters["graphs"]["compiled"] == graphs
    finally:
        write_flags(flags)


def test_flags_around_a_frame_are_guarded() -> None:
    captured = capture.compile(one_kind_of_attention, fullgraph=True)
    x = torch.randn(3, 4)
    assert captured(x)[2] is True
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION]):
        assert captured(x)[2] is False
        assert not torch.backends.cuda.flash_sdp_enabled()
    assert captured(x)[2] is True
    assert torch.backends.cuda.flash_sdp_enabled()


def test_operators_that_are_refused_under_deterministic_algorithms():
    def put(x, places, values):
        return x.put_(places, values)

    captured = capture.compile(put)
    given = torch.zeros(4), torch.tensor([1, 2]), torch.ones(2)
    assert captured(*given).tolist() == [0, 1, 1, 0]
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(RuntimeError, match="put_ does not have a deterministic implementation"):
            captured(*given)
    finally:
        torch.use_deterministic_algorithms(False)
