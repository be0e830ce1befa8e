"""torch's functions that call functions of the program, and constructors of tensors."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch._higher_order_ops.wrap import wrap
from torch.utils.checkpoint import checkpoint

from tests.capture.cases.registry import case


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


@case(graphs=1, args=needs_grad)
def checkpoint_of_identity(x):
    return checkpoint(lambda a: a, x, use_reentrant=False) is x


@case(graphs=1, args=needs_grad)
def checkpoint_that_returns_an_argument_too(x):
    doubled, same = checkpoint(lambda a, k=1: (a.sin() * k, [a]), x, k=2, use_reentrant=False)
    return doubled + 1, same[0] is x


@case(graphs=1, ops=3)
def operator_wrap(x):
    y = x * 2
    return wrap(lambda a: a + y, x)


@case(graphs=1, ops=6)
def operator_wrap_of_several(x):
    def body(a, b, *, k=0):
        seen.append(k)
        return {"sum": a + b, "same": a}, k

    seen = []
    nested = wrap(lambda a: wrap(lambda b: b.sin() + x, a), x)
    result, k = wrap(body, x, 3, k=2)
    module = wrap(torch.nn.ReLU(), x)
    return nested, result["sum"], result["same"] is x, k, seen, module


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
