"""The classes of iterators, and iterators that advance after the graph."""

from __future__ import annotations

import collections
import itertools
import types

from tests.capture.cases.registry import case, show


@case(1, 1)
def classes_of_iterators(x):
    d = {"a": 1, "b": 2}
    ordered = collections.OrderedDict(d)
    proxy = types.MappingProxyType(d)
    made = [
        iter("abc"),
        iter(b"ab"),
        reversed("ab"),
        iter(d),
        iter(d.values()),
        reversed(d),
        reversed(d.items()),
    ]
    made += [
        reversed(d.values()),
        iter(ordered),
        reversed(ordered),
        iter({1, 2}),
        iter(frozenset([1])),
        iter(()),
    ]
    made += [reversed([]), iter(range(2)), iter(proxy), reversed(proxy), iter(collections.deque([1]))]
    return x + 1, [type(iterator).__name__ for iterator in made]


@case(1, 1)
def half_done_iterators_returned(x):
    d = {"a": 1, "b": 2, "c": 3}
    made = [iter(d), reversed(d), iter("abc"), reversed("abc"), iter({1, 2, 3}), reversed(d.items())]
    for iterator in made:
        next(iterator)
    return x + 1, [(type(iterator), iterator) for iterator in made]


@case(1, 1)
def half_done_iterators_behind_a_break(x):
    d = {"a": 1, "b": 2, "c": 3}
    made = [iter(d), reversed(d), iter("abc"), reversed("abc"), iter({1, 2, 3}), reversed(d.items())]
    for iterator in made:
        next(iterator)
    show("broken")
    return x + 1, [(type(iterator).__name__, list(iterator)) for iterator in made]


@case(1, 1)
def dict_changed_under_a_reversed_iterator(x):
    d = {"a": 1, "b": 2}
    try:
        for key in reversed(d):
            d[key + "x"] = 1
    except RuntimeError as error:
        return x + 1, str(error)


@case(1, 1)
def readers_of_tee(x):
    first, second = itertools.tee([1, 2])
    return (
        x + next(first),
        type(first).__name__,
        list(second),
        isinstance(first, itertools.tee([])[0].__class__),
    )


class Described:
    def __bytes__(self):
        return b"by"

    def __dir__(self):
        return ["z", "a"]


@case(1, 1)
def bytes_and_names_of_an_object(x):
    return x + 1, bytes(Described()), dir(Described())


@case(1, 1)
def generator_left_in_an_except_clause(x):
    def numbers():
        try:
            yield 1
        except ValueError as error:
            yield str(error)

    iterator = numbers()
    next(iterator)
    return x + 1, iterator.throw(ValueError("v"))


@case(1, 1)
def slices_of_wrong_length(x):
    texts = []
    for args in ((), (1, 2, 3, 4)):
        try:
            slice(*args)
        except TypeError as error:
            texts.append(str(error))
    return x + 1, texts


class Restarts:
    """Each `iter()` of it begins anew."""

    def __init__(self, end):
        self.end = end

    def __iter__(self):
        self.at = 0
        return self

    def __next__(self):
        if self.at == self.end:
            raise StopIteration
        self.at += 1
        return self.at


class OnlyNext:
    def __init__(self):
        self.at = 0

    def __next__(self):
        self.at += 1
        if self.at > 3:
            raise StopIteration
        return self.at


class Holds:
    def __iter__(self):
        return OnlyNext()


@case(ops=1)
def a_list_of_the_rest(x):
    first, *rest = Restarts(3)
    *front, last = Restarts(2)
    try:
        one, *others = Holds()
    except TypeError as error:
        others = str(error)
    return x + 1, first, rest, front, last, others


class Counted:
    def __init__(self, length, hint):
        self.length, self.hint, self.asked = length, hint, []

    def __iter__(self):
        self.asked.append("iter")
        return iter((2, 1))

    def __len__(self):
        self.asked.append("len")
        return answer(self.length)

    def __length_hint__(self):
        self.asked.append("hint")
        return answer(self.hint)


class CountedList(list):
    def __len__(self):
        raise KeyError("length")


def answer(value):
    if isinstance(value, type):
        raise value("no answer")
    return value


LENGTHS = (
    (2, 9),
    (TypeError, 3),
    (TypeError, "three"),
    (KeyError, 2),
    (-1, 2),
    (TypeError, -1),
    (TypeError, TypeError),
)


@case(1, 1)
def length_asked_by_lists(x):
    takers = (
        list,
        tuple,
        sorted,
        set,
        sum,
        lambda items: [*items],
        lambda items: [0].extend(items),
        lambda items: [0].__setitem__(slice(0, 1), items),
    )
    found = []
    for length, hint in LENGTHS:
        for take in takers:
            items = Counted(length, hint)
            try:
                found.append(take(items))
            except (TypeError, KeyError, ValueError) as error:
                found.append(repr(error))
            found.append(items.asked)
    try:
        list(CountedList([1, 2]))
    except KeyError as error:
        found.append(repr(error))
    return x + 1, found
