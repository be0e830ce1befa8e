"""Enum members and flags."""

from __future__ import annotations

import enum

import torch

from tests.capture.cases.registry import case


class E(enum.Enum):
    A = 1
    B = "b"
    C = (1, 2)

    @property
    def low(self):
        return self.name.lower()

    @classmethod
    def default(cls):
        return cls.A

    def act(self, x):
        return x + 1 if self is E.A else x * 2


class IE(enum.IntEnum):
    X = 1
    Y = 2


class FL(enum.Flag):
    R = 1
    W = 2
    X = 4


class SE(str, enum.Enum):
    P = "p"
    Q = "q"


class AE(enum.Enum):
    ONE = enum.auto()
    TWO = enum.auto()


class CE(enum.Enum):
    S = (1, "one")

    def __init__(self, n, t):
        self.n = n
        self.t = t


class FnE(enum.Enum):
    @staticmethod
    def f(x):
        return x + 1

    K = 1


@case(ops=1)
def plain_enum(x):
    return (
        E.A.name,
        E.A.value,
        E("b"),
        E["C"],
        E.A is E.A,
        E.A == E.B,
        [m.name for m in E],
        len(E),
        E.A in E,
        E.A.low,
        E.default(),
        x + 1,
    )


@case(ops=2)
def enum_act(x):
    return E.A.act(x), E.B.act(x)


@case(ops=2)
def enum_keys(x):
    d = {E.A: x, E.B: x + 1}
    return d[E.A] * 2, E.A in d, list(d)


@case(ops=1)
def enum_branch(x):
    e = E.B
    if e == E.A:
        return x
    elif e is E.B:
        return x + 1
    return x * 3


@case(ops=2)
def intenum(x):
    return (
        IE.X + 1,
        x * IE.Y,
        IE.X < IE.Y,
        IE(2),
        IE.Y == 2,
        max(IE),
        x[IE.X],
        [1, 2, 3][IE.Y],
        range(IE.Y),
        f"{IE.X}",
        int(IE.X),
    )


@case(ops=1)
def flag(x):
    f = FL.R | FL.W
    return FL.R in f, FL.X in f, f & FL.R, f.value, bool(f & FL.X), ~FL.R, f ^ FL.R, x + 1


@case(ops=1)
def strenum(x):
    return (
        SE.P == "p",
        SE.P + "z",
        {"p": 1}[SE.P],
        SE("q"),
        SE.P.upper(),
        f"{SE.P}",
        isinstance(SE.P, str),
        x + 1,
    )


@case(ops=1)
def enum_more(x):
    return (
        AE.TWO.value,
        CE.S.n,
        CE.S.t,
        FnE.f(x),
        FnE.K.value,
        E.__members__["A"],
        list(E.__members__),
        repr(E.A),
        str(E.A),
        hash(E.A) == hash(E.A),
        type(E.A) is E,
        isinstance(E.A, E),
    )


@case(ops=1)
def enum_err(x):
    try:
        E("nope")
    except ValueError as e:
        r = str(e)
    try:
        E["zz"]
    except KeyError as e:
        q = str(e)
    return r, q, x + 1


@case(ops=1)
def enum_match(x):
    match E.B:
        case E.A:
            return x
        case E.B:
            return x + 1


@case(ops=1, args=lambda: (torch.randn(3, 4), E.A))
def enum_arg(x, e):
    return e.act(x), e.value, e


@case(ops=1, args=lambda: (torch.randn(3, 4), {E.A: 2, IE.X: 3}))
def enum_dict_arg(x, d):
    return x * d[E.A], d[1]


class Letter(str, enum.Enum):
    P = "p"


class Digit(enum.IntEnum):
    ONE = 1


@case(graphs=1, ops=2, args=lambda: (torch.ones(2), {"p": 3, 1: 5}, {"q": 1}))
def members_that_equal_the_keys_of_a_dict(x, d, other):
    return x * d[Letter.P] + d.get(Digit.ONE), Letter.P in d, Letter.P in other, Digit.ONE in d.keys()


class Walked(enum.Enum):
    ONE = 1
    TWO = 2

    def __iter__(self):
        yield self.name
        yield self.value


class Letters(str, enum.Enum):
    AB = "ab"

    def __iter__(self):
        return iter((1, 2))


@case(ops=1)
def items_of_members(x):
    both = FL.R | FL.W
    found = []
    try:
        found += [list(both), [flag.name for flag in both], tuple(both), [*FL(5)], set(both) == {FL.R, FL.W}]
        first, second = both
        found += [first, second, list(FL(0)), list(Walked.TWO), [*Walked.ONE], tuple(Letters.AB)]
    except TypeError as error:
        found.append(str(error))
    return x + 1, found
