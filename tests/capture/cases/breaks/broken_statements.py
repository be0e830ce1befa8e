"""Statements of every kind with a graph break in them."""

from __future__ import annotations

import torch

from tests.capture.cases.language.language import Manager
from tests.capture.cases.registry import case, show


@case(2, 2)
def break_print(x):
    y = x + 1
    show("shape", y.shape)
    return y * 2


@case(2, None)
def break_item(x):
    n = int(x.sum().item())
    return x + n


@case(None, None)
def break_in_for(x):
    for i in range(3):
        x = x + i
        show("i", i)
    return x * 2


@case(None, None)
def break_in_with(x):
    with torch.no_grad():
        y = x + 1
        show(torch.is_grad_enabled())
        z = y * 2
    show(torch.is_grad_enabled())
    return z + 1


@case(None, None)
def break_in_try(x):
    try:
        y = x + 1
        show("in try")
        int("no number")
    except ValueError as error:
        y = x - 1
        show("caught", type(error).__name__, error)
    return y * 2


@case(None, None)
def break_in_except(x):
    try:
        raise ValueError("a")
    except ValueError as e:
        show("handling", e)
        y = x + 1
    return y * 2


@case(None, None)
def break_in_finally(x):
    try:
        y = x + 1
    finally:
        show("finally")
    return y * 3


@case(None, None)
def break_with_stack(x):
    return torch.add(x + 1, (show("mid"), x * 2)[1]) + [1, 2, (show("again"), 3)[1]][2]


@case(None, None)
def data_branch(x):
    y = x + 1
    if y.sum() > 0:
        z = y * 2
    else:
        z = y * 3
    return z + 1


@case(None, None)
def data_while(x):
    while x.sum() < 20:
        x = x.abs() + 1
    return x


@case(None, None)
def break_nested_call(x):
    def inner(v):
        show("inner")
        return v * 2

    y = x + 1
    z = inner(y)
    return z + 1


@case(None, None)
def break_with_closure_cells(x):
    count = 0

    def bump(v):
        nonlocal count
        count += 1
        return v + count

    y = bump(x)
    show("count", count)
    z = bump(y)
    show("count", count)
    return z, count


@case(None, None)
def break_side_effects_before(x):
    seen = []
    seen.append(1)
    show(seen)
    seen.append(2)
    return x + len(seen), seen


@case(None, None)
def raises(x):
    y = x + 1
    if y.shape[0] == 3:
        raise ValueError(f"bad shape {tuple(y.shape)}")
    return y


@case(None, None)
def raises_shape_mismatch(x):
    return x @ torch.zeros(7, 7)


@case(None, None)
def generator_iteration_break(x):
    def numbers():
        for i in range(3):
            show("yield", i)
            yield i

    for n in numbers():
        x = x + n
    return x


@case(None, None)
def user_exit_on_break_error(x):
    log = []
    try:
        with Manager(log):
            y = x + 1
            show("inside")
            raise KeyError("lost")
    except KeyError:
        y = x * 5
    return y, log
