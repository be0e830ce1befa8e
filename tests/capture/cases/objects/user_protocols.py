"""User classes as contexts, iterators, sequences, mappings, ordered values."""

from __future__ import annotations

import functools

import torch

from tests.capture.cases.registry import case


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


class NoOperators:
    __hash__ = None
    __iter__ = None
    __contains__ = None
    __len__ = None

    def __getitem__(self, index):
        return [1, 2][index]


def message_of(ask):
    try:
        return ask(NoOperators())
    except TypeError as error:
        return str(error)


@case(ops=1)
def operators_that_the_class_forbids(x):
    """Python has texts of its own for three of them; for the others it tries to call None."""
    asked = [hash, iter, list, lambda v: {v: 1}, lambda v: 1 in v, lambda v: 1 not in v, len, lambda v: [*v]]
    return x + 1, [message_of(ask) for ask in asked], message_of(lambda v: v.__iter__())


class Shown:
    """It shows another class at each question."""

    def __init__(self, *classes):
        self.classes = list(classes)

    @property
    def __class__(self):
        if not self.classes:
            raise AttributeError("no more")
        return self.classes.pop(0)


@case(1, 1)
def instances_of_the_class_that_they_show(x):
    shown = Shown(int, float, float, 5)
    return x + 1, [isinstance(shown, kind) for kind in (int, int, (str, float), int, int, Shown)], type(shown)


class Sized:
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length


@case(1, 1)
def truth_of_lengths(x):
    found = []
    for length in (0, 2, True, -1, 1.0, "no number", 2**70):
        for ask in (bool, lambda value: not value, lambda value: value and 1):
            try:
                found.append(ask(Sized(length)) is True)
            except (TypeError, ValueError, OverflowError) as error:
                found.append(repr(error))
    return x + 1, found
