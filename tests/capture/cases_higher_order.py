"""Cases: torch's functions that call functions of the program, and constructors of tensors."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from tests.capture.registry import case


def needs_grad():
    torch.manual_seed(0)
    return (torch.randn(3, 4, requires_grad=True),)


def linear_and_rows():
    torch.manual_seed(0)
    return nn.Linear(4, 4), torch.randn(3, 4)


# --- cond on what is known (on tensors: test_higher_order.py) ---


case(graphs=1, ops=1)(lambda x: torch.cond(x.shape[0] > 2, lambda a: a + 1, lambda a: a - 1, (x,)))


# --- checkpoint ---


@case(graphs=1, ops=3, args=needs_grad)
def checkpointed(x):
    return checkpoint(lambda a: a.sin() * 2, x, use_reentrant=False) + 1


@case(graphs=1, ops=3, args=needs_grad)
def checkpointed_reentrant(x):
    return checkpoint(lambda a: a.sin() * 2, x, use_reentrant=True) + 1


@case(graphs=1, ops=3, args=needs_grad)
def checkpoint_of_several(x):
    return checkpoint(lambda a, scale=2: (a * scale, {"k": a + 1}), x, use_reentrant=False, scale=3)


@case(graphs=1, ops=2, args=linear_and_rows)
def checkpointed_module(model, x):
    return checkpoint(model, x, use_reentrant=False)


@case(graphs=2, ops=5, args=linear_and_rows)
def checkpoint_with_random_numbers(model, x):
    out = checkpoint(lambda a: F.dropout(model(a), 0.5), x, use_reentrant=False)
    out.sum().backward()
    return out.detach(), model.weight.grad, torch.rand(2)


@case(graphs=0, ops=0, args=needs_grad)
def checkpoint_of_identity(x):
    return checkpoint(lambda a: a, x, use_reentrant=False) is x


# --- constructors ---


@case(graphs=1, ops=8)
def tensors_of_lists(x):
    return (
        torch.as_tensor([1.0, 2.0, 3.0, 4.0]) + x, torch.asarray([1, 2, 3, 4]), torch.as_tensor(x) is x,
        torch.as_tensor(x, dtype=torch.float64), torch.as_tensor(3), torch.asarray(x) * 1,
    )  # fmt: skip


@case(graphs=1, ops=10)
def old_constructors(x):
    made = torch.Tensor([1, 2, 3, 4]), torch.LongTensor([1, 2]), torch.FloatTensor(3, 4).zero_() + x
    return (
        made,
        torch.Tensor(3, 4).fill_(1),
        torch.Tensor().numel(),
        torch.BoolTensor([True]),
        torch.Tensor(x.shape).shape,
    )
