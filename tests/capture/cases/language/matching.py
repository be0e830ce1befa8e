"""The match statement on objects that are no built-in containers, and its errors."""

from __future__ import annotations

import array
import collections
import collections.abc

from tests.capture.cases.language.errors import outcome
from tests.capture.cases.registry import case


class Row(collections.abc.Sequence):
    def __init__(self, *items):
        self.items = items

    def __getitem__(self, index):
        return self.items[index]

    def __len__(self):
        return len(self.items)


def shape_of(value):
    match value:
        case []:
            return "empty"
        case [one]:
            return "one", one
        case [one, *more]:
            return "more", one, more
        case {"k": held, **rest}:
            return "mapping", held, rest
        case int(number):
            return "int", number
        case str():
            return "str"
    return None


@case(ops=1)
def sequences_and_mappings_of_all_kinds(x):
    values = [
        Row(),
        Row(1),
        Row(1, 2, 3),
        {"k": 3, "j": 4},
        collections.OrderedDict(k=1),
        collections.deque([1, 2]),
    ]
    values += [range(2), "ab", b"ab", 5, 4.0, (1,), collections.Counter("k"), collections.defaultdict(int)]
    return [shape_of(value) for value in values], x + 1


@case(graphs=None)
def an_array_is_a_sequence(x):
    return shape_of(array.array("b", b"ab")), x + 1


class Answers(dict):
    @staticmethod
    def get(key, default=None):
        return "answer"


@case(ops=1)
def a_mapping_with_its_own_get(x):
    match Answers(key=1):
        case {"key": value}:
            return value, x + 1


class Twice:
    __match_args__ = ("a", "a")
    a = None


class Once:
    __match_args__ = ("a",)
    a = None


class NotText:
    __match_args__ = (None,)


class NotTuple:
    __match_args__ = "ab"


class Bare:
    pass


class Number(int):
    pass


def parts_of(value):
    match value:
        case Twice(one, two):
            return 1
        case Once(one, a=two):
            return 2
        case NotText(one):
            return 3
        case NotTuple(one):
            return 4
        case Bare(one):
            return 5
        case Number(one):
            return 6, one
        case int(one, two):
            return 7


class Keys:
    NAME = "a"


def names_a_key_twice():
    match {"a": 0, "b": 1}:
        case {Keys.NAME: one, "a": two}:
            return one, two


@case(ops=1)
def patterns_that_classes_refuse(x):
    values = (Twice(), Once(), NotText(), NotTuple(), Bare(), Number(4), 5)
    return (
        [outcome(lambda value=value: parts_of(value)) for value in values],
        outcome(names_a_key_twice),
        x + 1,
    )
