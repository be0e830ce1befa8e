"""`assert` on values of tensors: in the graph if it can be run again, with Python's own AssertionError."""

from __future__ import annotations

import torch

from tests.capture.cases.registry import case, show


@case(1, 6)
def holds(x):
    y = x + 1
    assert (y * 0 == 0).all(), "message"
    return y * 2


@case(1, 5)
def fails(x):
    y = x + 1
    assert (y > 1000).all(), f"message {y.shape}"
    return y * 2


@case(1, 5, falls_back=True)
def fails_and_is_caught(x):
    y = x + 1
    try:
        assert (y > 1000).all(), f"message {y.shape}"
    except AssertionError as error:
        return y - 1, str(error)
    return y * 2


@case(1, 3)
def fails_after_write_to_input(x):
    x.add_(1)
    assert (x > 1000).all(), "written"
    return x * 2


@case(2, 5)
def holds_between_writes_to_input(x):
    x.add_(1)
    assert (x < 1000).all(), "written"
    x.mul_(2)
    return x * 2


@case(2, 4)
def condition_is_written_to(x):
    flag = (x < 1000).all()
    assert flag
    flag.fill_(False)
    return x * 2, flag


@case(1, 1)
def condition_of_many_elements(x):
    assert x < 10000
    return x * 2


def checked(x):
    assert x.abs().max() < 100, "inner"
    return x + 1


@case(1, 12)
def inlined(x):
    return checked(x) * checked(x + 1)


@case(2, 8)
def fails_after_break(x):
    y = x + 1
    assert y.sum() < 10000
    show("between")
    assert y.sum() > 10000, "late"
    return y * 2


KEPT: list[torch.Tensor] = []


@case(1, 4)
def fails_after_change_of_global(x):
    KEPT.append(x + 1)
    try:
        assert x.sum() > 10000
    finally:
        count = len(KEPT)
        KEPT.clear()
    return count


@case(1, 4)
def message_needs_the_value(x):
    assert x.sum() < 10000, f"{x.sum().item()}"
    return x + 1


@case(1, 4)
def message_is_a_tensor(x):
    assert x.sum() > 10000, x.sum()
    return x + 1


@case(1, 5)
def function_for_assertions(x):
    torch._assert((x * 0 == 0).all(), "message")
    torch._assert(x.shape[0] == 3, "message")
    return x + 1


@case(1, 4)
def function_for_assertions_fails(x):
    torch._assert(x.sum() > 1e9, "message")
    return x + 1


@case(graphs=1)
def in_inference_mode(x):
    with torch.inference_mode():
        y = x + 1
        assert (y > -100).all(), "small"
    return x * 2


@case(graphs=None)
def written_to_in_inference_mode(x):
    with torch.inference_mode():
        condition = (x > 100).any().view(1)
        condition.fill_(True)
        assert condition
    return x * 2
