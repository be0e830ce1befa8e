"""`torch.autograd.Variable(...)`, as programs from before PyTorch 0.4 write it."""

from __future__ import annotations

import torch
from torch.autograd import Variable

from tests.capture.cases.registry import case
from tests.capture.cases.tensors.tensor_data import linear
from tests.capture.cases.torch.autograd import one_leaf


@case(1, None, one_leaf)
def no_gradient_leads_through(x):
    y = Variable(x * 2)
    return (x * y).sum(), y.requires_grad, type(y) is torch.Tensor, isinstance(y, Variable)


@case(1, None)
def memory_is_shared(x):
    y = x + 1
    z = Variable(y, requires_grad=False)
    y.add_(1)
    return z * 2, z._version == y._version


@case(1, None)
def argument_is_written_to(x):
    Variable(x).mul_(3)
    return x + 1


@case(1, None, linear)
def parameter(model, x):
    w = Variable(model.weight)
    return x @ w.t(), w.requires_grad, type(w)


@case(1, None)
def made_tensor(x):
    zeros = Variable(torch.zeros(x.size(0), 4))
    return zeros + x, Variable(x.data)


@case(2, None)
def requires_grad(x):
    y = x * 2
    z = Variable(y, requires_grad=True)
    return z + 1, z.requires_grad


@case(None, None)
def no_tensor(x):
    y = x * 2
    try:
        Variable([1, 2])
    except TypeError as error:
        return y, str(error)
