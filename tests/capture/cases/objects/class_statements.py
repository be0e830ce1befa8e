"""Class statements in captured code: the class, its instances, the frame's values that they hold."""

from __future__ import annotations

import abc
import collections
import contextlib
import functools
import typing

import torch
import torch.nn as nn

from tests.capture.cases.registry import case, show


@case(1, 3)
def instance_method(x):
    class A:
        k = 3

        def __init__(self, v):
            self.v = v

        def f(self, x):
            return x * self.v + self.k

    return A(2).f(x) + 1


@case(1, 3)
def subclass_with_super(x):
    class A:
        def f(self, x):
            return x + 1

    class B(A):
        def f(self, x):
            return super().f(x) * 2

    return B().f(x.sin())


@case(1, 1)
def namedtuple_inside(x):
    Q = collections.namedtuple("Q", ["a", "b"])
    q = Q(x, 1)
    return q.a + q.b


@case(1, 1)
def context_decorator(x):
    class D(contextlib.ContextDecorator):
        def __enter__(self):
            return self

        def __exit__(self, *a):
            return False

    @D()
    def f(v):
        return v + 1

    return f(x)


@case(1, None)
def properties(x):
    class A:
        def __init__(self, v):
            self._v = v

        @property
        def v(self):
            return self._v + 1

        @v.setter
        def v(self, n):
            self._v = n

        @staticmethod
        def s(t):
            return t * 2

        @classmethod
        def c(cls, t):
            return cls(t).v

    a = A(x)
    a.v = x * 2
    return a.v + A.s(x) + A.c(x)


@case(1, None)
def attrs(x):
    class A:
        k = 3
        t = x + 1
        l = [1, 2]

        def f(self):
            return self.t * self.k + len(self.l)

    A.k = 5
    A.l.append(1)
    return A().f() + A.k, A.__name__, A.__qualname__, A.l


@case(1, None)
def returned(x):
    class A:
        pass

    y = x + 1
    return y, A.__name__


@case(1, None)
def escape(x):
    class A:
        v = 3

    y = x + 1
    a = A()
    a.y = y
    return a.y


@case(None, None)
def escape2(x):
    class A:
        v = 3

    a = A()
    a.y = x + 1
    show("b")
    return a.y * a.v


@case(1, None)
def exception_class(x):
    class E(Exception):
        def __init__(self, c):
            super().__init__(f"c{c}")
            self.c = c

    try:
        raise E(3)
    except E as e:
        return x + e.c, str(e)


@case(1, None)
def dunder(x):
    class V:
        def __init__(self, d):
            self.d = d

        def __add__(self, o):
            return V(self.d + o.d)

        def __getitem__(self, i):
            return self.d[i]

        def __enter__(self):
            return self

        def __exit__(self, *a):
            return False

        def __iter__(self):
            return iter([self.d, self.d])

        def __call__(self, t):
            return self.d * t

    with V(x) as v:
        a, b = v
        return (v + v)[0] + a[0] + v(x)[1] + b[0]


@case(1, None)
def annot(x):
    class A:
        a: int = 3
        b: "str"

    return x + A.a + len(A.__annotations__)


@case(1, None)
def abstract(x):
    class A(abc.ABC):
        @abc.abstractmethod
        def f(self): ...

    class B(A):
        def f(self):
            return 2

    return x + B().f()


@case(1, None)
def generic(x):
    class A(typing.Generic[T]):
        def f(self, v):
            return v + 1

    return A().f(x)


@case(1, None)
def by_type(x):
    A = type("A", (), {"k": 3, "f": lambda self, t: t * self.k})
    return A().f(x)


@case(1, None)
def by_type_base(x):
    class B:
        def g(self):
            return 2

    A = type("A", (B,), {"k": 3})
    return x * A().g() + A.k


@case(1, None)
def loop(x):
    for i in range(3):

        class A:
            j = i

        x = x + A.j
    return x


@case(1, None)
def isinst(x):
    class A:
        pass

    class B(A):
        pass

    return x + isinstance(B(), A) + issubclass(B, A) + (type(B()) is B) + (A() == A()) + (B.__mro__[1] is A)


@case(1, None)
def module_params(x):
    class M(nn.Module):
        def __init__(self, k):
            super().__init__()
            self.k = k

        def forward(self, t):
            return t * self.k

    m = M(3)
    return m(x), m.training


@case(1, None)
def nonlocal_write(x):
    n = 0

    class A:
        def f(self):
            nonlocal n
            n += 1
            return n

    a = A()
    a.f()
    a.f()
    return x + n


@case(1, None)
def list_sub(x):
    class L(list):
        def total(self):
            return sum(self)

    return x + L([1, 2]).total()


@case(1, None)
def slots(x):
    class S:
        __slots__ = ("a",)

    s = S()
    s.a = x + 1
    return s.a


@case(None, None)
def autograd(x):
    class Sq(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t * t

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    return Sq.apply(x) + 1


@case(None, None)
def namedtuple_typed(x):
    class P(typing.NamedTuple):
        a: torch.Tensor
        b: int = 2

    p = P(x)
    return p.a * p.b


T = typing.TypeVar("T")


def make_cls(k):
    class Made:
        def f(self, t):
            return t * k

    return Made


@case(1, None)
def factory(x):
    return make_cls(3)().f(x) + make_cls(4)().f(x)


@case(1, None)
def decorated(x):
    def deco(c):
        c.extra = 5
        return c

    @deco
    class A:
        pass

    return x + A.extra


@case(None, None)
def total_ordering(x):
    @functools.total_ordering
    class A:
        def __init__(s, v):
            s.v = v

        def __eq__(s, o):
            return s.v == o.v

        def __lt__(s, o):
            return s.v < o.v

    return x + (A(1) <= A(2))


@case(None, None)
def initsub(x):
    class Base:
        reg = []

        def __init_subclass__(cls, **k):
            Base.reg.append(cls.__name__)

    class A(Base):
        pass

    return x + len(Base.reg)


@case(1, None)
def scope(x):
    y = 1

    class A:
        y = 2

        def f(self):
            return y

        z = y + 1
        w = [i for i in range(3)]

    return x + A().f() + A.z + len(A.w)


@case(graphs=None)
def abstract_classes_make_no_instances(x):
    class Base(abc.ABC):
        @property
        @abc.abstractmethod
        def size(self): ...

        @abc.abstractmethod
        def run(self): ...

    class Half(Base):
        size = 3

    class Whole(Half):
        def run(self):
            return 2

    y = x + 1
    try:
        Base()
    except TypeError:
        y = y * 2
    try:
        Half()
    except TypeError:
        y = y * 2
    return y + Whole().size + Whole().run()


@case(1, 2)
def named_tuple_class_with_defaults(x):
    pair = collections.namedtuple("pair", ["left", "right"], defaults=[3])
    made = pair(x)
    return made.left + made._replace(right=4).right + made.right, pair._fields, pair._field_defaults
