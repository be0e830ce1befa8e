"""Statements: match, walrus, stars, del, global names, closures, deep calls."""

from __future__ import annotations

from tests.capture.cases.registry import case, show


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


def classify(value):
    match value:
        case 0 | 1:
            return "small"
        case int(n) if n > 100:
            return "big"
        case [] | ():
            return "empty"
        case [one]:
            return ("one", one)
        case [first, *_, last]:
            return ("ends", first, last)
        case {"op": "add", "args": [a, b], **rest}:
            return ("add", a + b, rest)
        case Point(0, y):
            return ("axis", y)
        case Point(x=px, y=py) as p:
            return ("point", px, py, p is value)
        case str() | bytes():
            return "text"
        case None | True:
            return "single"
        case float(f):
            return ("float", f)
        case _:
            return "other"


@case(1, 1)
def match_forms(x):
    values = [
        0,
        500,
        7,
        [],
        [1],
        (1, 2, 3),
        {"op": "add", "args": [1, 2], "z": 3},
        Point(0, 5),
        Point(1, 2),
        "s",
        None,
        2.5,
        {"op": "mul"},
    ]
    return x + 1, [classify(v) for v in values]


@case(1, 1)
def walrus_in_comprehension(x):
    out = [y for i in range(4) if (y := i * 2) > 2]
    return x + y, out


@case(1, 2)
def star_expressions(x):
    def f(*args, k=0, **kw):
        return len(args) + k + len(kw)

    a = [*range(2), *"ab"]
    b = {**{"k": 1}, "z": 2}
    c = (*a, *b)
    d = {*a, 1}
    first, *rest = c
    return x + f(*a, *c, **b), x * len(d), first, rest


@case(1, 1)
def default_mutable_argument(x):
    def f(item, seen=[]):
        seen.append(item)
        return seen

    f(1)
    return x + len(f(2)), f(3)


@case(1, 2)
def lambdas_capture_late(x):
    fs = [lambda v: v * i for i in range(3)]
    gs = [lambda v, i=i: v * i for i in range(3)]
    return fs[0](x), gs[1](x)


@case(1, 4)
def closure_counter(x):
    def make():
        n = 0

        def count():
            nonlocal n
            n += 1
            return n

        return count

    a, b = make(), make()
    return x + a() + a() + b() + a()


@case(1, 3)
def mutual_recursion(x):
    def even(v, n):
        return v if n == 0 else odd(v + 1, n - 1)

    def odd(v, n):
        return v if n == 0 else even(v + 1, n - 1)

    return even(x, 3)


@case(1, 1)
def debug_constant(x):
    if __debug__:
        return x + 1
    return x


@case(1, 2)
def imports_inside(x):
    import math as m
    from collections import OrderedDict as OD

    import torch.nn.functional as F

    return F.relu(x) * m.floor(2.5), OD(a=1)


@case(1, 1)
def delete_forms(x):
    a, b, c = [1, 2, 3, 4], {"k": 1, "z": 2}, Point(1, 2)
    del a[1:3], b["k"], c.x
    del (a[0],)
    return x + a[0], b, hasattr(c, "x")


@case(1, 3)
def conditional_expressions(x, flag=None):
    y = x if flag else x + 1
    z = y if not flag and y.dim() == 2 else None
    return (z if z is not None else x) * (2 if flag is None else 3) - (0 or 5)


@case(1, 1)
def chained_and_identity(x):
    a = b = [1]
    return x + 1, a is b, a == [1] != [2], 1 < 2 <= 2 < 3, not (1 in a) is False, None is not a


@case(1, 4)
def augmented_targets(x):
    d, l, p = {"a": x}, [x, 1], Point(x, 2)
    d["a"] += 1
    l[0] *= 2
    l[1] += 5
    p.x -= 3
    p.y **= 2
    l += [7]
    n = 5
    n //= 2
    n |= 8
    return d["a"] / 2, l, p.x, p.y, n


@case(1, 1)
def long_condition(x):
    n = x.shape[0]
    if n > 5 or (n == 3 and x.ndim == 2 and not n % 2 == 0):
        return x * n
    elif n:
        return x
    else:
        return -x


COUNTER = 0


NAMES = ["a"]


@case(1, 1)
def global_store(x):
    global COUNTER
    COUNTER = 5
    COUNTER += 1
    y = x + COUNTER
    NAMES.append("b")
    n = len(NAMES)
    del NAMES[1:]
    COUNTER = 0
    return y, n


TEMPORARY = 3


@case(None, None)
def global_delete(x):
    global TEMPORARY
    TEMPORARY = 4
    y = x + TEMPORARY
    del TEMPORARY
    there = "TEMPORARY" in globals()
    TEMPORARY = 3
    return y, there


@case(1, 12)
def deep_calls(x):
    def level(v, n):
        return v if n == 0 else level(v + n, n - 1)

    return level(x, 12)


@case(None, None)
def deep_calls_break_at_bottom(x):
    return chain_0(x) + 1


def chain_last(x):
    show("bottom")
    return x * 2


def _chain(n):
    def link(x):
        return globals()[f"chain_{n + 1}"](x + 1) if False else NEXT[n](x + 1)

    return link


NEXT = {}


for _n in range(11, -1, -1):
    NEXT[_n] = chain_last if _n == 11 else NEXT[_n + 1 + 100]
    NEXT[_n + 100] = _chain(_n)


chain_0 = NEXT[100]
