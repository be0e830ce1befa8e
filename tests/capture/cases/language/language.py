"""The language: control flow, functions, closures, comprehensions, exceptions, with, match."""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator

import torch

from tests.capture.cases.registry import case

SCALE = 3


@case(1, 2)
def chained(x):
    return (x + 1) * 2


@case(1, 1)
def constant_branch(x, flag=True):
    if flag:
        return x + 1
    return x - 1


@case(1, 4)
def for_range(x):
    for i in range(4):
        x = x + i
    return x


@case(1, 3)
def while_loop(x):
    i = 0
    while i < 3:
        x = x * 2
        i += 1
    return x


@case(1, 2)
def loop_else(x):
    for i in range(2):
        if i == 5:
            break
        x = x + 1
    else:
        return x
    return x * 100


@case(1, 2)
def continue_and_break(x):
    for i in range(10):
        if i % 2:
            continue
        if i > 3:
            break
        x = x + i
    return x


@case(1, 1)
def global_constant(x):
    return x * SCALE


def helper(x, y=2, *rest, k=1, **extra):
    return x * y + k + len(rest) + len(extra)


@case(1, None)
def call_forms(x):
    a = helper(x)
    b = helper(x, 3, 4, 5, k=7, z=1)
    c = helper(*[x, 2], **{"k": 3})
    return a + b + c


@case(1, 2)
def closure(x):
    y = x + 1

    def inner(z):
        return z * y

    return inner(x)


@case(1, 3)
def nonlocal_write(x):
    total = x

    def add(v):
        nonlocal total
        total = total + v

    add(1)
    add(2)
    add(3)
    return total


@case(1, 2)
def lambda_default(x):
    f = lambda a, b=2: a * b  # noqa: E731
    return f(x) + f(x, 3) if False else f(f(x), 3)


@case(1, 3)
def list_comprehension(x):
    return [x * i for i in range(3)]


@case(1, 3)
def dict_comprehension(x):
    return {f"k{i}": x + i for i in range(3)}


@case(1, 3)
def nested_comprehension(x):
    rows = [[i * j for j in range(3)] for i in range(1)]
    return [x * v for row in rows for v in row]


@case(1, None)
def generator_expression(x):
    return sum(x * i for i in range(3))


@case(1, 3)
def generator_function(x):
    def produce(n):
        for i in range(n):
            yield x + i

    return list(produce(3))


@case(1, 4)
def generator_yield_from(x):
    def inner():
        yield x + 1
        yield x + 2
        return x * 3

    def outer():
        last = yield from inner()
        yield last - 1

    return list(outer())


@case(1, 2)
def generator_send(x):
    def accumulate():
        total = x
        while True:
            value = yield total
            if value is None:
                return
            total = total + value

    g = accumulate()
    next(g)
    g.send(1)
    return g.send(2)


@case(1, 1)
def try_except_inside(x):
    try:
        raise ValueError("no")
    except ValueError as error:
        text = str(error)
    return x + len(text)


@case(1, 2)
def try_finally(x):
    try:
        y = x + 1
    finally:
        y = y * 2
    return y


@case(1, 1)
def exception_through_call(x):
    def fail():
        raise KeyError("k")

    try:
        fail()
    except (ValueError, KeyError):
        return x + 1
    return x


@case(1, 1)
def exception_chain(x):
    try:
        try:
            raise ValueError("a")
        except ValueError as e:
            raise RuntimeError("b") from e
    except RuntimeError as error:
        ok = isinstance(error.__cause__, ValueError)
    return x + ok


@case(1, 1)
def reraise(x):
    try:
        try:
            {}["missing"]
        except KeyError:
            raise
    except LookupError:
        return x + 1


@case(1, 1)
def exception_else_finally(x):
    log = []
    try:
        log.append(1)
    except ValueError:
        log.append(2)
    else:
        log.append(3)
    finally:
        log.append(4)
    return x + sum(log)


@case(1, 1)
def dict_get_missing(x):
    try:
        return x + {}["a"]
    except KeyError:
        return x * 2


@case(1, 1)
def stop_iteration(x):
    it = iter([1])
    next(it)
    try:
        next(it)
    except StopIteration:
        return x + 1


@case(1, 1)
def assert_true(x):
    assert x.shape[0] == 3, "rows"
    return x + 1


class Manager:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("enter")
        return 5

    def __exit__(self, kind, value, trace):
        self.log.append("exit")
        return kind is ValueError


@case(1, 1)
def user_context(x):
    log = []
    with Manager(log) as five:
        y = x + five
    return y, log


@case(1, 1)
def user_context_swallows(x):
    log = []
    with Manager(log):
        raise ValueError("x")
    return x + len(log), log


@contextlib.contextmanager
def scaled(log):
    log.append("in")
    try:
        yield 3
    finally:
        log.append("out")


@case(1, 1)
def contextmanager_function(x):
    log = []
    with scaled(log) as k:
        y = x * k
    return y, log


@case(1, 3)
def no_grad_inside(x):
    with torch.no_grad():
        y = x * 2
    return y


@case(1, 1)
def match_sequence(x):
    match [1, 2, 3]:
        case [a, *rest]:
            return x + a + len(rest) if False else x + (a + len(rest))
    return x


@case(1, 1)
def match_mapping(x):
    match {"kind": "a", "n": 2}:
        case {"kind": "b"}:
            return x
        case {"kind": "a", "n": n}:
            return x * n
    return x


@case(1, 1)
def match_class(x):
    match 3:
        case str():
            return x
        case int(n):
            return x + n


@case(1, 1)
def walrus(x):
    if (n := x.shape[0]) > 2:
        return x + n
    return x


@case(1, 1)
def f_strings(x):
    text = f"{x.shape[0]:>4}|{'a'!r}|{3.14159:.2f}"
    return x + len(text), text


@case(1, 0 + 2)
def unpacking(x):
    a, *b, c = [1, 2, 3, 4]
    (d, e), f = (5, 6), 7
    return x + (a + c + d + e + f) + len(b)


@case(1, 1)
def star_dict(x):
    d = {"a": 1, **{"b": 2}}
    return x + d["a"] + d["b"] if False else x + (d["a"] + d["b"])


@case(1, 1)
def chained_comparison(x):
    if 0 < x.shape[0] < 10 and 3 in [1, 2, 3] and None is None:
        return x + 1
    return x


@case(1, 1)
def recursion(x):
    def fact(n):
        return 1 if n <= 1 else n * fact(n - 1)

    return x * fact(5)


@case(1, 6)
def unrolled_recursion(x):
    def walk(v, n):
        return v if n == 0 else walk(v + n, n - 1) * 2

    return walk(x, 3)


@case(1, 3)
def reduce_tensors(x):
    return functools.reduce(operator.add, [x, x, x, x])


@case(1, 2)
def partial_call(x):
    add = functools.partial(torch.add, alpha=2)
    return add(add(x, 1), 2)


@case(1, None)
def itertools_chain(x):
    out = []
    for i in itertools.chain([1, 2], (3,)):
        out.append(x * i)
    return out


@case(1, None)
def zip_enumerate_map_filter(x):
    out = [a * b for a, b in zip([x, x], [1, 2])]
    out += [v + i for i, v in enumerate(out)]
    out += list(map(lambda v: v * 2, out))
    return list(filter(lambda v: v.shape[0] == 3, out))


@case(1, 1)
def delete_things(x):
    d = {"a": 1, "b": 2}
    del d["a"]
    l = [1, 2, 3]
    del l[0], l[-1]
    y = 5
    del y
    return x + (d["b"] + l[0]), d, l


@case(1, 1)
def inner_class_use(x):
    import math

    return x * math.sqrt(4) + 0 if False else x * math.sqrt(4)


@case(1, 1)
def print_free_kwargs(x, *, k=3):
    return x * k


@case(1, 3)
def star_args_forward(x):
    def inner(*args, **kwargs):
        return torch.cat(args, **kwargs)

    return (
        inner((x), dim=0) if False else inner(x + 1, x + 2, dim=1) if False else torch.cat([x + 1, x + 2], 0)
    )
