"""User classes: descriptors, attribute protocols, metaclasses, built-in bases."""

from __future__ import annotations

import abc
import functools
import typing
import weakref
from typing import Generic, Protocol, TypeVar

import torch

from tests.capture.cases_dunders import V
from tests.capture.registry import case


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


class Meta(type):
    def __call__(cls, *a, **k):
        o = super().__call__(*a, **k)
        o.tag = "meta"
        return o

    def __instancecheck__(cls, o):
        return getattr(o, "yes", False)

    def __subclasscheck__(cls, c):
        return c is int

    def __len__(cls):
        return 9

    def __iter__(cls):
        return iter("ab")

    def __getitem__(cls, k):
        return (cls.__name__, k)

    def __contains__(cls, k):
        return k == 1

    def __bool__(cls):
        return False

    def __add__(cls, o):
        return "add"

    def __eq__(cls, o):
        return o is cls or o == "q"

    def __hash__(cls):
        return 5

    def __getattr__(cls, n):
        if n.startswith("_"):
            raise AttributeError(n)
        return "meta_" + n

    def __str__(cls):
        return "METASTR"

    @property
    def mp(cls):
        return "mp"


class WithMeta(metaclass=Meta):
    def __init__(self, v):
        self.v = v
        self.yes = True


@case(ops=1)
def meta(x):
    o = WithMeta(x)
    return o.tag, o.v + 1, isinstance(o, WithMeta), isinstance(3, WithMeta), issubclass(int, WithMeta)


@case(ops=1)
def meta2(x):
    return (
        len(WithMeta),
        list(WithMeta),
        WithMeta[3],
        1 in WithMeta,
        bool(WithMeta),
        WithMeta.foo,
        WithMeta.mp,
        x + 1,
    )


@case(ops=1)
def meta3(x):
    return WithMeta + 1, WithMeta == "q", str(WithMeta), hash(WithMeta), x + 1


class Singleton(type):
    _i = {}

    def __call__(cls, *a, **k):
        if cls not in cls._i:
            cls._i[cls] = super().__call__(*a, **k)
        return cls._i[cls]


class Sing(metaclass=Singleton):
    def __init__(self):
        self.n = 0


class Base:
    reg = []

    def __init_subclass__(cls, **k):
        super().__init_subclass__()
        cls.tag = k.get("tag", "none")

    def __class_getitem__(cls, k):
        return (cls.__name__, k)

    def hello(self):
        return "base"


class Child(Base, tag="c"):
    def hello(self):
        return "child+" + super().hello()


class Mixin:
    def hello(self):
        return "mix+" + super().hello()


class Multi(Mixin, Child):
    pass


@case(ops=1)
def inherit(x):
    return (
        Child.tag,
        Base[3],
        Multi().hello(),
        Child().hello(),
        [c.__name__ for c in Multi.__mro__],
        Multi.__bases__[0].__name__,
        x + 1,
    )


@case(ops=1)
def super_explicit(x):
    c = Multi()
    return super(Mixin, c).hello(), super(Multi, Multi).hello(c), x + 1


@case(ops=1)
def class_checks(x):
    return (
        issubclass(Multi, Base),
        isinstance(Child(), (int, Base)),
        isinstance(1, int | str),
        issubclass(bool, int),
        type(Child()) is Child,
        Child().__class__.__name__,
        type(Child()).__qualname__,
        x + 1,
    )


class New:
    def __new__(cls, a, b=2):
        o = super().__new__(cls)
        o.made = a
        return o

    def __init__(self, a, b=2):
        self.b = b


@case(ops=1)
def new(x):
    n = New(x)
    return n.made + 1, n.b, n


class NewOther:
    def __new__(cls):
        return 5


@case(ops=1)
def new_other(x):
    return NewOther(), x + 1


class Cached:
    _c = {}

    def __new__(cls, k):
        if k not in cls._c:
            cls._c[k] = object.__new__(cls)
        return cls._c[k]


class Abs(abc.ABC):
    @abc.abstractmethod
    def f(self): ...
    @property
    @abc.abstractmethod
    def p(self): ...
    def g(self):
        return self.f() * 2


class Conc(Abs):
    def f(self):
        return 3

    @property
    def p(self):
        return 4


@case(ops=1)
def plain_abc(x):
    c = Conc()
    return c.g(), c.p, isinstance(c, Abs), x + 1


@case(ops=1)
def abc_err(x):
    try:
        Abs()
    except TypeError as e:
        return str(e), x + 1


@case(ops=1)
def abc_collections(x):
    import collections.abc as C

    return (
        isinstance([], C.Sequence),
        isinstance({}, C.Mapping),
        isinstance(x, C.Iterable),
        isinstance(V(1), C.Iterable),
        isinstance(lambda: 0, C.Callable),
        issubclass(list, C.MutableSequence),
        isinstance(V(1), C.Hashable),
        x + 1,
    )


@typing.runtime_checkable
class Proto(Protocol):
    def f(self): ...


@case(ops=1)
def protocol(x):
    return isinstance(Conc(), Proto), isinstance(3, Proto), x + 1


T = TypeVar("T")


class Gen(Generic[T]):
    def __init__(self, v: T):
        self.v = v

    def get(self) -> T:
        return self.v


class GenI(Gen[int]):
    pass


@case(ops=2)
def generic(x):
    return Gen(x).get() + 1, GenI(2).get(), Gen[int](3).get(), x + 1


class CtxM:
    def __init__(self):
        self.log = []

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, t, v, tb):
        self.log.append(t.__name__ if t else None)
        return t is ValueError


@case(ops=1)
def ctx(x):
    c = CtxM()
    with c as d:
        y = x + 1
    with c:
        raise ValueError("q")
    return y, c.log, d is c


class It:
    def __init__(self, n):
        self.n = n
        self.i = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.i >= self.n:
            raise StopIteration
        self.i += 1
        return self.i


@case(ops=2)
def plain_iter(x):
    return (
        list(It(3)),
        [x + i for i in It(2)],
        sum(It(4)),
        max(It(3)),
        list(zip(It(2), It(3))),
        next(It(2)),
        next(It(0), "d"),
        2 in It(3),
    )


class Seq:
    def __getitem__(self, i):
        if i >= 3:
            raise IndexError
        return i * 10

    def __len__(self):
        return 3


@case(ops=1)
def seq(x):
    s = Seq()
    return list(s), 10 in s, [i for i in s], list(reversed(s)), tuple(enumerate(s)), x + 1


class GenIt:
    def __init__(self, xs):
        self.xs = xs

    def __iter__(self):
        for v in self.xs:
            yield v * 2


@case(ops=5)
def genit(x):
    return sum(GenIt([x, x + 1])), [*GenIt([1, 2])], dict(enumerate(GenIt([3])))


class MM:
    def __setitem__(self, k, v):
        self.__dict__[k] = v

    def __getitem__(self, k):
        return self.__dict__[k]

    def __delitem__(self, k):
        del self.__dict__[k]

    def __missing__(self, k):
        return 1


@case(ops=1)
def setitem(x):
    m = MM()
    m["a"] = x
    m["b"] = 1
    del m["b"]
    m["a"] += 1
    return m["a"], vars(m), m.a


@case(ops=2, args=lambda: (torch.randn(3, 4), MM()))
def setitem_arg(x, m):
    m["a"] = x + 1
    return m["a"] * 2


class Tot:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return self.v == o.v

    def __lt__(self, o):
        return self.v < o.v


Tot = functools.total_ordering(Tot)


@case(ops=1)
def total(x):
    a, b = Tot(1), Tot(2)
    return a < b, a <= b, a > b, a >= b, a == b, a != b, sorted([b, a])[0].v, max(a, b).v, x + 1


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


class ClsAttr:
    n = 0
    items = []

    def inc(self):
        self.n += 1
        type(self).total = getattr(type(self), "total", 0) + 1
        self.items.append(self.n)


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
