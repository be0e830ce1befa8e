"""Classes: construction, attribute look-up, descriptors, operators, metaclasses, class bodies."""

from __future__ import annotations

import abc
import collections
import copy
import dataclasses
import enum
import functools
import types
import typing
import weakref

import torch

from tests.capture.registry import case


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


class Singleton:
    _instance = None

    def __new__(cls, *args):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance


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


class Formatted:
    def __init__(self, v):
        self.v = v

    def __format__(self, spec):
        return f"{spec}:{self.v}"

    def __str__(self):
        return "str"

    def __repr__(self):
        return "repr"


@case(1, 1)
def user_format(x):
    f = Formatted(2)
    return (
        x + f.v,
        f"{f:abc}",
        f"{f!s}",
        f"{f!r}",
        format(f, "zz"),
        "{:q} {}".format(f, f),
        f"{f}",
        str([f]),
        "%s %r" % (f, f),
    )


class Key:
    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return hash(self.n)

    def __eq__(self, other):
        return isinstance(other, Key) and self.n == other.n


@case(1, 1)
def user_hash_keys(x):
    d = {Key(1): 10, Key(2): 20}
    d[Key(1)] = 11
    return x + d[Key(1)], len(d), Key(2) in d, Key(3) in d, len({Key(1), Key(1)}), d.get(Key(5), -1)


@functools.total_ordering
class Version:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n

    def __lt__(self, other):
        return self.n < other.n


@case(1, 1)
def total_order(x):
    a, b = Version(1), Version(2)
    return x + (a < b), a >= b, b > a, max(a, b).n, [v.n for v in sorted([b, a])], a != b


class Money:
    def __init__(self, n):
        self.n = n

    def __iadd__(self, other):
        self.n += other
        return self

    def __isub__(self, other):
        return Money(self.n - other)

    def __neg__(self):
        return Money(-self.n)

    def __pos__(self):
        return self

    def __invert__(self):
        return Money(~self.n)

    def __abs__(self):
        return Money(abs(self.n))

    def __int__(self):
        return self.n

    def __float__(self):
        return float(self.n)

    def __index__(self):
        return self.n

    def __divmod__(self, other):
        return ("divmod", other)

    def __rsub__(self, other):
        return other - self.n

    def __pow__(self, e, mod=None):
        return Money(self.n**e)

    def __rmatmul__(self, other):
        return ("rmatmul", other)

    def __round__(self, digits=None):
        return ("round", digits)

    def __lshift__(self, other):
        return Money(self.n << other)

    def __ror__(self, other):
        return ("ror", other)

    def __trunc__(self):
        return 1


@case(1, 1)
def in_place_dunders(x):
    a = Money(1)
    b = a
    a += 2
    same = a is b
    a -= 1
    return x + a.n, b.n, same, a is b


@case(1, 1)
def unary_dunders(x):
    m = Money(3)
    return (
        x + (-m).n,
        (+m) is m,
        (~m).n,
        abs(-m).n,
        int(m),
        float(m),
        [1, 2, 3, 4][m],
        divmod(m, 2),
        10 - m,
        (m**2).n,
    )


@case(1, 1)
def more_dunders(x):
    m = Money(3)
    return x + (m << 1).n, "l" @ m, round(m), round(m, 2), 7 | m, range(10)[m], "ab" * 2


class Both:
    def __add__(self, other):
        return NotImplemented

    def __radd__(self, other):
        return ("radd", other)

    def __eq__(self, other):
        return NotImplemented

    __hash__ = None


@case(1, 1)
def not_implemented_falls_back(x):
    a, b = Both(), Both()
    try:
        a + b
    except TypeError as error:
        text = str(error)
    return x + 1, 3 + a, a == b, a != b, text


class Sized:
    def __len__(self):
        return 0


class Truthy:
    def __bool__(self):
        return False


@case(1, 1)
def truth_by_dunders(x):
    return x + bool(Sized()) + 0 if Sized() else x + 1, not Truthy(), 1 if Truthy() else 2


class CountDown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


class OldStyle:
    def __getitem__(self, i):
        if i >= 3:
            raise IndexError(i)
        return i * 2


class Reversible:
    def __len__(self):
        return 3

    def __getitem__(self, i):
        return i + 1

    def __reversed__(self):
        yield from (9, 8)


@case(1, 3)
def user_iterator(x):
    for i in CountDown(3):
        x = x + i
    return x, list(CountDown(2)), next(CountDown(1)), next(CountDown(0), "end")


@case(1, 1)
def old_iteration_protocol(x):
    a, b, c = OldStyle()
    return x + (a + b + c), list(OldStyle()), 4 in OldStyle(), 5 in OldStyle(), list(reversed(Reversible()))


class Callable:
    def __init__(self, k):
        self.k = k

    def __call__(self, x, *args, scale=1, **kwargs):
        return x * self.k * scale + len(args) + len(kwargs)


@case(1, 4)
def user_call(x):
    c = Callable(2)
    return c(x, 1, 2, scale=3, z=1)


@case(1, 2)
def callable_mapped(x):
    double = Doubler()
    return list(map(double, [x, x])), callable(double), callable(Sized())


class Doubler:
    def __call__(self, x):
        return x * 2


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
def type_and_class(x):
    d = D()
    return (
        x + 1,
        type(d) is D,
        d.__class__ is D,
        type(d).__name__,
        D.__mro__[1] is B,
        type(d).__bases__ == (B, C),
        D.__qualname__,
    )


@case(1, 1)
def isinstance_forms(x):
    d = D()
    return (
        x + 1,
        isinstance(d, (int, A)),
        isinstance(d, int | A),
        isinstance(3, typing.Union[int, str]) if False else True,
        isinstance(True, int),
        issubclass(D, (B, str)),
        isinstance(x, torch.Tensor) and not isinstance(x, torch.nn.Parameter),
        isinstance(D, type),
        isinstance([], collections.abc.Sequence),
        isinstance(len, types.BuiltinFunctionType),
        isinstance(lambda: 0, types.FunctionType),
    )


class Checks(type):
    def __instancecheck__(cls, obj):
        return obj == 3


class Three(metaclass=Checks):
    pass


@case(1, 1)
def user_instancecheck(x):
    return x + 1, isinstance(3, Three), isinstance(4, Three)


@case(1, 1)
def getattr_setattr_forms(x):
    d = D()
    setattr(d, "attr", 5)
    a = getattr(d, "attr")
    b = getattr(d, "nope", "default")
    delattr(d, "attr")
    c = hasattr(d, "attr")
    return x + a, b, c, getattr(x, "shape")[0], getattr(torch, "float32"), getattr(d, "who")()


class Node:
    def __init__(self, value, next_=None):
        self.value = value
        self.next = next_


@case(1, 3)
def linked_list(x):
    head = Node(1, Node(2, Node(3)))
    while head is not None:
        x = x + head.value
        head = head.next
    return x


@case(1, 1)
def returned_objects_keep_identity(x):
    shared = Node(x + 1)
    return [shared, shared], Node(shared, shared)


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


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int
    b: torch.Tensor = None
    c: typing.Tuple[int, ...] = (1, 2)

    def __post_init__(self):
        object.__setattr__(self, "derived", self.a * 2)


@case(1, 1)
def frozen_dataclass(x):
    f = Frozen(2, x)
    try:
        f.a = 3
    except dataclasses.FrozenInstanceError as error:
        text = str(error)
    return f.b * f.derived, f.c, text


@dataclasses.dataclass(order=True)
class Ranked:
    rank: int
    name: str = dataclasses.field(default="n", compare=False)
    tags: list = dataclasses.field(default_factory=list, repr=False)


@case(1, 1)
def ordered_dataclass(x):
    a, b = Ranked(1), Ranked(2, "b")
    return x + (a < b), a == Ranked(1, "other"), sorted([b, a])[0].name, repr(b), a.tags is b.tags


@case(1, 1)
def dataclass_functions(x):
    a = Ranked(1, "z", [3])
    fields = [f.name for f in dataclasses.fields(a)]
    b = dataclasses.replace(a, rank=5)
    return x + b.rank, fields, dataclasses.asdict(a), dataclasses.is_dataclass(a), b.tags is a.tags


@dataclasses.dataclass
class Output(collections.OrderedDict):
    """As the outputs of transformers: a dataclass and a dict."""

    loss: typing.Optional[torch.Tensor] = None
    logits: typing.Optional[torch.Tensor] = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __getitem__(self, k):
        if isinstance(k, str):
            return dict(self.items())[k]
        return self.to_tuple()[k]

    def to_tuple(self):
        return tuple(self[k] for k in self.keys())


@case(1, 3)
def model_output(x):
    out = Output(logits=x + 1)
    return out[0] * 2, out["logits"] * 3, out.loss, list(out), len(out)


@case(1, 1)
def model_output_returned(x):
    return Output(logits=x + 1)


class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()
    AB = A | B


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5

    @property
    def double(self):
        return self.value * 2

    def scaled(self, k):
        return self * k

    @classmethod
    def default(cls):
        return cls.HIGH


class Kind(str, enum.Enum):
    RELU = "relu"
    TANH = "tanh"


@case(1, 1)
def enum_flags(x):
    f = Flags.A | Flags.B
    return (
        x + len(Flags.__members__),
        f == Flags.AB,
        Flags.A in f,
        bool(f & Flags.A),
        f.name,
        (~Flags.A).value,
        f ^ Flags.A,
    )


@case(1, 1)
def int_enum(x):
    return (
        x * Level.HIGH,
        Level.LOW + 1,
        Level.HIGH.double,
        Level.LOW.scaled(3),
        Level(5),
        Level["LOW"] < Level.HIGH,
        Level.default(),
    )


@case(1, 4)
def enum_iteration(x):
    for level in Level:
        x = x + level
    return x * len(Level) + 1, [k.name for k in Kind], {k: k.value for k in Kind}


@case(1, 1)
def str_enum_dispatch(x):
    table = {Kind.RELU: torch.relu, Kind.TANH: torch.tanh}
    return (
        table[Kind("relu")](x),
        Kind.RELU == "relu",
        Kind.TANH.upper(),
        isinstance(Kind.RELU, str),
        Kind("tanh") is Kind.TANH,
    )


@case(1, 1)
def enum_as_key_and_error(x):
    try:
        Level(77)
    except ValueError as error:
        return x + 1, str(error)


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


@case(1, 1)
def weak_reference(x):
    n = Node(2)
    r = weakref.ref(n)
    return x * n.value, r() is n if False else True


GLOBAL_NODE = Node(3)
GLOBAL_REF = weakref.ref(GLOBAL_NODE)


@case(1, 1)
def weak_reference_existing(x):
    return x * GLOBAL_REF().value


@case(1, 1)
def copied_objects(x):
    n = Node([1, 2], 5)
    s = copy.copy(n)
    d = copy.deepcopy(n)
    s.value.append(3)
    return x * len(n.value), d.value, s.next, s is n


@case(1, 1)
def deepcopy_containers(x):
    a = {"k": [1, (2, [3])], "t": 5}
    b = copy.deepcopy(a)
    b["k"].append(4)
    return x + len(a["k"]), b, copy.copy([1, 2]), copy.deepcopy((1, 2)), copy.copy({1}) == {1}


class MyList(list):
    def total(self):
        return sum(self)

    def append(self, item):
        super().append(item * 2)


@case(1, 1)
def list_subclass(x):
    m = MyList([1, 2])
    m.append(3)
    m.extra = "e"
    return x * m.total(), m, len(m), m[-1], m.extra, isinstance(m, list), m == [1, 2, 6]


class MyDict(dict):
    def __missing__(self, key):
        self[key] = key * 2
        return self[key]

    def __getattr__(self, name):
        if name.startswith("__") or not dict.__contains__(self, name):
            raise AttributeError(name)
        return self[name]


@case(1, 1)
def dict_subclass_missing(x):
    m = MyDict(a=1)
    return x + m["a"], m["bb"], dict(m), m.a, len(m), list(m.items())


@case(1, 2, lambda: (torch.ones(2), MyDict(a=1, t=torch.ones(2))))
def dict_subclass_existing(x, m):
    m["c"] = 3
    return x * m["a"] + m.t, m["c"], len(m)


class MyTuple(tuple):
    def first(self):
        return self[0]


class MyInt(int):
    def double(self):
        return self * 2


class MyStr(str):
    def shout(self):
        return self.upper() + "!"


@case(None, None)
def immutable_subclasses(x):
    return x * MyInt(3).double(), MyTuple((1, 2)).first(), MyStr("a").shout(), MyInt(3) + 1


class Mixed(typing.NamedTuple):
    t: torch.Tensor
    k: int = 2

    def scaled(self):
        return self.t * self.k

    @property
    def both(self):
        return self.k, self.k


@case(1, 2)
def named_tuple_methods(x):
    m = Mixed(x)
    t, k = m
    return (
        m.scaled(),
        m.both,
        m._fields,
        Mixed._make([x, 3]).scaled(),
        k,
        m.index(2) if False else 0,
        m == m,
        len(m),
    )


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


class Context:
    def __init__(self, log, name):
        self.log, self.name = log, name

    def __enter__(self):
        self.log.append(f"+{self.name}")
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(f"-{self.name}:{kind.__name__ if kind else None}")
        return False


@case(1, 2)
def nested_user_contexts(x):
    log = []
    with Context(log, "a") as a, Context(log, "b"):
        x = x + len(a.name)
        with Context(log, "c"):
            x = x * 2
    return x, log


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


class WithDel:
    def __init__(self, log):
        self.log = log

    def __del__(self):
        self.log.append("deleted")


@case(None, None)
def finalizer_runs(x):
    log = []
    w = WithDel(log)
    del w
    return x + 1, log


@case(1, 1)
def comparisons_chained_user(x):
    a, b, c = Version(1), Version(2), Version(3)
    return x + (a < b < c), a < c < b


@case(1, 1)
def identity_of_new_objects(x):
    a, b = Node(1), Node(1)
    return x + 1, a is b, a == b, a is a, [a, b].index(b), a in [b], a != b


class Matrix:
    def __init__(self, t):
        self.t = t

    def __matmul__(self, other):
        return Matrix(self.t @ other.t)

    def __getitem__(self, key):
        return self.t[key]

    def __setitem__(self, key, value):
        self.t = self.t.clone()
        self.t[key] = value

    def __delitem__(self, key):
        self.deleted = key

    def __rmul__(self, k):
        return Matrix(k * self.t)


@case(1, 6)
def matrix_wrapper(x):
    m = Matrix(x)
    p = 2 * (m @ Matrix(x.t()))
    p[0, 1] = 5
    del p["z"]
    return p[0], p.deleted


@case(1, 1)
def tensor_and_object_operator(x):
    return (x * Matrix(x)).t
