"""Properties, descriptors, `__getattr__`, `__getattribute__`, `__setattr__`, slots."""

from __future__ import annotations

import functools

import torch

from tests.capture.cases.objects.class_creation import HasNamed
from tests.capture.cases.registry import case


class P:
    def __init__(self):
        self._v = 1

    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, n):
        self._v = n * 2

    @v.deleter
    def v(self):
        self._v = None

    @staticmethod
    def s(a):
        return a + 1

    @classmethod
    def c(cls, a):
        return cls.__name__, a

    @functools.cached_property
    def cp(self):
        return self._v + 100

    k = 5


@case(ops=2)
def prop(x):
    p = P()
    p.v = x
    r = p.v
    del p.v
    return r + 1, p._v, p.s(1), P.s(2), p.c(3), P.c(4), p.cp if False else 0, P.k, p.k


@case(ops=1)
def cached_prop(x):
    p = P()
    a = p.cp
    p._v = 50
    return a, p.cp, "cp" in p.__dict__, x + 1


@case(ops=2, args=lambda: (torch.randn(3, 4), P()))
def prop_arg(x, p):
    p.v = x + 1
    p.k = 7
    return p.v, P.k, p.k, p.cp if False else 0


@case(ops=1)
def prop_ro(x):
    class_ = Ro()
    try:
        class_.v = 1
    except AttributeError as e:
        return str(e), x + 1


class Ro:
    @property
    def v(self):
        return 1


class Desc:
    def __set_name__(self, o, n):
        self.n = "_" + n

    def __get__(self, o, t=None):
        if o is None:
            return self
        return getattr(o, self.n, 0)

    def __set__(self, o, v):
        setattr(o, self.n, v)

    def __delete__(self, o):
        delattr(o, self.n)


class HasD:
    d = Desc()


@case(ops=1)
def desc(x):
    h = HasD()
    a = h.d
    h.d = x
    b = h.d
    del h.d
    return a, b + 1, h.d, isinstance(HasD.d, Desc)


class NonData:
    def __get__(self, o, t=None):
        return (o is None, t.__name__)


class HasND:
    d = NonData()


@case(ops=1)
def nondata(x):
    h = HasND()
    a = h.d
    h.d = 5
    return a, h.d, HasND.d, x + 1


class GA:
    def __init__(self):
        self.real = 1

    def __getattr__(self, n):
        if n[0] in "z_":
            raise AttributeError(n)
        return n * 2


@case(ops=1)
def plain_getattr(x):
    g = GA()
    return g.real, g.foo, getattr(g, "zz", 3), hasattr(g, "zq"), hasattr(g, "a"), x + 1


@case(ops=1, args=lambda: (torch.randn(3, 4), GA()))
def getattr_arg(x, g):
    return g.foo, g.real, getattr(g, "zz", 3), x + g.real


class GAB:
    def __init__(self):
        self.real = 1

    def __getattribute__(self, n):
        if n == "magic":
            return 42
        return super().__getattribute__(n)


@case(ops=1)
def getattribute(x):
    g = GAB()
    return g.magic, g.real, x + 1


@case(ops=1, args=lambda: (torch.randn(3, 4), GAB()))
def getattribute_arg(x, g):
    g.q = x + 1
    return g.magic, g.real, g.q


class SA:
    def __setattr__(self, n, v):
        object.__setattr__(self, n, (n, v))

    def __delattr__(self, n):
        super().__delattr__(n)


@case(ops=1)
def plain_setattr(x):
    s = SA()
    s.a = 1
    setattr(s, "b", x)
    del s.a
    return s.b, hasattr(s, "a"), x + 1


class Sl:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class Sl2(Sl):
    __slots__ = ("c",)


@case(ops=2)
def slots(x):
    s = Sl2(x)
    s.c = x + 1
    r = []
    try:
        s.q = 1
    except AttributeError as e:
        r.append(str(e))
    try:
        s.b
    except AttributeError as e:
        r.append(str(e))
    return s.a * s.c, r, s


@case(ops=1, args=lambda: (torch.randn(3, 4), Sl(3)))
def slots_arg(x, s):
    s.b = x + 1
    s.a = s.a + 1
    del s.a
    return s.b, hasattr(s, "a")


def with_a_value():
    holder = HasNamed()
    holder.first = 3
    return torch.ones(3), holder


@case(graphs=1, ops=2, args=with_a_value)
def data_descriptor_over_an_entry_of_the_dict(x, holder):
    return x * holder.first + holder.second, vars(holder)["first"]
