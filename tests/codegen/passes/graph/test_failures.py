"""Checks of indices run before the kernels that trust them."""

from __future__ import annotations

import _capture
import pytest
import torch
import torch.nn.functional as F

from codegen.compile_fx import compile_fx


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
    checking = [kernel.has_checks for kernel in graph.kernels]
    assert checking == sorted(checking, reverse=True) and set(checking) == {True, False}
    with pytest.raises(_capture.CheckFailed):
        graph(x, torch.tensor([10**14, 10**14]))
    assert torch.equal(x, torch.zeros(4))


def dropped_then_looked_up(x, i):
    return F.dropout(x) * x[i].sum()


def loss_of_noise(x, i):
    return F.cross_entropy(torch.randn_like(x.expand(2, 4)) + x, i)


def embedded_between_draws(x, i):
    y = torch.rand_like(x).view(2, 2) * F.embedding(i, x.view(2, 2))
    return F.dropout(y) + torch.rand_like(y)


def drawn_indices_too(x, i):
    """Its second check needs what is drawn."""
    drawn = (torch.rand_like(x) * 4).long()
    return x[drawn] + F.dropout(x)[i].sum()


@pytest.mark.parametrize(
    "function", [dropped_then_looked_up, loss_of_noise, embedded_between_draws, drawn_indices_too]
)
def test_a_graph_that_refuses_indices_has_not_drawn(function):
    x, good, bad = torch.arange(4.0), torch.tensor([0, 1]), torch.tensor([0, 10**14])
    graph = compile_fx(torch.fx.symbolic_trace(function), [x, good], refuses=True)
    torch.manual_seed(3)
    before = torch.get_rng_state()
    with pytest.raises(_capture.CheckFailed):
        graph(x, bad)
    assert torch.equal(torch.get_rng_state(), before)
    (found,) = graph(x, good)
    torch.manual_seed(3)
    assert torch.allclose(found, function(x, good))
