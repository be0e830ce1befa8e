"""The needs of groups are updated while they grow; a walk through all earlier definitions gives the same."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from codegen.compile_fx import compile_fx
from codegen.passes.group.fuse import Dependencies


def layers(x, w):
    for i in range(6):
        y = F.layer_norm(x, (8,)) @ w
        y = torch.softmax(y, -1) if i % 2 else F.gelu(y).view(4, 2, 8).transpose(0, 1).reshape(8, 8)
        x = x + y * y.mean()
    return x, x.amax(0)


def branches(x, w):
    kept = [F.relu(x + i) for i in range(5)]
    made = [a @ w for a in kept]
    return *[a.sin() * b.sum(1, keepdim=True) for a, b in zip(kept, made)], torch.cat(made).exp()


def draws(x, w):
    for _ in range(4):
        x = F.dropout(x @ w, 0.5) + x
    return x * 2


@pytest.mark.parametrize("function", [layers, branches, draws])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_same_as_a_walk(function, requires_grad, monkeypatch):
    asked = []
    quick = Dependencies.needs_group_elsewhere

    def both(self, root, group):
        outside = [item for item in self.before(root) if not self._is_in(item, group)]
        walked = any(self._is_in(item, group) for item in self._all_before(outside))
        asked.append(walked)
        assert quick(self, root, group) == walked
        return walked

    monkeypatch.setattr(Dependencies, "needs_group_elsewhere", both)
    x, w = torch.randn(8, 8), torch.randn(8, 8, requires_grad=requires_grad)
    compiled = compile_fx(torch.fx.symbolic_trace(function), [x, w])
    results = compiled(x, w)
    if requires_grad:
        sum(result.sum() for result in results).backward()
    assert asked and ({True, False} <= set(asked) or function is draws)


def test_long_chains_of_calls():
    """They need no deeply nested Python calls."""

    def chain(x, w):
        for _ in range(1500):
            x = x @ w
        return x.relu() + 1

    x, w = torch.zeros(2, 2), torch.zeros(2, 2)
    assert torch.equal(compile_fx(torch.fx.symbolic_trace(chain), [x, w])(x, w)[0], torch.ones(2, 2))
