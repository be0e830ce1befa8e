"""Dataclasses, named tuples and struct sequences."""

from __future__ import annotations

import dataclasses
import typing
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from tests.capture.cases.registry import case


@dataclass
class D:
    a: object
    b: int = 2
    c: list = field(default_factory=list)

    def total(self):
        return self.a + self.b


@dataclass(frozen=True)
class F:
    a: object
    b: int = 2


@dataclass(order=True)
class O:
    n: int
    s: str = ""


@dataclass
class PI:
    a: int
    z: dataclasses.InitVar[int] = 3
    t: int = field(init=False, default=0)

    def __post_init__(self, z):
        self.t = self.a * z


@dataclass
class Child(D):
    d: int = 9
    K: typing.ClassVar[int] = 4


@dataclass(slots=True)
class S:
    a: object
    b: int = 1


@dataclass(kw_only=True)
class KW:
    a: object
    b: int = 1


@dataclass(eq=False)
class NE:
    a: object


@dataclass(unsafe_hash=True)
class UH:
    a: int


@case(ops=2)
def dc(x):
    d = D(x)
    d.c.append(x + 1)
    return d.total(), d.b, d.c[0], d


@case(ops=1)
def dc_frozen(x):
    f = F(x + 1)
    try:
        f.b = 3
    except dataclasses.FrozenInstanceError as e:
        return f.a, str(e), f


@case(ops=1)
def dc_frozen2(x):
    f = F(1)
    g = F(1)
    return f == g, {f: x}[g] + 1, hash(f) == hash(g)


@case(ops=1)
def dc_order(x):
    a, b = O(1, "b"), O(1, "c")
    return a < b, a <= b, a > b, sorted([b, a])[0].s, max(a, b).s, a == O(1, "b"), x + 1


@case(ops=1)
def dc_post(x):
    p = PI(2, z=5)
    return p.t, PI(1).t, x + p.t


@case(ops=1)
def dc_child(x):
    c = Child(x, d=1)
    return c.total(), c.d, c.K, Child.K, isinstance(c, D)


@case(ops=1)
def dc_slots(x):
    s = S(x)
    s.b = 5
    try:
        s.q = 1
    except AttributeError as e:
        r = 1
    return s.a + s.b, r, s


@case(ops=1)
def dc_kw(x):
    try:
        KW(1)
    except TypeError as e:
        r = str(e)
    return KW(a=x).a + 1, r


@case(ops=1)
def dc_eq(x):
    return D(1) == D(1), D(1) != D(2), D(1) == 3, NE(1) == NE(1), {UH(1): 2}[UH(1)], x + 1


@case(ops=1)
def dc_repr(x):
    return repr(O(1, "a")), str(O(2)), f"{O(3)}", x + 1


@case(ops=2)
def dc_replace(x):
    d = dataclasses.replace(D(x), b=7)
    f = dataclasses.replace(F(1), a=x)
    return d.total(), f.a * 2, f.b


@case(ops=1)
def dc_fields(x):
    return (
        [f.name for f in dataclasses.fields(D(x))],
        [getattr(O(1, "q"), f.name) for f in dataclasses.fields(O)],
        dataclasses.is_dataclass(D),
        dataclasses.is_dataclass(D(x)),
        x + 1,
    )


@case(ops=1)
def dc_asdict(x):
    return dataclasses.asdict(O(1, "a")), dataclasses.astuple(O(1, "a")), x + 1


@case(ops=1)
def dc_asdict_tensor(x):
    d = dataclasses.asdict(D(3, c=[1, {"q": 2}]))
    return d, x + 1


@case(ops=1)
def dc_match(x):
    match O(1, "a"):
        case O(n=1, s=s):
            return x + 1, s
    return x


@case(ops=1)
def dc_match_pos(x):
    match O(1, "a"):
        case O(1, s):
            return x + 1, s
    return x


@case(ops=3, args=lambda: (torch.randn(3, 4), D(torch.ones(3, 4))))
def dc_arg(x, d):
    d.a = d.a + x
    d.c.append(x)
    d.b += 1
    return d.total()


@case(ops=2, args=lambda: (torch.randn(3, 4), F(torch.ones(3, 4))))
def dc_arg_frozen(x, d):
    return d.a + x * d.b, d


@case(ops=2, args=lambda: (torch.randn(3, 4), S(torch.ones(3, 4))))
def dc_arg_slots(x, d):
    d.b = 3
    return d.a + x * d.b


@case(ops=2, args=lambda: (torch.randn(3, 4), D(torch.ones(3, 4))))
def dc_arg_replace(x, d):
    e = dataclasses.replace(d, b=5)
    return e.total() + x, [f.name for f in dataclasses.fields(d)]


@dataclass
class Out(OrderedDict):
    loss: object = None
    logits: object = None

    def __post_init__(self):
        for f in dataclasses.fields(self):
            v = getattr(self, f.name)
            if v is not None:
                self[f.name] = v

    def __getitem__(self, k):
        if isinstance(k, str):
            return dict(self.items())[k]
        return self.to_tuple()[k]

    def __setattr__(self, n, v):
        if n in self.keys() and v is not None:
            super().__setitem__(n, v)
        super().__setattr__(n, v)

    def __setitem__(self, k, v):
        super().__setitem__(k, v)
        super().__setattr__(k, v)

    def to_tuple(self):
        return tuple(self[k] for k in self.keys())


@case(ops=2)
def modeloutput(x):
    o = Out(logits=x + 1)
    o.loss = x.sum()
    return o


@case(ops=1)
def modeloutput2(x):
    o = Out(logits=x + 1, loss=3)
    return o[0], o["logits"], o.to_tuple(), len(o), list(o), o.logits is o["logits"], "loss" in o


@case(ops=3, args=lambda: (torch.randn(3, 4), Out(logits=torch.ones(3, 4))))
def modeloutput_arg(x, o):
    o.loss = x + 1
    return o[0] * 2, o["logits"] + 1


NT = namedtuple("NT", "a b", defaults=[5])


class TNT(NamedTuple):
    a: object
    b: int = 3

    def s(self):
        return self.a + self.b

    @property
    def dbl(self):
        return self.b * 2

    @classmethod
    def make(cls, a):
        return cls(a)


class SubNT(NT):
    def s(self):
        return self.a * self.b


class NewNT(NT):
    def __new__(cls, a, b=1):
        return super().__new__(cls, a, b + 1)


class OvNT(NT):
    def __getitem__(self, i):
        return "ov"


@case(ops=2)
def nt(x):
    n = NT(x)
    m = n._replace(b=7)
    return n.a + n.b, m.b, m, n[0] * 2, len(n), n._fields, NT._fields, n.index(5) if False else 0


@case(ops=1)
def nt2(x):
    a, b = NT(x, 2)
    return (
        a * b,
        NT._make([1, 2]),
        NT(1)._asdict(),
        NT(1, 2) == (1, 2),
        NT._field_defaults,
        NT(b=1, a=2),
        repr(NT(1)),
        str(NT(1)),
    )


@case(ops=2)
def nt_typed(x):
    t = TNT(x)
    return t.s(), t.dbl, TNT.make(x).a + 1, t._replace(b=9).b, t


@case(ops=2)
def nt_sub(x):
    s = SubNT(x, 2)
    return s.s(), s._replace(b=3).s(), type(s).__name__, isinstance(s, tuple), s


@case(ops=1)
def nt_new(x):
    n = NewNT(x)
    return n.b, n.a + 1, n


@case(ops=1)
def nt_override(x):
    n = OvNT(x, 2)
    return n[0], n.b, x + 1


@case(ops=1)
def nt_err(x):
    r = []
    for f in (lambda: NT(), lambda: NT(1, 2, 3), lambda: NT(1)._replace(z=1), lambda: NT._make([1])):
        try:
            f()
        except Exception as e:
            r.append((type(e).__name__, str(e)))
    return r, x + 1


@case(ops=1)
def nt_setattr(x):
    try:
        NT(1).a = 3
    except AttributeError as e:
        return str(e), x + 1


@case(ops=1)
def nt_eq_hash(x):
    return (
        {NT(1, 2): x}[(1, 2)] + 1,
        NT(1, 2) < NT(1, 3),
        NT(1, 2) + (3,),
        NT(1, 2) * 2,
        NT(1, 2)[::-1],
        sorted([NT(2, 1), NT(1, 1)]),
    )


@case(ops=2, args=lambda: (torch.randn(3, 4), TNT(torch.ones(3, 4))))
def nt_arg(x, t):
    return t.s() + x, t._replace(b=2), t.dbl, t._asdict()["b"]


@case(ops=2, args=lambda: (torch.randn(3, 4), SubNT(torch.ones(3, 4), 3)))
def nt_arg_sub(x, t):
    return t.s() + x, t


@case(ops=1)
def nt_match(x):
    match NT(1, x):
        case NT(a=1, b=q):
            return q + 1


@case(ops=4)
def return_types(x):
    r = x.max(dim=1)
    v, i = r
    return r.values + 1, r.indices, r[0], v, r


@case(ops=2)
def return_types2(x):
    r = torch.sort(x)
    return r.values, r._fields if hasattr(r, "_fields") else 0, type(r).__name__, len(r)
