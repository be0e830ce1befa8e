"""Resuming after a break in any place: nested blocks, handlers of handlers, generators, inner frames."""

from __future__ import annotations

import contextlib
import sys
import traceback

import torch

from tests.capture.cases.registry import case, show


def tell(*args):
    show(*args)
    return None


@contextlib.contextmanager
def logged(log, name):
    log.append(f"+{name}")
    try:
        yield name
    except KeyError as error:
        log.append(f"!{name}{error}")
        raise
    finally:
        log.append(f"-{name}")


@case(None, None)
def finally_overrides_after_break(x):
    def f():
        for i in range(3):
            try:
                tell("try", i)
                if i == 1:
                    return x + i
            finally:
                tell("finally", i)
                if i == 1:
                    return x * 10

    return f()


@case(None, None)
def root_finally_overrides(x):
    for i in range(3):
        try:
            tell("body", i)
            if i == 1:
                return x + i
        finally:
            tell("finally", i)
            if i == 1:
                return x * 10


@case(None, None)
def handler_in_handler(x):
    log = []
    try:
        try:
            tell("inner")
            raise KeyError("a")
        except KeyError as error:
            tell("handling", error)
            try:
                raise ValueError("b")
            except ValueError as second:
                tell("second", second, type(second.__context__).__name__)
                log.append(sys.exc_info()[0].__name__)
            log.append(sys.exc_info()[0].__name__)
            raise
    except KeyError as again:
        log.append(str(again))
    log.append(sys.exc_info()[0])
    return x + len(log), log


@case(None, None)
def contexts_unwound_after_break(x):
    log = []
    try:
        with logged(log, "a"), logged(log, "b"):
            y = x + 1
            tell("inside", log)
            raise KeyError("k")
    except KeyError:
        y = x * 2
    return y, log


@case(None, None)
def return_out_of_with_after_break(x):
    log = []

    def f(v):
        with logged(log, "w"):
            v = v + 1
            tell("in with")
            return v * 2

    return f(x), log


@case(None, None)
def loop_else_with_break(x):
    for i in range(3):
        x = x + 1
        tell(i)
        if i == 5:
            break
    else:
        x = x * 2
    return x


@case(None, None)
def continue_in_try_with_break(x):
    for i in range(4):
        try:
            if i % 2:
                tell("skip", i)
                continue
            x = x + i
        finally:
            tell("done", i)
    return x


@case(None, None)
def nested_loops_with_items(x):
    out = []
    for i, row in enumerate(x):
        for j, name in zip(range(2), "ab"):
            if row.sum() > 1e9:
                break
            out.append(row + j)
            tell(i, j, name)
    return out


@case(None, None)
def break_in_dict_comprehension(x):
    return {i: (x + i, tell("item", i)) for i in range(2)}


@case(None, None)
def break_in_nested_comprehension(x):
    return [[tell(i, j) or x * (i + j) for j in range(2)] for i in range(2)]


@case(None, None)
def break_in_lambda_and_sort(x):
    order = sorted([3, 1, 2], key=lambda v: tell("key", v) or v)
    return x + order[0], order


@case(None, None)
def break_in_match(x):
    for value in (1, [2, 3], {"k": 4}):
        match value:
            case int(n):
                x = x + n
                tell("int", n)
            case [a, *rest]:
                tell("list", a, rest)
                x = x * a
            case {"k": k} if tell("guard", k) is None:
                x = x - k
    return x


@case(None, None)
def break_in_default_argument(x):
    def f(v, k=tell("default") or 3):
        return v * k

    return f(x + 1)


@case(None, None)
def break_in_decorator(x):
    def decorate(f):
        tell("decorating", f.__name__)
        return lambda v: f(v) + 1

    @decorate
    def g(v):
        return v * 2

    return g(x)


@case(None, None)
def break_in_chained_comparison(x):
    y = x + 1
    if 1 < (tell("middle") or 2) < 3:
        return y * 2
    return y


@case(None, None)
def break_in_f_string(x):
    y = x + 1
    text = f"{y.shape[0]}-{tell('inside') or 'v':>4}-{y.dim()}"
    return y * 2, text


@case(None, None)
def break_in_subscript_store(x):
    y = x.clone()
    table = {"a": [1, 2]}
    table["a"][tell("index") or 0] = y + 1
    y[tell("row") or 0] = 5
    return y, table


@case(None, None)
def break_in_augmented_assignment(x):
    y = x + 1
    y += tell("operand") or 2
    d = {"k": y}
    d["k"] *= tell("again") or 3
    return d


@case(None, None)
def break_in_star_call(x):
    args = [x + 1, x + 2]
    return torch.add(*args, **{"alpha": tell("alpha") or 2})


@case(None, None)
def break_in_conditional_expression(x):
    return (x + 1 if tell("left") is None else x) * (2 if tell("right") is None else 3)


@case(None, None)
def break_in_assert_message(x):
    try:
        assert x.dim() == 3, (tell("message"), "bad")[1]
    except AssertionError as error:
        return x + 1, str(error)


@case(None, None)
def break_in_raise_expression(x):
    try:
        raise ValueError(tell("argument") or "text") from (tell("cause") or KeyError("c"))
    except ValueError as error:
        return x + 1, str(error), repr(error.__cause__)


@case(None, None)
def break_in_del_and_unpack(x):
    values = [1, 2, 3]
    del values[tell("position") or 0]
    a, (b, c) = values[0], (tell("pair") or 5, x + 1)
    return a, b, c


@case(None, None)
def traceback_lines(x):
    y = x + 1
    tell("before")
    try:
        y = y * 2
        fails_below(y)
    except ValueError as error:
        frames = traceback.extract_tb(error.__traceback__)
        return y, [(f.name, f.lineno - traceback_lines_start()) for f in frames]


def fails_below(y):
    z = y + 1
    raise ValueError(z.dim())


def traceback_lines_start():
    return fails_below.__code__.co_firstlineno


@case(None, None)
def traceback_lines_without_break(x):
    try:
        fails_below(x)
    except ValueError as error:
        return x + 1, [
            (f.name, f.lineno - traceback_lines_start()) for f in traceback.extract_tb(error.__traceback__)
        ]


@case(None, None)
def generator_with_breaks_consumed(x):
    def produce():
        try:
            for i in range(3):
                tell("produce", i)
                yield x + i
        finally:
            tell("closed")

    total = x * 0
    for item in produce():
        total = total + item
        if len(total) > 5:
            break
    return total


@case(None, None)
def generator_abandoned_after_break(x):
    def produce():
        try:
            yield 1
            yield 2
        finally:
            tell("closed")

    for item in produce():
        x = x + item
        tell("got", item)
        break
    return x * 2


@case(None, None)
def nonlocal_across_breaks(x):
    n = 0

    def step(v):
        nonlocal n
        n += 1
        tell("step", n)
        return v + n

    y = step(step(x))
    n *= 10
    return step(y), n


@case(None, None)
def cells_of_loop_variables(x):
    fs = []
    for i in range(3):
        fs.append(lambda v: v + i)
        tell("made", i)
    return [f(x) for f in fs]


@case(None, None)
def comprehension_variable_and_break(x):
    i = 7
    xs = [x + i for i in range(2)]
    tell("kept", i)
    return xs, x * i


@case(None, None)
def deleted_local_across_break(x):
    y = x + 1
    z = y * 2
    del y
    tell("deleted")
    try:
        return y
    except UnboundLocalError as error:
        return z, str(error)


@case(None, None)
def conditionally_bound_local(x, flag=False):
    if flag:
        y = 1
    tell("maybe")
    try:
        return x + y
    except UnboundLocalError:
        return x * 2


@case(None, None)
def many_stack_items(x):
    return (x + 1, [x * 2, (3, tell("deep") or 4)], {"k": x - 1, "z": tell("deeper") or {5}})


@case(None, None)
def while_true_with_breaks(x):
    n = 0
    while True:
        n += 1
        if n == 2:
            tell("two")
            continue
        x = x + n
        if n > 3:
            tell("out")
            break
    return x, n


class Counted:
    made = 0

    def __init__(self, v):
        tell("init")
        self.v = v + 1
        Counted.made += 1

    def __enter__(self):
        tell("enter")
        return self.v

    def __exit__(self, *exc):
        tell("exit", exc[0] and exc[0].__name__)
        return True

    def __getattr__(self, name):
        tell("missing", name)
        return name

    def __iter__(self):
        tell("iter")
        yield from (1, 2)

    @property
    def prop(self):
        tell("property")
        return self.v * 2


@case(None, None)
def break_in_every_dunder(x):
    Counted.made = 0
    c = Counted(x)
    with c as v:
        y = v * 2
        raise KeyError("swallowed")
    return y, c.absent, list(c), c.prop, Counted.made
