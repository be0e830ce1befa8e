"""Values of tensors that decide the control flow: conditions, loops, assertions, `item`."""

from __future__ import annotations

import operator

import torch

from tests.capture.cases.registry import case


@case(2, 2)
def break_on_item(x):
    n = int(x.sum().item() * 0) + 2
    return x * n


@case(2, 11)
def break_on_tolist(x):
    values = (x * 0)[0].tolist()
    return x + sum(values), len(values)


@case(2, 4)
def tensor_condition(x):
    y = x * 2
    if y.sum() > -1e9:
        return y + 1
    return y - 1


@case(2, None)
def tensor_condition_and(x):
    if x.shape[0] == 3 and x.sum() > -1e9:
        return x + 1
    return x - 1


@case(None, None)
def tensor_while(x):
    i = 0
    while (x * 0 + i).sum() < 20:
        x = x + 1
        i += 1
    return x, i


@case(None, None)
def tensor_ternary(x):
    return x + 1 if (x > 100).any() else x - 1


@case(None, None)
def tensor_not_and_or(x):
    a = not x.sum() > 1e9
    b = (x.sum() > 1e9) or 5
    c = (x.sum() < 1e9) and 7
    return x + a, b, c


@case(1, 6)
def truth_is_returned(x):
    return x * 2, bool((x > 0).all()), bool(x.sum()), bool(x.long().sum().item())


@case(1, 5)
def truth_is_negated(x):
    return x * 2, not (x > 0).all(), operator.not_(x.sum()), not x.sum().item()


@case(1, 4)
def truth_is_shown_and_counted(x):
    return f"{bool((x > 0).any())}", bool(x.sum()) + 1, bool(x.sum()) == True  # noqa: E712


@case(2, 4)
def truth_is_needed_later(x):
    done = bool((x > 0).any())
    y = x + 1
    if done:
        return y * 2
    return y


@case(2, 3)
def truth_of_what_is_written_to(x):
    flag = (x > -1e9).all()
    before = bool(flag)
    flag.fill_(False)
    return before, flag


@case(1, 1)
def truth_of_many_elements(x):
    y = x + 1
    return y, bool(x)


@case(1, 4)
def tensor_assert(x):
    assert (x > -1e9).all(), "all big"
    return x + 1


@case(1, None)
def tensor_assert_fails(x):
    assert (x > 1e9).all(), f"shape {tuple(x.shape)}"
    return x + 1


@case(1, 1)
def static_assert(x):
    assert x.dim() == 2 and x.shape[1] == 4, "shape"
    assert isinstance(x, torch.Tensor)
    return x + 1


@case(None, None)
def static_assert_fails(x):
    assert x.dim() == 3, f"got {x.dim()}"
    return x + 1
