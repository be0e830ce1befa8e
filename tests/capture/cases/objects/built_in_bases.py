"""Subclasses of built-in classes, methods bound to foreign objects, errors that classes raise."""

from __future__ import annotations

import collections
import copy
import functools
import operator

import torch

import capture
from tests.capture.cases.language.errors import outcome
from tests.capture.cases.registry import case


class Queue(collections.deque):
    pass


class Ordered(collections.OrderedDict):
    pass


class Defaults(collections.defaultdict):
    pass


@case(graphs=None)
def operators_that_keep_the_class(x):
    made = [
        Queue([1]) * 2,
        Queue([1]) + Queue([2]),
        Queue([1]).copy(),
        Ordered(a=1) | {"b": 2},
        {} | Ordered(),
    ]
    made += [Defaults(list) | {}, Ordered() | Ordered()]
    return made, [type(value).__name__ for value in made], x + 1


@case(ops=1)
def made_anew(x):
    queue = Queue([1, 2])
    queue.__init__([3])
    return queue, x + 1


@case(ops=1)
def functions_bound_to_nothing(x):
    def method(self):
        return self

    return (
        method.__get__(None, int) is method,
        method.__get__(3)(),
        outcome(lambda: method.__get__(None)),
        x + 1,
    )


class Partial:
    def all(self, *args):
        return args

    first = functools.partialmethod(all, 1)


@case(ops=1)
def a_partial_method_of_the_class(x):
    return Partial().first(2), Partial.first(Partial(), 3), x + 1


@case(graphs=None)
def annotations_of_made_functions(x):
    def wrapped(a: int):
        pass

    def wrapper(b: str):
        pass

    def plain():
        pass

    functools.update_wrapper(wrapper, wrapped)
    plain.__annotations__["c"] = float
    capture.graph_break()
    return wrapper.__annotations__ is wrapped.__annotations__, plain.__annotations__, wrapper.__name__, x + 1


class BadText:
    def __str__(self):
        return 1

    def __repr__(self):
        return 2


class BadInit:
    def __init__(self):
        return 3


class GivesMore:
    def __init__(self, value):
        object.__init__(self, value)


class Plain:
    pass


@case(ops=1)
def what_classes_refuse(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: Plain(1),
            lambda: Plain(a=1),
            lambda: Plain().__init__(3),
            lambda: GivesMore(1),
            lambda: BadInit(),
            lambda: str(BadText()),
            lambda: repr(BadText()),
            lambda: f"{BadText()}",
            lambda: getattr(Plain(), 3),
            lambda: setattr(Plain(), 3, 4),
            lambda: hasattr(3, 4),
        )
    ]


class Eight(int):
    def __index__(self):
        return 8


@case(ops=1)
def a_number_of_a_class_on_top_of_int(x):
    return list(range(10))[Eight(7)], [].append.__qualname__, {}.get.__name__, x + 1


class Scaled:
    scale = 1


class ScaledMore(Scaled):
    pass


@case(graphs=None)
def class_attributes_set_and_read_through_others(x):
    Scaled.scale = 3
    read = Scaled.scale, Scaled().scale, ScaledMore().scale, ScaledMore.scale
    ScaledMore.__len__ = lambda self: 7
    lengths = len(ScaledMore()), bool(ScaledMore())
    Scaled.scale = 1
    del ScaledMore.__len__
    return read, lengths, x * Scaled().scale


class TupleOnTop(tuple):
    pass


class FrozenOnTop(frozenset):
    pass


class ListOnTop(list):
    pass


@case(ops=1)
def what_immutable_instances_give(x):
    pair, frozen, items = TupleOnTop((1, 2)), FrozenOnTop([1]), ListOnTop([1])
    same = items
    same += [2]
    kinds = type(pair[:]), type(pair * 1), type(pair.__add__(())), type(frozen.copy()), type(same)
    return kinds, pair[:] is pair, frozen.copy() is frozen, same is items, items.__iadd__([3]) is items, x + 1


@case(ops=1)
def methods_of_other_classes(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: list.append((), 1),
            lambda: str.__add__(1, "a"),
            lambda: dict.__contains__([], 1),
            lambda: str.upper(3),
            lambda: tuple.__len__([]),
            lambda: list.__len__(ListOnTop([1])),
            lambda: dict.get(collections.OrderedDict(a=1), "a"),
            lambda: collections.deque([1, 2]).rotate("a"),
        )
    ]


@case(ops=1)
def methods_compare_by_their_owners(x):
    one, two = [], []
    return (
        one.append == one.append,
        one.append == two.append,
        one.append == one.pop,
        len.__class__,
        outcome.__class__,
        x + 1,
    )


@case(ops=1)
def more_than_object_takes(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: object.__new__(Plain, 3),
            lambda: Plain.__new__(Plain, 3),
            lambda: object.__new__(GivesMore, 3) and None,
            lambda: operator.index(Eight(7)),
            lambda: BlockingIOError().characters_written,
        )
    ]


class LoggedDefaults(collections.defaultdict):
    log: list = []

    def __init__(self, *args):
        self.log.append(len(args))
        super().__init__(*args)

    def __copy__(self):
        self.log.append("copy")
        return super().__copy__()

    def update(self, *args):
        self.log.append("update")
        super().update(*args)

    def __setitem__(self, key, value):
        self.log.append(("set", key))
        super().__setitem__(key, value)


@case(1, 1)
def copies_and_unions_of_a_defaultdict(x):
    LoggedDefaults.log.clear()
    held = LoggedDefaults(int, {"a": x})
    held["q"]
    made = held | {"b": 2}, {"c": 3} | held, held.copy(), copy.copy(held)
    kinds = [(type(m) is LoggedDefaults, m.default_factory is int) for m in made]
    return x + 1, [list(m.items()) for m in made], kinds, list(LoggedDefaults.log)


class LoggedQueue(collections.deque):
    log: list = []

    def __init__(self, *args):
        self.log.append(len(args))
        super().__init__(*args)

    def extend(self, items):
        self.log.append("extend")
        super().extend(items)


@case(1, 1)
def copies_and_sums_of_a_deque(x):
    LoggedQueue.log.clear()
    results = []
    for held in (LoggedQueue([1, x], 5), LoggedQueue([2])):
        made = held.copy(), held + held, held * 2, 2 * held, copy.copy(held)
        results.append([(type(m) is LoggedQueue, m.maxlen, list(m)) for m in made])
    return x + 1, results, outcome(lambda: LoggedQueue() + [1]), list(LoggedQueue.log)


class OwnMembers(set):
    """Iterates over other members than it has."""

    def __iter__(self):
        return iter([7])

    def __len__(self):
        return 0


def sets_of(own):
    made = set(own), frozenset(own), {1} | own, {1, 9} - own, {9}.union(own), {1}.issubset(own)
    return *made, list(own), sorted(own), len(own), bool(own), own == {1, 2}


@case(1, 1, args=lambda: (torch.ones(3), OwnMembers([1, 2])))
def sets_are_made_of_what_a_set_has(x, own):
    return x + 1, sets_of(own), sets_of(OwnMembers([1, 2]))


class Claims(dict):
    """Claims to have other keys."""

    asked: list = []

    def __contains__(self, key):
        Claims.asked.append(key)
        return True


@case(1, 1, args=lambda: (torch.ones(3), Claims(a=1)))
def lookups_ask_no_method_of_the_program(x, claims):
    Claims.asked.clear()
    return x + claims["a"], claims.get("b", 2), list(Claims.asked), "b" in claims, len(Claims.asked)


@case(1, 2)
def factory_of_a_defaultdict(x):
    held, plain = Defaults(list), collections.defaultdict(list)
    held.default_factory = plain.default_factory = int
    factories = Defaults().default_factory, held.default_factory, Defaults(str).default_factory
    return x + held["q"] + plain["q"], held, plain, factories


@case(graphs=None, args=lambda: (torch.ones(3), Defaults(int)))
def factory_of_an_argument_is_replaced(x, held):
    held.default_factory = list
    return x + 1, held["q"], held


@case(1, 1)
def repeated_in_place(x):
    made = collections.deque([1]), collections.deque([1, 2], 3), Queue([1, 2]), Queue([1, x], 3), [1]
    others = [*made]
    one, two, three, four, five = made
    one *= 3
    two *= 2
    three *= 0
    four *= 2
    five *= 2
    return x + 1, [list(m) for m in made], [m is o for m, o in zip((one, two, three, four, five), others)]


@case(1, 1)
def nothing_to_pop(x):
    kinds = dict, collections.OrderedDict, Ordered, Defaults
    return x + 1, [outcome(lambda kind=kind: kind().popitem()) for kind in kinds]


@case(graphs=None)
def attributes_of_immutable_classes(x):
    y = x + 1
    try:
        int.scale = 2
    except TypeError as error:
        return y * 2, str(error), hasattr(int, "scale")
