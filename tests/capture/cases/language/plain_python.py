"""Plain Python around tensors: closures, defaults, lambdas in containers, nested try, stars, del."""

from __future__ import annotations

import collections
import math
import operator

import torch

from tests.capture.cases.registry import case


@case(ops=1)
def closure_state(x):
    n = [0]

    def inc(by=1):
        n[0] += by
        return n[0]

    inc()
    inc(5)
    return x * n[0]


@case(ops=1)
def plain_nonlocal(x):
    c = 0

    def f():
        nonlocal c
        c += 1

        def g():
            nonlocal c
            c *= 10

        g()
        return c

    f()
    f()
    return x + c


@case(ops=3)
def gen_stuff(x):
    def g(n):
        for i in range(n):
            s = yield x + i
            if s:
                yield s

    it = g(3)
    a = next(it)
    b = it.send("hi")
    return a, b, [v for v in it][0]


@case(ops=1)
def default_mutable(x):
    def f(a, l=[]):
        l.append(a)
        return l

    f(1)
    return f(2), x + 1


@case(ops=1)
def star(x):
    def f(a, /, b, *c, d, e=5, **k):
        return a, b, c, d, e, k

    return f(1, 2, 3, 4, d=x, z=1), f(*[1, 2], **{"d": 2}), x + 1


@case(ops=3)
def callable_dict(x):
    ops = {"add": operator.add, "relu": torch.relu, "l": lambda v: v * 2}
    return ops["add"](x, 1), ops["relu"](x), ops["l"](x)


@case(ops=3)
def lambda_list(x):
    return [f(x) for f in [lambda v: v + 1, torch.sin, abs]], [(lambda k=i: k)() for i in range(3)]


@case(ops=3)
def getattr_dyn(x):
    return (
        getattr(torch, "sin")(x),
        getattr(x, "sum")(),
        getattr(torch.nn.functional, "relu")(x),
        getattr(math, "pi"),
        getattr(x, "nope", 1),
    )


@case(ops=1)
def isinstance_chain(x):
    r = []
    for v in (1, 1.0, "a", None, x, [1], (1,), {1: 2}, True, torch.float32, x.shape):
        r.append(
            [
                isinstance(v, t)
                for t in (
                    int,
                    float,
                    str,
                    type(None),
                    torch.Tensor,
                    (list, tuple),
                    bool,
                    collections.abc.Sequence,
                    torch.dtype,
                    torch.Size,
                )
            ]
        )
    return r, x + 1


@case(ops=1)
def ternary_chain(x):
    return (
        (x + 1 if x.ndim == 2 else x) if x.shape[0] > 1 else x * 2,
        1 < 2 < 3,
        not None or 5,
        None and 3,
        [] or "d",
    )


@case(ops=1)
def walrus(x):
    return [y for v in range(4) if (y := v * 2) > 2], (n := x.shape[0]) + n, x + 1


@case(ops=1)
def del_names(x):
    a = x + 1
    b = a
    del a
    try:
        a
    except UnboundLocalError as e:
        return b, str(e)


@case(ops=1)
def try_nested(x):
    r = []
    try:
        try:
            raise KeyError("k")
        except KeyError as e:
            raise ValueError("v") from e
        finally:
            r.append("f")
    except ValueError as e:
        r.append(type(e.__cause__).__name__)
    else:
        r.append("no")
    return r, x + 1


class MyErr(Exception):
    def __init__(self, a, b=2):
        super().__init__(a)
        self.b = b


@case(ops=1)
def custom_exc(x):
    try:
        raise MyErr("q", 5)
    except MyErr as e:
        return e.args, e.b, str(e), repr(e), x + 1


@case(ops=1)
def star_assign(x):
    a, (b, *c), *d = 1, (2, 3, 4), 5, 6
    return a, b, c, d, x + 1


@case(ops=1)
def dict_methods_chain(x):
    return (
        sorted({"a": 1, "b": 2}.items(), key=lambda kv: -kv[1]),
        dict(sorted({"b": 1, "a": 2}.items())),
        {v: k for k, v in {"a": 1}.items()},
        x + 1,
    )


@case(ops=1)
def any_gen(x):
    return (
        any(t is x for t in [x]),
        all(isinstance(t, torch.Tensor) for t in [x, x]),
        sum(1 for _ in range(3)),
        x + 1,
    )


@case(ops=1)
def sum_tuple(x):
    return sum(((1,), (2,)), ()), sum([[1]], []), sum([1.5, 2]), sum([True, True]), x + 1
