"""Changes of a module in its forward: attributes, buffers, parameters and children set, deleted, copied."""

from __future__ import annotations

import copy

import torch
from torch import nn

from tests.capture.cases.registry import case
from tests.capture.cases.torch.modules import with_net


class StateInForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.register_buffer("total", torch.zeros(()))
        self.cache = {}
        self.history = []

    def forward(self, x):
        self.count += 1
        self.last = x * self.count
        self.total = self.total + self.last.sum()
        self.cache["x"] = self.last
        self.history.append(self.count)
        return self.last + self.total


@case(1, 5, with_net(StateInForward))
def attributes_set_in_forward(x, net):
    return net(x), net.count, net.total, sorted(net.cache), net.history, "last" in net.__dict__


@case(1, 10, with_net(StateInForward))
def state_across_calls(x, net):
    net(x)
    return net(x), net.count, net.total


class InPlaceBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(4))

    def forward(self, x):
        self.steps.add_(1)
        self.steps[0] = 5
        return x + self.steps


@case(1, 3, with_net(InPlaceBuffer))
def buffer_in_place(x, net):
    return net(x), net.steps


@case(1, 1, with_net(lambda: nn.Linear(4, 4)))
def requires_grad_off_inside(x, net):
    y = net(x)
    return y, [p.requires_grad for p in net.parameters()]


@case(None, None)
def module_made_inside(x):
    fc = nn.ReLU()
    return fc(x) + 1


@case(None, None)
def module_with_parameters_made_inside(x):
    torch.manual_seed(0)
    fc = nn.Linear(4, 2)
    return fc(x)


@case(None, None, with_net(lambda: nn.Linear(4, 4)))
def state_dict_inside(x, net):
    y = net(x)
    keys = list(net.state_dict())
    return y, keys


@case(None, None, with_net(lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU())))
def apply_inside(x, net):
    names = []
    net.apply(lambda m: names.append(type(m).__name__))
    return net(x), names


class RegistersInside(nn.Module):
    def forward(self, x):
        if not hasattr(self, "made"):
            self.register_buffer("made", torch.ones(4))
        return x + self.made


@case(None, None, with_net(RegistersInside))
def register_buffer_inside(x, net):
    return net(x), list(dict(net.named_buffers()))


class SetsParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4))

    def forward(self, x):
        old = self.w
        self.w = nn.Parameter(old.detach() * 2)
        y = x * self.w
        return y


@case(None, None, with_net(SetsParameter))
def parameter_replaced_inside(x, net):
    return net(x), isinstance(net.w, nn.Parameter), list(dict(net.named_parameters()))


class ReplacesChild(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()
        self.other = nn.Tanh()

    def forward(self, x):
        self.act = self.other
        return self.act(x)


@case(None, None, with_net(ReplacesChild))
def child_replaced_inside(x, net):
    return net(x), type(net.act).__name__, [n for n, _ in net.named_children()]


class DeletesAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.extra = 3

    def forward(self, x):
        y = x * self.extra
        del self.extra
        return y


@case(1, 1, with_net(DeletesAttribute))
def attribute_deleted_inside(x, net):
    return net(x), hasattr(net, "extra")


@case(1, 2, with_net(lambda: nn.Linear(4, 4)))
def deepcopy_of_module_result(x, net):
    y = net(x)
    return y * net.weight.shape[0], net.weight.ndim, net.extra_repr() if False else None


@case(None, None, with_net(lambda: nn.Linear(4, 4)))
def deepcopy_module_inside(x, net):
    twin = copy.deepcopy(net)
    return twin(x) + net(x)


class Counted(nn.Module):
    calls = 0

    def forward(self, x):
        type(self).calls += 1
        return x + 1


@case(1, 1, with_net(Counted))
def class_counter(x, net):
    Counted.calls = 0
    return net(x), Counted.calls


class GradToggle(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    @torch.no_grad()
    def frozen(self, x):
        return self.fc(x)

    def forward(self, x):
        return self.frozen(x) + self.fc(x)


@case(1, None, with_net(GradToggle))
def no_grad_method(x, net):
    return net(x)
