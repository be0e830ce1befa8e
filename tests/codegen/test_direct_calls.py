"""Which callable stands for an operator."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from codegen.direct_calls import callable_of

aten = torch.ops.aten


def test_one_overload_is_called_by_its_binding() -> None:
    assert callable_of(aten.index_select.default) == torch.index_select
    assert callable_of(aten.max_pool2d_with_indices.default) == torch._C._nn.max_pool2d_with_indices
    assert callable_of(aten.bmm.default) == torch.bmm


def test_an_overload_that_could_be_taken_for_another_is_called_by_the_operator() -> None:
    for op in (aten.sort.stable, aten.sum.dim_IntList):
        assert callable_of(op) is op._op


def test_convolutions_are_called_past_the_operator() -> None:
    x, w, bias = torch.randn(2, 4, 7, 7), torch.randn(6, 2, 3, 3), torch.randn(6)
    op, backward = aten.convolution.default, aten.convolution_backward.default
    direct, direct_backward = callable_of(op), callable_of(backward)
    assert direct is not op._op and direct_backward is not backward._op
    for extra in (bias, None):
        geometry = ([2, 1], [1, 0], [1, 2], False, [0, 0], 2)
        y = op(x, w, extra, *geometry)
        assert torch.equal(direct(x, w, extra, *geometry), y)
        for mask in ([True, True, True], [False, True, False], [True, False, extra is not None]):
            args = (torch.randn_like(y), x, w, None if extra is None else [6], *geometry, mask)
            for have, want in zip(direct_backward(*args), backward(*args), strict=True):
                assert (have is None) == (want is None) and (have is None or torch.equal(have, want))


def test_what_a_convolution_refuses_it_refuses_with_its_own_error() -> None:
    x, w = torch.randn(2, 4, 7, 7), torch.randn(6, 3, 3, 3)
    geometry = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    direct, direct_backward = (
        callable_of(op) for op in (aten.convolution.default, aten.convolution_backward.default)
    )
    with pytest.raises(RuntimeError, match="to have 3 channels, but got 4 channels"):
        direct(x, w, None, *geometry)
    with pytest.raises(RuntimeError):
        direct_backward(torch.randn(2, 6, 5, 5), x, w, None, *geometry, [True, True])
    for call in (direct, direct_backward):
        with pytest.raises((TypeError, RuntimeError)):
            call(x, w)


def test_without_the_extension_operators_are_called_as_they_are() -> None:
    program = """
import sys
sys.modules["_capture"] = None
import torch, capture
from codegen.direct_calls import callable_of
assert callable_of(torch.ops.aten.convolution.default) == torch.convolution
fast = capture.compile(lambda x: torch.conv2d(x, torch.ones(1, 1, 2, 2)), hook="settrace")
x = torch.ones(1, 1, 3, 3)
print([fast(x).sum().item() for _ in range(3)])
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert result.stdout.strip() == "[16.0, 16.0, 16.0]", result.stderr


def test_what_is_no_operator_is_itself() -> None:
    assert callable_of(len) is len


def test_overloads_that_want_a_keyword_are_told_apart() -> None:
    """torch's binding of `rand` can't choose the overload with a generator, or with names, where none is given."""
    assert callable_of(aten.rand.default) == torch.rand
    assert callable_of(aten.randn_like.default) == torch.randn_like
    assert callable_of(aten.rand.generator) is aten.rand.generator._op


@pytest.mark.parametrize(
    "op", [aten.rand.default, aten.randn.default, aten.rand_like.default, aten.randn_like.default], ids=str
)
def test_bindings_draw_what_the_operator_draws(op: torch._ops.OpOverload) -> None:
    like = op._schema.arguments[0].name == "self"
    args: tuple[object, ...] = (torch.zeros(5, 3),) if like else ([5, 3],)
    options = {
        "dtype": torch.float64,
        "layout": torch.strided,
        "device": torch.device("cpu"),
        "pin_memory": False,
    }
    torch.manual_seed(3)
    expected = op(*args, **options)
    torch.manual_seed(3)
    assert torch.equal(callable_of(op)(*args, **options), expected)
