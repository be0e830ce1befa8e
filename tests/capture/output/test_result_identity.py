"""Which results of a graph are one object, and which are separate tensors on the same memory."""

from __future__ import annotations

import pytest
import torch

import capture
from tests.differential import assert_same


def detached(x):
    y = x * 2
    return y, y.detach(), y.data


def views_of_the_whole(x):
    y = x * 2
    return (
        y,
        y.view(4, 4),
        y[:],
        y.expand(4, 4),
        y.view_as(y),
        torch.ops.aten.alias(y),
        y.contiguous(),
        y.float(),
    )


def there_and_back(x):
    y = (x + 1).t()
    return y, y.t(), y.t().t()


def written_view(x):
    y = x + 1
    flat = y.view(4, 4)
    flat.add_(1)
    return y, flat, y


def views_of_input(x):
    return x, x.detach(), x.data, x[:], x.view_as(x), x.contiguous(), x.t().t()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["aot_eager", "llvm"])
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize(
    "function", [detached, views_of_the_whole, there_and_back, written_view, views_of_input]
)
def test_objects(function, requires_grad, backend, dynamic):
    x = torch.arange(16.0).reshape(4, 4).requires_grad_(requires_grad)
    found = assert_same(function, (x,), backend=backend, dynamic=dynamic)
    assert found.graph_count == 1


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_statistics_of_a_batch_norm_keep_their_versions(requires_grad, dynamic):
    """As in eager: a backward that saved them does not notice a change."""
    compiled = capture.compile(torch.nn.functional.batch_norm, dynamic=dynamic)
    mean, variance = torch.zeros(3), torch.ones(3)
    compiled(torch.randn(4, 3, 5, requires_grad=requires_grad), mean, variance, training=True)
    assert mean.any() and mean._version == variance._version == 0
