"""What autograd knows of the results of a graph is what it knows of those of eager."""

from __future__ import annotations

import pytest
import torch

import capture


def later_hooks(x, seen):
    y = x.relu()
    y.register_hook(lambda grad: grad * 2)
    z = y * 3
    capture.graph_break()
    y.register_hook(lambda grad: seen.append(grad.clone()))
    return z


def cut_off_view(x, seen):
    with torch.no_grad():
        flat = x.flatten()
    return flat.view(2, 2) - 0.5, x.sin()


def view_with_gradients(x, seen):
    with torch.no_grad():
        with torch.enable_grad():
            y = x.t()
        capture.graph_break()
        return y


@pytest.mark.parametrize("backend", ["aot_eager", "llvm"])
@pytest.mark.parametrize("function", [later_hooks, cut_off_view, view_with_gradients])
def test_results_have_eagers_place_in_autograds_graph(function, backend):
    """Hooks come behind those that the graph has put on a result; views keep their grad mode."""
    outcomes = []
    for run in (function, capture.compile(function, backend=backend)):
        x, seen = torch.ones(2, 2, requires_grad=True), []
        with capture.config.patch(raise_on_error=True):
            results = run(x, seen)
        results = results if isinstance(results, tuple) else (results,)
        flags = [(result.requires_grad, result.is_leaf) for result in results]
        sum(result.sum() for result in results).backward()
        outcomes.append((flags, [grad.tolist() for grad in seen], x.grad.tolist()))
    assert outcomes[1] == outcomes[0]


def test_a_view_without_a_place():
    """torch raises where such a view is asked for its place. A frame that has one asks for nothing."""

    def shape_of(view, seen):
        seen.append(view.shape)
        return torch.ones(view.shape) * 2

    base = torch.randn(3, 3, requires_grad=True) * 1
    with torch.no_grad():
        view = base[0]
    base.mul_(0.5)
    seen = []
    with capture.config.patch(raise_on_error=True):
        assert torch.equal(capture.compile(shape_of, backend="eager")(view, seen), torch.full((3,), 2.0))
    assert seen == [torch.Size([3])]
