"""Memory that is shared or written.

Inputs that overlap, `Tensor.data`, custom functions that return views, attributes that are added and removed.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd import Function

from tests.capture.cases.registry import case


def leaf():
    torch.manual_seed(0)
    return (torch.randn(3, 4, requires_grad=True),)


def with_view():
    torch.manual_seed(0)
    x = torch.randn(3, 4)
    return x, x.view(-1)


def overlapping():
    torch.manual_seed(0)
    x = torch.randn(12)
    return x[:6], x[3:9]


@case(1, 2, with_view)
def write_seen_through_other_input(x, flat):
    x.add_(1)
    return flat * 2


@case(1, 5, leaf)
def tensors_that_are_broadcast_to_their_own_size(x):
    same, row = torch.broadcast_tensors(x, x[0])
    return same is x, same.is_leaf, row is x, same * 2, row


@case(1, 3, overlapping)
def writes_to_overlapping_inputs(left, right):
    left.add_(1)
    right.mul_(2)
    return left + right


@case(1, 2, with_view)
def both_written_inputs_returned(x, flat):
    x.add_(1)
    flat.mul_(2)
    return x, flat


@case(None, None, leaf)
def data_written_after_use(x):
    """Autograd does not see the write: the gradient is that of the new values."""
    y = x * x
    x.data.fill_(2.0)
    return torch.autograd.grad(y.sum(), x)


@case(1, 4, leaf)
def data_written_keeps_version(x):
    x.data.mul_(2)
    y = x.data[0]
    return y, x._version


class Identity(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 10


@case(None, None, leaf)
def custom_function_gives_its_argument(x):
    y = x * 2
    z = Identity.apply(y)
    return y, z, torch.autograd.grad((y + z).sum(), x)


def with_module():
    torch.manual_seed(0)
    return torch.randn(3, 4), nn.Linear(4, 4)


@case(1, 1, with_module)
def attribute_comes_and_goes(x, net):
    net.note = 3
    y = x + net.note
    del net.note
    return y, hasattr(net, "note")


@case(1, 2, with_module)
def forward_comes_and_goes(x, net):
    net.forward = lambda y: y * 3
    first = net(x)
    del net.forward
    return first, net(x), "forward" in net.__dict__


@case(0, 0, with_module)
def own_dict_entry_comes_and_goes(x, net):
    net.__dict__["note"] = 1
    del net.__dict__["note"]
    return torch.relu(x) if hasattr(net, "note") else x.shape
