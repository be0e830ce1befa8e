"""Values of all kinds that cross a graph break: they are rebuilt after it, with the same identities."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
from collections import defaultdict, deque, namedtuple

import torch

from tests.capture.cases.registry import case, show


class P:
    def __init__(self, v=1):
        self._v = v

    @property
    def v(self):
        return self._v


class Str(str):
    tag = "s"


class Int(int):
    def dbl(self):
        return Int(self * 2)


class MyT(tuple):
    pass


class MyL(list):
    pass


class MyD(dict):
    def __setitem__(self, k, v):
        super().__setitem__(k, (v,))


class MyS(set):
    pass


class MyQ(deque):
    pass


class MyDD(defaultdict):
    pass


class MyF(frozenset):
    pass


NT = namedtuple("NT", "a b")


class OvNT(NT):
    def __getitem__(self, i):
        return "ov"


class NewInt(int):
    def __new__(cls, v, tag):
        o = super().__new__(cls, v * 2)
        o.tag = tag
        return o


class E(enum.Enum):
    A = 1

    def act(self, x):
        return x + self.value


@case(graphs=2, ops=2)
def dict_alias(x):
    p = P()
    d = p.__dict__
    y = x + 1
    show("b")
    d["c"] = 3
    d["_v"] = x
    return p.c, p.v + y


@case(graphs=2, ops=2, args=lambda: (torch.randn(3, 4), P()))
def dict_alias_arg(x, p):
    d = p.__dict__
    y = x + 1
    show("b")
    p.q = 5
    d["c"] = 3
    return d["q"], p.c, y * 2


@case(ops=1)
def subs2(x):
    q = MyQ([1, x], 3)
    d = MyD(a=1)
    d["b"] = 2
    dd = MyDD(list)
    dd["k"].append(x)
    n = OvNT(x, 2)
    a = d
    y = x + 1
    show("b")
    a["z"] = y
    q.append(5)
    q.append(6)
    return q, d, a is d, dd, n, n.b, y


@case(graphs=2, ops=2)
def iterators(x):
    it = iter([1, x, 3])
    next(it)
    d = {"a": 1, "b": 2}
    di = iter(d.items())
    next(di)
    en = enumerate("abc")
    next(en)
    z = zip([1, 2], [x, x])
    m = map(lambda v: v + 1, [1, 2])
    r = iter(range(5))
    next(r)
    y = x + 1
    show("b")
    return list(it)[0] * y, list(di), list(en), [a for a, _ in z], list(m), list(r)


@case(ops=1)
def dictiter_mut(x):
    d = {"a": 1, "b": 2}
    it = iter(d)
    next(it)
    y = x + 1
    show("b")
    d["c"] = 3
    try:
        next(it)
    except RuntimeError as e:
        return str(e), y


@case(graphs=1, ops=1)
def loop_break(x):
    out = []
    for k, v in {"a": 1, "b": 2}.items():
        show(k)
        out.append(x * v)
    return out


@case(graphs=2, ops=4)
def loop_set_break(x):
    t = 0
    for v in {1, 2, 3}:
        show(v)
        t = t + x * v
    return t


@case(graphs=0, ops=0)
def loop_deque_break(x):
    t = 0
    q = deque([1, 2, 3])
    for v in q:
        show(v)
        t = t + x * v
    return t, q


@case(ops=1)
def alias_break(x):
    a = [1]
    b = {"a": a, "b": a}
    c = (a, b)
    y = x + 1
    show("b")
    a.append(y)
    return b, c[0] is b["a"], b["a"] is b["b"]


@case(ops=1)
def cycle_break(x):
    a = P()
    b = P()
    a.b = b
    b.a = a
    y = x + 1
    show("b")
    return a.b.a is a, y


@case(graphs=2, ops=3)
def partial_break(x):
    f = functools.partial(lambda a, b, c=1: a + b * c, x, c=2)
    f.attr = 5
    y = x + 1
    show("b")
    return f(y), f.attr


@case(graphs=2, ops=2)
def nested_fn_break(x):
    n = 0

    def f(a, k=[]):
        nonlocal n
        n += 1
        k.append(n)
        return a + n

    f.tag = "t"
    y = f(x)
    show("b")
    z = f(y)
    return z, n, f.tag, f.__defaults__


@case(ops=1)
def method_break(x):
    p = P(x)
    m = p.__class__
    l = []
    app = l.append
    g = [].__len__
    y = x + 1
    show("b")
    app(y)
    return l, m.__name__, g()


@case(graphs=0, ops=0)
def gen_break(x):
    def g():
        for i in range(3):
            yield x + i

    it = g()
    a = next(it)
    show("b")
    return a, [v for v in it]


@case(graphs=2, ops=3)
def slices_break(x):
    s = slice(1, None)
    r = range(2, 9, 3)
    sz = x.shape
    dt = x.dtype
    e = E.A
    el = ...
    c = 1 + 2j
    by = b"a"
    fs = frozenset([1])
    y = x + 1
    show("b")
    return x[s], list(r), sz, dt, e.act(y), el, c, by, fs


@case(graphs=2, ops=2, args=lambda: (torch.randn(3, 4), [1, [2]], {"a": {"b": 1}}))
def nested_mut_break(x, l, d):
    l[1].append(x + 1)
    d["a"]["c"] = l
    l.append(d["a"])
    show("b")
    d["a"]["b"] = 9
    l[0] = x * 2
    return len(l), d["a"] is l[2]


@case(ops=1, args=lambda: (lambda l: (torch.randn(3, 4), l, l))([1, 2]))
def same_arg(x, a, b):
    a.append(3)
    b[0] = 9
    return a is b, len(b), x + 1, a


@case(ops=1)
def exc_state(x):
    l = []
    try:
        l.append(x + 1)
        raise ValueError("q")
    except ValueError as e:
        show("b")
        l.append(str(e))
    return l


@case(graphs=2, ops=2)
def with_break(x):
    class_log = []
    import contextlib

    @contextlib.contextmanager
    def cm():
        class_log.append("in")
        yield 5
        class_log.append("out")

    with cm() as v:
        y = x + v
        show("b")
        z = y * 2
    return z, class_log


@case(graphs=2, ops=2)
def enum_dict_break(x):
    d = {E.A: x}
    y = d[E.A] + 1
    show("b")
    return d[E.A] * y


@case(ops=1)
def dc_break(x):
    d = DC(x)
    e = dataclasses.replace(d, b=3)
    show("b")
    return d.a + e.b, d == d, e


@dataclasses.dataclass
class DC:
    a: object
    b: int = 2
    c: list = dataclasses.field(default_factory=list)


@case(ops=1)
def copy_break(x):
    l = [[1], x]
    m = copy.deepcopy([[1]])
    n = copy.copy(l)
    y = x + 1
    show("b")
    n[0].append(2)
    return l, m, n[0] is l[0], y


@case(ops=1)
def star_break(x):
    def f(*a, **k):
        show("b")
        return a, k

    return f(x + 1, *[1, 2], z=3, **{"q": x})


@case(graphs=2, ops=3)
def cell_break(x):
    cells = []
    for i in range(3):
        cells.append(lambda i=i: x + i)
    y = cells[1]()
    show("b")
    return cells[2]() + y


@case(ops=1)
def weird_keys(x):
    d = {(1, "a"): x, None: 1, 1.5: 2, True: 3, E.A: 4, int: 5, b"k": 6, frozenset([1]): 7, slice: 8}
    y = d[1, "a"] + 1
    show("b")
    return list(d), y, d[frozenset([1])]


GG = None


@case(ops=1)
def set_obj(x):
    a, b = P(), P()
    s = {a, b}
    y = x + 1
    show("b")
    return a in s, P() in s, len(s), y


@case(ops=1)
def tensor_dict_break(x):
    d = {x: 1}
    y = x + 1
    d[y] = 2
    show("b")
    return d[x], d[y], y in d


@case(ops=1)
def str_build(x):
    s = ""
    for i in range(3):
        s += f"{i}:{x.shape[0]},"
    y = x + 1
    show(s)
    return s, y
