"""Errors of built-in functions and operators, with CPython's texts; containers that change during a loop."""

from __future__ import annotations

import collections
import operator
import types

import torch

import capture
from tests.capture.cases.registry import case


def outcome(function):
    try:
        return function()
    except Exception as error:
        return type(error).__name__, str(error)


@case(ops=1)
def wrong_numbers_of_arguments(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: [x].append(x, x),
            lambda: [x].append(),
            lambda: [x].insert(1),
            lambda: [x].sort(2),
            lambda: [x].__getitem__(),
            lambda: list(x, x),
            lambda: map(),
            lambda: enumerate(),
            lambda: frozenset((), ()),
            lambda: {}.get(),
            lambda: {}.update(1, 2),
            lambda: {1}.add(),
            lambda: "a".join(),
            lambda: collections.deque(()).popleft(1),
            lambda: len(),
            lambda: list(key=1),
        )
    ]


@case(ops=1)
def wrong_values_of_arguments(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: [1].pop(5),
            lambda: [1].index(2),
            lambda: [1].remove(2),
            lambda: [1] + (2,),
            lambda: [1] < 1,
            lambda: [0] * 10**15,
            lambda: [1]["a"],
            lambda: (1,)["a"],
            lambda: (1,)[3],
            lambda: [1, 2][::0],
            lambda: [][1],
            lambda: {1: 2}[3],
            lambda: {}[1, 2],
            lambda: {1} | [2],
            lambda: "a" + 1,
            lambda: 1 in 2,
            lambda: next([]),
            lambda: iter(3),
            lambda: reversed(3),
            lambda: reversed({1}),
            lambda: len(reversed([1])),
            lambda: len(3),
            lambda: 3(),
            lambda: sum(["a"]),
            lambda: sorted([1, "a"]),
            lambda: dict([1]),
            lambda: dict([(1,)]),
            lambda: {[]},
            lambda: {[]: 1},
            lambda: divmod(1, 0),
            lambda: isinstance(1, 3),
        )
    ]


@case(ops=1)
def unpacked_arguments_that_are_none(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: {**3},
            lambda: [*3],
            lambda: len(*3),
            lambda: dict(**3),
            lambda: dict(**{1: 2}),
            lambda: outcome(*None),
        )
    ]


@case(ops=1)
def extend_keeps_what_came_before_the_error(x):
    def items():
        yield 1
        yield 2
        raise ValueError("third")

    result, queue = [0], collections.deque([0], 2)
    return (
        outcome(lambda: result.extend(items())),
        result,
        outcome(lambda: queue.extendleft(items())),
        queue,
        x + 1,
    )


@case(ops=1)
def parts_of_a_slice(x):
    class Index:
        def __index__(self):
            return 2

    items = list(range(6))
    items[Index() :] = (7, 8, 9)
    return (
        items,
        items[: Index()],
        items[:: Index()],
        outcome(lambda: items["a":]),
        outcome(lambda: items[::0]),
        x + 1,
    )


@case(ops=1)
def containers_inside_of_themselves(x):
    items = [1]
    items.append(items)
    table = {"a": items}
    table["self"] = table
    return repr(items), str(table), f"{(items,)}", x + 1


class Backwards:
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return index * 2


class Counts:
    def __init__(self, last):
        self.next, self.last = 0, last

    def __iter__(self):
        return self

    def __next__(self):
        self.next += 1
        if self.next > self.last:
            raise StopIteration
        return self.next


class NoIterator:
    def __iter__(self):
        return 5


@case(ops=1)
def iterators_of_classes(x):
    counts = Counts(3)
    backwards = reversed(Backwards())
    return (
        iter(counts) is counts,
        list(enumerate(counts)),
        type(backwards),
        list(backwards),
        outcome(lambda: iter(NoIterator())),
        x + 1,
    )


@case(graphs=2, ops=2)
def reversed_sees_what_changes(x):
    items = [1, 2, 3, 4]
    backwards = reversed(items)
    first = next(backwards)
    items[1] = 9
    items.append(5)
    y = x + 1
    capture.graph_break()
    rest = [next(backwards), next(backwards)]
    return first, rest, list(backwards), next(backwards, None), type(backwards).__name__, y, x + 2


def _list_and_iterator():
    items = [4, 5, 6]
    iterator = iter(items)
    next(iterator)
    return torch.ones(2), items, iterator


@case(ops=1, args=_list_and_iterator)
def an_iterator_over_a_list_that_changes(x, items, iterator):
    items[1:] = [7, 8, 9]
    first = next(iterator)
    rest = list(iterator)
    items.append(10)
    return first, rest, next(iterator, None), x + 1


@case(ops=1)
def keywords_named_as_our_own_arguments(x):
    table = {}
    table.update(self=1, other=2, tx=3, items=4)
    ordered = collections.OrderedDict(items=2, tx=1)
    return table, dict(items=3, tx=1), ordered, collections.defaultdict(list, items=2, factory=1), x + 1


@case(ops=1)
def a_tuple_that_gets_nothing_more(x):
    items = (1, x)
    return items * 1 is items, items[:] is items, items + () is items, () + items is items, x + 1


@case(graphs=None)
def a_key_that_goes_and_comes_back(x):
    table, seen = {0: x}, []
    try:
        for key in table:
            seen.append(key)
            del table[key]
            table[key] = x + 1
    except RuntimeError as error:
        seen.append(str(error))
    return seen, table


@case(ops=1)
def arguments_of_the_wrong_kind(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: enumerate("abc", "a"),
            lambda: collections.deque([1, 2, 3], 3).insert(1, 1),
            lambda: collections.deque((), -1),
            lambda: collections.defaultdict(3),
            lambda: {}.__ior__(None),
            lambda: {0: 1}.__ior__(()),
            lambda: [].__iadd__(3),
            lambda: [1].__iadd__("ab"),
            lambda: {}.__or__(3),
            lambda: [].__add__(()),
            lambda: {1}.__ior__([1]),
            lambda: len(range(10**20)),
            lambda: list(enumerate(iterable="ab", start=3)),
        )
    ]


class BreaksAtEachItem:
    def __getitem__(self, index):
        capture.graph_break()
        if index < 3:
            return index
        raise IndexError


@case(graphs=None)
def a_break_while_items_are_unpacked(x):
    first, second, third = BreaksAtEachItem()
    head, *tail = BreaksAtEachItem()
    return first, second, third, head, tail, x + 1


@case(ops=1)
def sets_changed_by_operators(x):
    items, frozen = {1}, frozenset([1])
    made = [
        outcome(f)
        for f in (
            lambda: operator.ior(items, [2]),
            lambda: operator.iand(items, "a"),
            lambda: operator.ior(items, {2: 3}.keys()),
            lambda: operator.ior(items, frozenset([9])),
            lambda: operator.ior(frozen, {2}),
        )
    ]
    return made, items, frozen, frozenset(frozen) is frozen, frozen.copy() is frozen, x + 1


@case(graphs=None)
def cells_without_contents_across_breaks(x):
    def reads():
        return later

    y = x + 1
    texts = []
    try:
        reads()
    except NameError as error:
        capture.graph_break()
        texts.append((type(error).__name__, str(error)))
    try:
        y.kept = later
    except UnboundLocalError as error:
        capture.graph_break()
        texts.append((type(error).__name__, str(error)))
    later = 3
    return texts, y, later


@case(ops=1)
def names_of_classes_in_errors(x):
    space = types.SimpleNamespace(a=1)
    return x + 1, [
        outcome(lambda: space.b),
        outcome(lambda: delattr(space, "q")),
        outcome(lambda: super()),
        outcome(lambda: object.__getattribute__(space, "c")),
    ]
