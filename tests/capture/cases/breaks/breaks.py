"""Graph breaks in loops, with blocks, handlers, comprehensions and called functions, and their number."""

from __future__ import annotations

import contextlib
import logging
import random
import sys
import time

import torch

import capture
from tests.capture.cases.registry import case, show


def say(*args):
    show(*args)


@case(2, 2)
def break_between(x):
    y = x + 1
    capture.graph_break()
    return y + 1


@case(3, 3)
def two_breaks(x):
    y = x + 1
    capture.graph_break()
    y = y * 2
    capture.graph_break()
    return y - 1


@case(1, 1)
def break_first(x):
    show("first")
    return x + 1


@case(1, 1)
def break_last(x):
    y = x + 1
    show("last")
    return y


@case(0, 0)
def only_print(x):
    show("nothing else")
    return x


@case(3, 3)
def break_in_each_iteration(x):
    for i in range(3):
        x = x + i
        capture.graph_break()
    return x * 2


@case(3, 3)
def break_in_while(x):
    i = 0
    while True:
        x = x + 1
        i += 1
        if i == 3:
            break
        show(i)
    return x


@case(2, 2)
def break_in_nested_loops(x):
    for i in range(2):
        for j in range(2):
            if i == 1 and j == 0:
                x = x + 1
                show(i, j)
    return x * 2


@case(2, 3)
def break_in_if(x):
    y = x + 1
    if y.shape[0] == 3:
        show("three")
        y = y * 2
    else:
        y = y * 3
    return y - 1


@case(2, 2)
def break_in_with_nullcontext(x):
    with contextlib.nullcontext():
        y = x + 1
        show("inside")
        y = y * 2
    return y


class Quiet:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, *args):
        self.log.append(("out", args[0] and args[0].__name__))
        return True


@case(2, 2)
def break_in_user_with(x):
    log = []
    with Quiet(log):
        y = x + 1
        show(log)
        y = y * 2
    return y, log


@case(2, 5)
def break_in_nested_with(x):
    log = []
    with Quiet(log), torch.no_grad():
        with Quiet(log):
            y = x + 1
            show("deep", torch.is_grad_enabled())
        z = y * 2
    return z, log, torch.is_grad_enabled()


@case(2, 2)
def exception_after_break_in_with(x):
    log = []
    with Quiet(log):
        y = x + 1
        show("raise next")
        raise KeyError("x")
    return y * 2, log


@case(2, 2)
def break_in_try_body(x):
    try:
        y = x + 1
        show("body")
        y = y * 2
    except ValueError:
        y = x
    finally:
        done = True
    return y, done


@case(2, 2)
def break_then_raise_in_try(x):
    try:
        y = x + 1
        show("body")
        raise ValueError("v")
    except ValueError as error:
        y = y * len(str(error))
    return y


@case(1, 1)
def break_raises_itself(x):
    y = x + 1
    try:
        int("zz", 5, 6) if False else say(1 / 0)
    except ZeroDivisionError as error:
        return y, str(error)


@case(2, 2)
def break_in_handler(x):
    try:
        {}["k"]
    except KeyError as error:
        y = x + 1
        show("handler", error, sys.exc_info()[0].__name__)
        y = y * 2
    return y


@case(2, 2)
def break_in_finally_block(x):
    try:
        y = x + 1
    finally:
        show("finally")
        y = y * 2
    return y


@case(2, 2)
def finally_after_return_in_try(x):
    def inner(v):
        try:
            return v + 1
        finally:
            show("leaving")

    return inner(x) * 2


@case(None, None)
def break_in_comprehension(x):
    return [say(i) or x + i for i in range(2)]


@case(None, None)
def break_in_generator(x):
    def numbers():
        yield 1
        show("between")
        yield 2

    return x * sum(numbers())


@case(None, None)
def break_while_generator_lives(x):
    def numbers():
        yield 1
        yield 2
        yield 3

    g = numbers()
    y = x + next(g)
    show("alive")
    return y + next(g), list(g)


@case(None, None)
def generator_returned(x):
    def numbers():
        yield x + 1
        yield x + 2

    return list(make_generator(x)), numbers is not None


def make_generator(x):
    return (x * i for i in range(3))


@case(None, None)
def break_inside_contextmanager_block(x):
    log = []
    with managed(log) as k:
        y = x * k
        show("in block")
        y = y + 1
    return y, log


@contextlib.contextmanager
def managed(log):
    log.append("enter")
    try:
        yield 3
    finally:
        log.append("exit")


@case(3, 3)
def break_in_called_function(x):
    return prints_inside(x + 1) * 3


def prints_inside(x):
    y = x * 2
    show("callee")
    return y


@case(2, 2)
def break_in_argument(x):
    return torch.add(x + 1, (show("arg"), 2)[1])


@case(2, 2)
def break_in_condition(x):
    y = x + 1
    if say("cond") is None:
        return y * 2
    return y


@case(2, 2)
def break_in_call_arguments(x):
    return dict(a=x + 1, b=say("kw"), c=x * 2)


@case(2, 2)
def break_keeps_locals(x):
    a, b, (c, d), e = 1, [2], (3, {"k": 4}), x + 1
    show("locals")
    b.append(a)
    d["z"] = c
    return e * 2, a, b, c, d


@case(2, 2)
def break_keeps_identity(x):
    shared = [1]
    pair = (shared, shared)
    y = x + 1
    show("identity")
    shared.append(2)
    return y * 2, pair[0] is pair[1], pair


@case(2, 2)
def break_with_cells(x):
    total = 1

    def add(n):
        nonlocal total
        total += n
        return total

    y = x + add(2)
    show("cell", total)
    return y * add(3), total


@case(2, 2)
def break_inside_closure_user(x):
    k = 2
    f = lambda v: v * k  # noqa: E731
    y = f(x)
    show("closure")
    k = 3
    return f(y)


@case(2, 2)
def print_order_is_kept(x):
    show("a", x.shape)
    y = x + 1
    show("b", y.shape)
    z = y * 2
    show("c", z.shape)
    return z


@case(1, 1)
def deleted_before_break(x):
    big = [1] * 3
    y = x + len(big)
    del big
    show("gone")
    return y


@case(2, 2)
def sleep_breaks(x):
    y = x + 1
    time.sleep(0)
    return y * 2


@case(2, 2)
def random_breaks(x):
    y = x + 1
    random.seed(3)
    k = random.randint(5, 5)
    return y * k


@case(2, 2)
def logging_breaks(x):
    y = x + 1
    logging.getLogger("quiet").setLevel(logging.NOTSET)
    return y * 2


@case(1, 2)
def a_logger_by_its_name(x):
    y = x + 1
    logging.getLogger("quiet").debug("nothing %s", 3)
    return y * 2


@case(None, None)
def namespaces_break(x):
    y = x + 1
    names = sorted(dir())
    there = "case" in globals()
    return y * 2, names, there, "append" in dir([])


async def double_later(x):
    return x * 2


@case(None, None)
def coroutine_left_alone(x):
    coroutine = double_later(x)
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value + 1
