"""Metaclasses, inheritance, `__new__`, abstract classes, protocols, generics."""

from __future__ import annotations

import abc
import typing
from typing import Generic, Protocol, TypeVar

import torch

from tests.capture.cases.objects.dunders import V
from tests.capture.cases.registry import case


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


@case(1, 1, args=lambda: (torch.ones(3), WithMeta, torch.nn.Parameter))
def classes_are_instances_of_metaclasses(x, cls, other):
    of_tensors = [torch.is_tensor(value) for value in (other, [x], None, 2.5, x)]
    return (
        x + isinstance(cls, Meta),
        isinstance(other, (torch.Tensor, Meta)),
        isinstance(cls, type),
        of_tensors,
    )
