"""Attributes of objects: descriptors, hooks, properties, slots, caches, dicts, bound methods."""

from __future__ import annotations

import collections
import functools
import types

import torch

from tests.capture.cases.objects.class_creation import D
from tests.capture.cases.objects.classes import Node
from tests.capture.cases.registry import case


class NonData:
    def __get__(self, obj, cls):
        return 5 if obj is None else obj.scale


class HasNonData:
    value = NonData()

    def __init__(self):
        self.scale = 4


@case(1, 2)
def non_data_descriptor(x):
    h = HasNonData()
    y = x * h.value
    h.__dict__["value"] = 9
    return y + h.value, HasNonData.value


class Recording:
    def __init__(self, k):
        object.__setattr__(self, "log", [])
        self.k = k

    def __getattribute__(self, name):
        value = object.__getattribute__(self, name)
        if name == "k":
            object.__getattribute__(self, "log").append(name)
        return value

    def __setattr__(self, name, value):
        self.log.append(("set", name))
        super().__setattr__(name, value)

    def __delattr__(self, name):
        self.log.append(("del", name))
        super().__delattr__(name)


@case(1, 1)
def attribute_hooks(x):
    r = Recording(2)
    y = x * r.k
    del r.k
    return y, r.log


@case(1, 1, lambda: (torch.ones(2), Recording(3)))
def attribute_hooks_existing(x, r):
    r.k = r.k + 1
    return x + r.k, r.log


class Celsius:
    def __init__(self, degrees):
        self._degrees = degrees

    @property
    def degrees(self):
        return self._degrees

    @degrees.setter
    def degrees(self, value):
        if value < -273:
            raise ValueError("too cold")
        self._degrees = value

    @degrees.deleter
    def degrees(self):
        self._degrees = 0


@case(1, 1)
def property_set_delete(x):
    c = Celsius(5)
    c.degrees += 1
    seen = c.degrees
    del c.degrees
    try:
        c.degrees = -300
    except ValueError as error:
        text = str(error)
    return x + seen, c.degrees, text


@case(1, 1)
def property_without_setter(x):
    class_with = functools.partial(getattr, WithReadOnly())
    try:
        WithReadOnly().size = 3
    except AttributeError as error:
        return x + class_with("size"), str(error)
    return x


class WithReadOnly:
    @property
    def size(self):
        return 2


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class SlottedChild(Slotted):
    __slots__ = ("c",)


@case(1, 1)
def slots(x):
    s = SlottedChild(2)
    s.c = 3
    try:
        s.missing = 1
    except AttributeError as error:
        text = str(error)
    try:
        s.b
    except AttributeError as error:
        missing = str(error)
    del s.c
    return x + s.a, hasattr(s, "c"), hasattr(s, "b"), text, missing


@case(1, 1, lambda: (torch.ones(2), SlottedChild(4)))
def slots_existing(x, s):
    s.b = s.a + 1
    return x + s.b, s.b


class LazyAttributes:
    def __init__(self):
        self.calls = 0

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"private {name}")
        self.calls += 1
        value = len(name)
        setattr(self, name, value)
        return value


@case(1, 1)
def getattr_caches(x):
    l = LazyAttributes()
    y = x * l.abc + 0 if False else x * l.abc
    return y, l.abc, l.calls, getattr(l, "_x", None), hasattr(l, "_y")


@case(1, 1, lambda: (torch.ones(2), LazyAttributes()))
def getattr_existing(x, l):
    return x * l.scale, l.scale, l.calls


class Cached:
    def __init__(self, t):
        self.t = t
        self.computed = 0

    @functools.cached_property
    def total(self):
        self.computed += 1
        return self.t.sum()


@case(1, 2)
def cached_property_once(x):
    c = Cached(x)
    return c.total + c.total, c.computed


@case(1, 2, lambda: (torch.ones(2), Cached(torch.ones(3))))
def cached_property_existing(x, c):
    return x + c.total, c.computed


@case(1, 1)
def class_attribute_store(x):
    Counter_.count = Counter_.count + 1
    got = Counter_.count
    Counter_.count = 0
    return x + got


class Counter_:
    count = 0


@case(1, 1)
def getattr_setattr_forms(x):
    d = D()
    setattr(d, "attr", 5)
    a = getattr(d, "attr")
    b = getattr(d, "nope", "default")
    delattr(d, "attr")
    c = hasattr(d, "attr")
    return x + a, b, c, getattr(x, "shape")[0], getattr(torch, "float32"), getattr(d, "who")()


@case(1, 1)
def instance_dict(x):
    n = Node(2)
    n.__dict__["extra"] = 5
    n.__dict__.update(value=4)
    return x * n.extra, sorted(n.__dict__), n.value, "next" in n.__dict__


@case(None, None)
def vars_of_object(x):
    n = Node(2)
    return x * 2, vars(n)


class Property2:
    def __init__(self, fget):
        self.fget = fget

    def __get__(self, obj, cls=None):
        return self.fget(obj)


class UsesProperty2:
    k = 4

    @Property2
    def twice(self):
        return self.k * 2

    @staticmethod
    def helper(x):
        return x + 1

    alias = helper


@case(1, 2)
def custom_property(x):
    u = UsesProperty2()
    return u.alias(x * u.twice)


class Bound:
    def __init__(self):
        self.method = self.scale
        self.func = lambda x: x + 10

    def scale(self, x):
        return x * 2


@case(1, 2)
def methods_in_attributes(x):
    b = Bound()
    return b.func(b.method(x)), b.method == b.scale, b.method.__func__ is Bound.scale, b.method.__self__ is b


@case(1, 1, lambda: (torch.ones(2), Bound().scale))
def bound_method_argument(x, method):
    return method(x)


@case(1, 1)
def unbound_method_call(x):
    return Bound.scale(Bound(), x)


class Kept:
    def __init__(self):
        self.a = 1
        self.b = 2
        self.log = []

    def __delattr__(self, name):
        self.log.append(name)
        object.__delattr__(self, name)


def kept_and_namespace():
    torch.manual_seed(0)
    return torch.randn(3, 4), Kept(), types.SimpleNamespace(a=1, b=2)


@case(1, 1, kept_and_namespace)
def attributes_deleted_and_set_anew_come_last(x, kept, namespace):
    namespace.c = 3
    del namespace.a
    namespace.a = 5
    del kept.a
    kept.a = 7
    del kept.b
    return x + 1, list(vars(namespace)), list(vars(kept)), vars(namespace), vars(kept)


@case(1, 1)
def operators_of_counters(x):
    c, d = collections.Counter([3, 1, 3]), collections.Counter({3: 1, 5: 2})
    return x + 1, c - d, c + d, c & d, c | d, c == d, sorted(c.items())


class StandsFor:
    """Claims to be of the class of another object."""

    def __init__(self, held):
        self.held = held

    @property
    def __class__(self):
        return type(self.held)

    def __getattr__(self, name):
        return getattr(self.held, name)


STANDING = StandsFor([1]), StandsFor(torch.ones(3))


@case(graphs=1, ops=1)
def class_that_an_object_tells(x):
    items, tensor = STANDING
    told = [o.__class__ for o in (items, tensor)], [type(o).__name__ for o in (items, tensor)]
    return x + 1, told, isinstance(items, list), isinstance(tensor, torch.Tensor), isinstance(items, dict)


class Watched:
    seen: list = []
    scale = 2

    def __getattribute__(self, name):
        Watched.seen.append(name)
        return super().__getattribute__(name)


class WatchedList(list):
    __getattribute__ = Watched.__getattribute__


WATCHED = Watched(), WatchedList([1])


@case(graphs=1, ops=1)
def nobody_else_reads_attributes(x):
    watched, items = WATCHED
    Watched.seen.clear()
    return x * watched.scale, len(items), list(Watched.seen)


class Annotated:
    first: int = 1


class AnnotatedBelow(Annotated):
    second: str


class NotAnnotated(Annotated):
    pass


NotAnnotated.__annotations__  # reading them makes them


@case(graphs=1, ops=1)
def annotations_of_classes(x):
    below = AnnotatedBelow.__annotations__
    return x + len(Annotated.__annotations__), list(below), len(NotAnnotated.__annotations__)


class Fails:
    def __get__(self, instance, owner):
        raise AttributeError("of the descriptor")


class NamesOfClasses(type):
    @property
    def fails(cls):
        raise AttributeError("of the metaclass")

    def __getattr__(cls, name):
        return f"class: {name}"


class Answering(metaclass=NamesOfClasses):
    described = Fails()

    @property
    def fails(self):
        return self.absent

    def __getattr__(self, name):
        if name == "absent":
            raise AttributeError("of the property")
        return f"instance: {name}"


class Layer(torch.nn.Module):
    @property
    def fails(self):
        return self.absent


class Unanswered:
    @property
    def fails(self):
        raise AttributeError("of the property")


@case(1, 1)
def properties_that_fail_ask_for_the_attribute(x):
    found = [Answering().fails, Answering().described, Answering.fails, hasattr(Layer(), "fails")]
    for value in (Layer(), Unanswered()):
        try:
            found.append(value.fails)
        except AttributeError as error:
            found.append(str(error))
        found.append(getattr(value, "fails", "none"))
    return x + 1, found
