"""Which callable stands for an operator."""

from __future__ import annotations

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
