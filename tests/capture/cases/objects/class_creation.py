"""Making of classes and objects: metaclasses, `__new__`, `__init_subclass__`, `__set_name__`."""

from __future__ import annotations

import abc
import typing

from tests.capture.cases.registry import case


class Meta(type):
    registry: list = []

    def __new__(mcs, name, bases, namespace):
        cls = super().__new__(mcs, name, bases, namespace)
        mcs.registry.append(name)
        return cls

    @property
    def label(cls):
        return f"<{cls.__name__}>"

    def size(cls):
        return len(cls.__name__)

    def __len__(cls):
        return 7

    def __getitem__(cls, key):
        return (cls.__name__, key)

    def __iter__(cls):
        return iter([1, 2, 3])

    def __contains__(cls, item):
        return item == "here"


class WithMeta(metaclass=Meta):
    unit = 2

    def __init__(self, k):
        self.k = k


@case(1, 1)
def metaclass_instance(x):
    return x * WithMeta(3).k, WithMeta.unit


@case(1, 1)
def metaclass_property(x):
    return x + len(WithMeta.label)


@case(1, 1)
def metaclass_method(x):
    return x + WithMeta.size()


@case(1, 1)
def metaclass_operators(x):
    return x + len(WithMeta), WithMeta["a"], list(WithMeta), "here" in WithMeta


class Tracked:
    def __new__(cls, value):
        made = super().__new__(cls)
        made.tag = "new"
        return made

    def __init__(self, value):
        self.value = value


@case(1, 1)
def user_new(x):
    t = Tracked(x + 1)
    return t.value, t.tag


@case(1, 1)
def new_without_init(x):
    t = Tracked.__new__(Tracked, 1)
    return x + len(t.tag), hasattr(t, "value")


@case(1, 1)
def object_new(x):
    t = object.__new__(Tracked)
    t.value = x + 1
    return t.value


class Plugin:
    names: list = []

    def __init_subclass__(cls, tag="none", **kwargs):
        super().__init_subclass__(**kwargs)
        cls.tag = tag
        Plugin.names.append(cls.__name__)


class Alpha(Plugin, tag="alpha"):
    pass


@case(1, 1)
def init_subclass_attribute(x):
    return x + len(Alpha.tag), Alpha().tag, Plugin.names


class Named:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, obj, cls):
        return self if obj is None else obj.__dict__.get(self.name, 0)

    def __set__(self, obj, value):
        obj.__dict__[self.name] = value


class HasNamed:
    first = Named()
    second = Named()


@case(1, 1)
def set_name_descriptors(x):
    h = HasNamed()
    h.first = 3
    return x + h.first, h.second, vars(h) if False else h.__dict__


class A:
    def who(self):
        return ["A"]

    @classmethod
    def make(cls):
        return cls.__name__

    @staticmethod
    def plain(k):
        return k + 1


class B(A):
    def who(self):
        return ["B", *super().who()]

    @classmethod
    def make(cls):
        return "B:" + super().make()


class C(A):
    def who(self):
        return ["C", *super().who()]

    @staticmethod
    def plain(k):
        return A.plain(k) * 2


class D(B, C):
    def who(self):
        return ["D", *super(D, self).who()]

    @property
    def all(self):
        return super().who() + [len(super().who())]


@case(1, 1)
def diamond_super(x):
    d = D()
    return x + len(d.who()), d.who(), D.make(), d.make(), d.plain(1), D.plain(2), d.all, super(B, d).who()


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...

    @classmethod
    def __subclasshook__(cls, other):
        return NotImplemented


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2


@case(1, 1)
def abstract_base(x):
    s = Square(x)
    return s.area(), isinstance(s, Shape), issubclass(Square, Shape)


@case(0, 0)
def abstract_instantiation(x):
    return Shape()


class Checks(type):
    def __instancecheck__(cls, obj):
        return obj == 3


class Three(metaclass=Checks):
    pass


@case(1, 1)
def user_instancecheck(x):
    return x + 1, isinstance(3, Three), isinstance(4, Three)


@case(None, None)
def class_made_inside(x):
    class Local:
        k = 3

        def f(self, t):
            return t * self.k

    return Local().f(x + 1)


@case(None, None)
def type_call_inside(x):
    made = type("Made", (), {"k": 4})
    return x * made.k


class Generic_(typing.Generic[typing.TypeVar("T")]):
    def __init__(self, item):
        self.item = item


@case(1, 1)
def generic_class(x):
    return x + Generic_(3).item, Generic_[int](4).item


class Proto(typing.Protocol):
    def run(self, x): ...


class Runs:
    def run(self, x):
        return x * 3


@case(1, 1)
def typing_helpers(x):
    r: Proto = Runs()
    y = typing.cast(Proto, r).run(x)
    typing.TYPE_CHECKING
    k: typing.Optional[int] = None
    return y, k


def body_of_a_class():
    size = 3
    return size


@case(graphs=None)  # each call makes another class
def class_made_by_hand(x):
    cls = __build_class__(body_of_a_class, "Made")
    return x + 1, cls.__name__
