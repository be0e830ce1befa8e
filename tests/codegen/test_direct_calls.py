"""Which callable stands for an operator."""

from __future__ import annotations

import pytest
import torch

from codegen.direct_calls import callable_of

aten = torch.ops.aten


def test_one_overload_is_called_by_its_binding() -> None:
    assert callable_of(aten.convolution.default) == torch.convolution
    assert callable_of(aten.max_pool2d_with_indices.default) == torch._C._nn.max_pool2d_with_indices
    assert callable_of(aten.bmm.default) == torch.bmm


def test_an_overload_that_could_be_taken_for_another_is_called_by_the_operator() -> None:
    for op in (aten.sort.stable, aten.sum.dim_IntList, aten.convolution_backward.default):
        assert callable_of(op) is op._op


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
