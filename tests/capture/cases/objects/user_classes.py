"""Objects of user classes: attributes, dicts, identity, bound methods, references, subclasses of numbers."""

from __future__ import annotations

import weakref

import torch

from tests.capture.cases.objects.descriptors import P
from tests.capture.cases.objects.dunders import V
from tests.capture.cases.registry import case


@case(ops=1)
def hasattr_etc(x):
    p = P()
    return (
        hasattr(p, "v"),
        hasattr(p, "nope"),
        getattr(p, "nope", None),
        callable(p),
        callable(P),
        callable(len),
        callable(lambda: 0),
        callable(V(1)),
        hasattr(x, "shape"),
        hasattr(x, "nope"),
        hasattr(P, "c"),
        x + 1,
    )


@case(ops=1)
def setattr_del(x):
    p = P()
    setattr(p, "zz", x)
    y = getattr(p, "zz") + 1
    delattr(p, "zz")
    r = hasattr(p, "zz")
    try:
        p.zz
    except AttributeError as e:
        return y, r, str(e)


@case(ops=1)
def vars_dict(x):
    p = P()
    p.q = x
    return (
        sorted(vars(p)),
        p.__dict__["q"] + 1,
        list(p.__dict__),
        len(vars(p)),
        "_v" in p.__dict__,
        p.__dict__.get("nn"),
    )


@case(ops=1)
def vars_upd(x):
    p = P()
    p.__dict__.update(a=1, b=x)
    vars(p)["c"] = 3
    return p.a, p.b + 1, p.c, {**vars(p)}


@case(ops=1)
def plain_dir(x):
    return "v" in dir(P()), dir(V(1)), "append" in dir([]), x + 1


@case(ops=1)
def eq_default(x):
    a = P()
    b = P()
    return a == b, a != b, a == a, a is b, a in [b, a], [a, b].index(b), x + 1


@case(ops=1)
def bound(x):
    p = P()
    m = p.c
    n = P.s
    f = V.__add__
    return m(1), n(2), m.__func__.__name__, m.__self__.__name__, f(V(x), 1).v, P.c.__self__ is P


@case(ops=1)
def method_eq(x):
    v = V(1)
    return v.__len__ == v.__len__, v.__len__.__func__ is V.__len__, x + 1


@case(ops=1)
def plain_weakref(x):
    p = P()
    r = weakref.ref(p)
    return r() is p, x + 1


@case(ops=1, args=lambda: (torch.randn(3, 4),) * 1)
def weakref2(x):
    r = weakref.ref(x)
    return r() is x, r() + 1


@case(ops=1)
def del_obj(x):
    p = P()
    del p
    return x + 1


@case(ops=1)
def callable_obj(x):
    v = V(2)
    return v(1, 2, a=3), list(map(v, [1, 2])), x + 1


class Call:
    def __init__(self, s):
        self.s = s

    def __call__(self, x, *, k=1):
        return x * self.s + k


c_glob = Call(3)


@case(ops=4)
def callable_glob(x):
    return c_glob(x), c_glob(x, k=2)


@case(ops=1)
def instance_returned(x):
    p = P()
    p.v = x
    p.self = p
    return p


@case(ops=1)
def two_objs(x):
    a = P()
    b = P()
    a.o = b
    b.o = a
    return a, b.o is a, x + 1


@case(ops=1)
def isinstance_tensor(x):
    return (
        isinstance(x, torch.Tensor),
        isinstance(x, (int, torch.nn.Parameter)),
        isinstance(x, torch.FloatTensor),
        isinstance(3, torch.Tensor),
        type(x) is torch.Tensor,
        x + 1,
    )


@case(ops=1)
def name_mangle(x):
    m = Mang()
    return m.get(), x + 1


class Mang:
    def __init__(self):
        self.__p = 4

    def get(self):
        return self.__p


class Str(str):
    def shout(self):
        return self.upper() + "!"


class Int(int):
    def dbl(self):
        return Int(self * 2)


class Flt(float):
    unit = "m"


@case(ops=1)
def str_sub(x):
    s = Str("ab")
    return s.shout(), s + "c", len(s), s == "ab", {s: 1}["ab"], f"{s}", s[0], x + 1


@case(ops=2)
def int_sub(x):
    i = Int(3)
    return i.dbl(), i + 1, x * i, [1, 2, 3, 4][i], i == 3, range(i), i > 2, x[:i]


@case(ops=1)
def flt_sub(x):
    f = Flt(1.5)
    return f.unit, f * 2, x * f, f < 2
