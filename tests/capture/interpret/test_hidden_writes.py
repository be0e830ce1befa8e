"""A step of an optimizer and a forward behind it are two native graphs, not one that runs through eager."""

import copy

import pytest
import torch
from torch import nn

import capture


class Update:
    """Two models and their optimizers; the second update runs behind the first step."""

    def __init__(self, optimizer):
        torch.manual_seed(0)
        self.critic, self.actor = nn.Linear(4, 1), nn.Sequential(nn.Linear(4, 4), nn.Tanh())
        self.steps = [optimizer(model.parameters()) for model in (self.critic, self.actor)]

    def __call__(self, x):
        of_critic, of_actor = self.steps
        of_critic.zero_grad()
        loss = (self.critic(x) - 1).pow(2).mean()
        loss.backward()
        of_critic.step()
        of_actor.zero_grad()
        second = -self.critic(self.actor(x)).mean()
        second.backward()
        of_actor.step()
        return loss.detach(), second.detach()


def decayed(weight, x):
    with torch.no_grad():
        weight.mul_(0.5)
    return (x * weight).sin()


def decayed_behind(weight, x):
    y = (x * 2 * weight.detach()).sin() + weight.sum()
    with torch.no_grad():
        weight.mul_(0.5)
    return y


def decayed_list(weight, x):
    with torch.no_grad():
        torch._foreach_mul_([weight], 0.5)
    return (x * weight).sin()


@pytest.mark.parametrize(
    "optimizer", [torch.optim.Adam, lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.5)]
)
def test_updates_behind_each_other(optimizer, caplog):
    caplog.set_level("INFO", "capture.codegen")
    eager = Update(optimizer)
    mine = copy.deepcopy(eager)
    fast = capture.compile(mine.__call__)
    x = torch.randn(3, 4)
    for _ in range(4):
        torch.testing.assert_close(fast(x), eager(x))
    for ours, theirs in zip((mine.critic, mine.actor), (eager.critic, eager.actor)):
        torch.testing.assert_close(list(ours.parameters()), list(theirs.parameters()))
    assert "runs through eager" not in caplog.text


@pytest.mark.parametrize("function", [decayed, decayed_behind, decayed_list])
def test_both_orders(function, caplog):
    caplog.set_level("INFO", "capture.codegen")
    x = torch.arange(1.0, 5.0)
    weights = [nn.Parameter(torch.linspace(1, 2, 4)) for _ in range(2)]
    fast = capture.compile(function)
    for _ in range(3):
        losses = [f(w, x).sum() for f, w in zip((function, fast), weights)]
        torch.testing.assert_close(losses[1], losses[0])
        for loss in losses:
            loss.backward()
        torch.testing.assert_close(weights[1].grad, weights[0].grad)
    torch.testing.assert_close(weights[1], weights[0])
    assert "runs through eager" not in caplog.text


def test_a_graph_stays_whole_where_that_was_asked_for():
    x, weight = torch.ones(4), nn.Parameter(torch.ones(4))
    expected = decayed(nn.Parameter(torch.ones(4)), x)
    torch.testing.assert_close(capture.compile(decayed, fullgraph=True)(weight, x), expected)
    graphs = []
    capture.compile(decayed, backend=lambda graph, inputs: graphs.append(graph) or graph.forward)(weight, x)
    assert len(graphs) == 1
