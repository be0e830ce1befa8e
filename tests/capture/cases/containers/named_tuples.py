"""Named tuples: their class methods, methods of the program, and texts."""

from __future__ import annotations

import collections
import typing

import torch

from tests.capture.cases.registry import case, show

Pair = collections.namedtuple("Pair", "a b")


class Typed(typing.NamedTuple):
    a: typing.Any
    b: int = 2

    @classmethod
    def make(cls, value):
        return cls(value, 3)

    @staticmethod
    def double(value):
        return value * 2

    def total(self):
        return self.a + self.b

    @property
    def twice(self):
        return self.a * 2


class Derived(Pair):
    @classmethod
    def build(cls, value):
        return cls(value, value)

    @classmethod
    def _make(cls, values):
        return super()._make([*values][::-1])

    def _replace(self, **kwargs):
        return ("replaced", kwargs)

    def __str__(self):
        return "derived"


@case(1, 1)
def class_methods_of_the_class(x):
    made = Typed.make(3)
    return x + made.a * made.b, made, Typed.double(4), Typed._fields, Typed._field_defaults


@case(1, 2)
def class_methods_of_an_instance(x):
    one = Typed(1)
    other = one.make(x + 1)
    return other, one.double(3), other.total(), one.twice, one._make([3, 4]), type(one)._make([5, 6])


@case(1, 1, args=lambda: (torch.ones(3), Typed(1, 4)))
def class_methods_of_an_argument(x, pair):
    return x + 1, pair.make(2), pair._replace(a=x), pair._asdict(), pair.__class__.make(7), type(pair)(1)


@case(1, 1)
def own_make_and_replace(x):
    made = Derived._make([x + 1, 2])
    return made, made._replace(b=1), Derived.build(4), Derived(1, 2)._make([3, 4])


@case(1, 1)
def texts(x):
    return x + 1, str(Pair(1, "b")), repr(Typed(1)), f"{Derived(1, 2)}", repr(Derived(1, 2))


@case(1, 1)
def refused_fields(x):
    texts = []
    for attempt in (lambda: Pair(1, 2)._replace(c=1), lambda: Pair._make([1])):
        try:
            attempt()
        except (ValueError, TypeError) as error:
            texts.append(str(error))
    return x + 1, texts


@case(2, 2)
def made_by_its_own_make_in_front_of_a_break(x):
    made = Derived._make([x + 1, 2])
    show("a break")
    return made, made.b * 2
