"""`requires_grad` of parameters changes in a captured frame, as where two networks train in turn."""

import copy

import pytest
import torch
from torch import nn

import capture


def set_requires_grad(net, flag):
    for parameter in net.parameters():
        parameter.requires_grad = flag


def other_network(a, b, x):
    set_requires_grad(a, False)
    return b(x).sum()


def same_network(a, b, x):
    set_requires_grad(a, False)
    return a(b(x)).sum()


def read_before(a, b, x):
    y = a(x).sum()
    set_requires_grad(a, False)
    return y


def written_behind(a, b, x):
    with torch.no_grad():
        row = a[0].weight[0]
    a[0].weight.requires_grad = False
    row.mul_(2)
    return a(x).sum()


def flags_are_read(a, b, x):
    for parameter in a.parameters():
        parameter.requires_grad_(False)
    count = sum(p.requires_grad for p in a.parameters())
    a[0].weight.requires_grad = True
    return b(x).sum() * count + len(list(filter(lambda p: p.requires_grad, a.parameters())))


def input_gets_flag(a, b, x):
    x.requires_grad = True
    return torch.autograd.grad(b(x).sum(), x)[0]


def read_by_a_checkpoint(a, b, x):
    weight = a[0].weight
    weight.requires_grad_(False)
    return torch.utils.checkpoint.checkpoint(lambda t: t @ weight.T, x, use_reentrant=False).sum()


def read_through_other_memory(a, b, x):
    weight = a[0].weight
    weight.requires_grad = False
    return a.alias * 2


def hook_behind(a, b, x):
    weight = a[0].weight
    weight.requires_grad_(False)
    try:
        weight.register_hook(lambda grad: grad)
    except RuntimeError:
        return x + 1
    return x


def grad_and_data_behind(a, b, x):
    weight = a[0].weight
    weight.requires_grad = False
    weight.grad = torch.ones_like(x).T @ torch.ones_like(x)
    weight.data = weight.data * 2
    return b(x).sum()


def no_flag(a, b, x):
    y = x * 2
    a[0].weight.requires_grad = 1
    return y


def of_integers(a, b, x):
    y = x * 2
    a.indices.requires_grad = True
    return y


PROGRAMS = {  # with the number of breaks
    other_network: 0,
    same_network: 1,
    read_before: 0,
    written_behind: None,
    flags_are_read: 0,
    input_gets_flag: None,
    read_by_a_checkpoint: None,
    read_through_other_memory: 1,
    hook_behind: None,
    grad_and_data_behind: None,
    no_flag: None,
    of_integers: None,
}


class Run:
    def __init__(self, function):
        torch.manual_seed(0)
        self.function = function
        self.a, self.b = (nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3)) for _ in range(2))
        self.a.alias = self.a[0].weight.detach()
        self.a.indices = torch.arange(3)
        self.x = torch.randn(2, 3)

    def step(self):
        try:
            y = self.function(self.a, self.b, self.x.clone())
            if y.requires_grad:
                y.backward()
        except (RuntimeError, TypeError) as error:
            y = str(error)
        parameters = [*self.a.parameters(), *self.b.parameters()]
        state = [(p.detach().clone(), p.requires_grad, p.grad) for p in parameters]
        set_requires_grad(self.a, True)
        return copy.deepcopy((y.detach() if isinstance(y, torch.Tensor) else y, state))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_flags(function):
    eager, mine = Run(function), Run(capture.compile(function))
    capture.counters.clear()
    for _ in range(3):
        (found, state), (expected, expected_state) = mine.step(), eager.step()
        torch.testing.assert_close(state, expected_state)
        assert found == expected if isinstance(expected, str) else torch.allclose(found, expected)
    breaks = PROGRAMS[function]
    assert breaks is None or sum(capture.counters["graph_breaks"].values()) == breaks
    assert capture.counters["graphs"]["compiled"]


def test_adversarial_training():
    """A generator and a discriminator in turn; no parameter costs a break or a new capture."""

    class Gan:
        def __init__(self):
            torch.manual_seed(0)
            self.nets = [nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, size)) for size in (4, 1)]
            self.steps = [torch.optim.SGD(net.parameters(), lr=0.1) for net in self.nets]

        def step(self, x):
            generator, critic = self.nets
            set_requires_grad(critic, True)
            set_requires_grad(generator, False)
            loss = critic(x).mean() - critic(generator(x)).mean()
            self.steps[1].zero_grad()
            loss.backward()
            self.steps[1].step()
            set_requires_grad(critic, False)
            set_requires_grad(generator, True)
            second = critic(generator(x)).mean()
            self.steps[0].zero_grad()
            second.backward()
            self.steps[0].step()
            return loss.detach() + second.detach()

    capture.counters.clear()
    eager, mine = Gan(), Gan()
    with capture.config.patch(when="first"):
        for i in range(8):
            x = torch.randn(5, 4, generator=torch.Generator().manual_seed(i))
            with capture.enable():
                found = mine.step(x)
            torch.testing.assert_close(found, eager.step(x))
    for left, right in zip(mine.nets, eager.nets):
        torch.testing.assert_close(left.state_dict(), right.state_dict())
    assert capture.counters["recompiles"]["set_requires_grad"] <= 3
    assert not any("set_requires_grad [" in name for name in capture.counters["recompiles"])
