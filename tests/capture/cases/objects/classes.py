"""Objects: dataclasses, enums, linked nodes, references, copies, subclasses of built-in classes."""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import types
import typing
import weakref

import torch

from tests.capture.cases.objects.class_creation import A, B, C, D
from tests.capture.cases.registry import case


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
    """Like the outputs of transformers: a dataclass and a dict."""

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
def identity_of_new_objects(x):
    a, b = Node(1), Node(1)
    return x + 1, a is b, a == b, a is a, [a, b].index(b), a in [b], a != b


class Copied:
    def __init__(self, factor):
        self.factor = factor

    def bare_copy(self):
        made = self.__new__(type(self))
        made.factor = self.factor + 1
        return made


@case(graphs=1, ops=1)
def new_is_found_on_the_instance(x):
    return x * Copied(3).bare_copy().factor
