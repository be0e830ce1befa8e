"""Checks of indices run before the kernels that trust them."""

from __future__ import annotations

import _capture
import pytest
import torch

from codegen.compile_fx import compile_fx
from codegen.launch.compiled import has_checks


def chained(x, i):
    y = x[i]
    z = y[i]
    x.add_(1)
    return z


def looked_up(x, i):
    y = x.index_select(0, i) * 2
    x.mul_(2)
    return y


def added(x, i):
    y = torch.zeros(8).index_add(0, i, x[:2])
    x.mul_(2)
    return y


@pytest.mark.parametrize("function", [chained, looked_up, added])
def test_no_kernel_reads_what_is_unchecked(function):
    """The graph writes to an input, so the indices have kernels of their own. An index far outside of the
    memory is never used.
    """
    x = torch.zeros(4)
    graph = compile_fx(torch.fx.symbolic_trace(function), [x, torch.tensor([0, 0])], refuses=True)
    checking = [has_checks(kernel.body) for kernel in graph.kernels]
    assert checking == sorted(checking, reverse=True) and set(checking) == {True, False}
    with pytest.raises(_capture.CheckFailed):
        graph(x, torch.tensor([10**14, 10**14]))
    assert torch.equal(x, torch.zeros(4))
