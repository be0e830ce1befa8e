"""Iterators of `itertools` that live on behind a graph break, are returned, or met an error."""

from __future__ import annotations

import functools
import itertools
import operator

import torch

from tests.capture.cases.registry import case, show


def by_kind():
    """(name, a new iterator of numbers or rows)"""
    return [
        ("accumulate", itertools.accumulate([1, 2, 3, 4])),
        ("accumulate_function", itertools.accumulate([1, 2, 3, 4], operator.mul)),
        ("accumulate_initial", itertools.accumulate([1, 2], initial=5)),
        ("chain", itertools.chain([1, 2], (3,), range(2))),
        ("from_iterable", itertools.chain.from_iterable([[1], [2, 3]])),
        ("islice", itertools.islice([1, 2, 3, 4, 5, 6], 1, 6, 2)),
        ("islice_open", itertools.islice([1, 2, 3, 4], 1, None)),
        ("islice_of_a_count", itertools.islice(itertools.count(), 2, 9, 3)),
        ("pairwise", itertools.pairwise([1, 2, 3, 4])),
        ("starmap", itertools.starmap(max, [(1, 2), (5, 3), (4, 4)])),
        ("takewhile", itertools.takewhile(lambda n: n < 3, [1, 2, 3, 1])),
        ("dropwhile", itertools.dropwhile(lambda n: n < 2, [1, 2, 1, 3])),
        ("filterfalse", itertools.filterfalse(lambda n: n % 2, [2, 3, 4, 6])),
        ("compress", itertools.compress([1, 2, 3, 4], [1, 0, 1, 1])),
        ("zip_longest", itertools.zip_longest([1, 2, 3], [4], fillvalue=0)),
        ("product", itertools.product([1, 2], [3, 4])),
        ("product_repeat", itertools.product([1, 2], repeat=2)),
        ("combinations", itertools.combinations([1, 2, 3], 2)),
        ("with_replacement", itertools.combinations_with_replacement([1, 2], 2)),
        ("permutations", itertools.permutations([1, 2, 3], 2)),
        ("call", iter([1, 2, 3, 4].pop, 1)),
    ]


@case(2, 2)
def none_read(x):
    made = by_kind()
    y = x + 1
    show("a break")
    return y + 1, [(name, type(it).__name__, list(it)) for name, it in made]


@case(2, 2)
def one_read(x):
    made = by_kind()
    first = [next(it) for _, it in made]
    y = x + 1
    show("a break")
    return y + 1, first, [(name, type(it).__name__, list(it)) for name, it in made]


@case(2, 2)
def two_read(x):
    made = by_kind()
    first = [(next(it, None), next(it, None)) for _, it in made]
    y = x + 1
    show("a break")
    return y + 1, first, [(name, list(it)) for name, it in made]


@case(2, 2)
def all_read(x):
    made = by_kind()
    read = [list(it) for _, it in made]
    y = x + 1
    show("a break")
    return y + 1, read, [(name, type(it).__name__, list(it)) for name, it in made]


@case(2, 2)
def cycle_in_its_first_round(x):
    it = itertools.cycle([1, 2, 3])
    y = x + next(it)
    show("a break")
    return y + 1, [next(it) for _ in range(7)]


@case(2, 2)
def cycle_in_its_second_round(x):
    it = itertools.cycle(iter([1, 2, 3]))
    y = x + sum([next(it) for _ in range(5)])
    show("a break")
    return y + 1, [next(it) for _ in range(7)]


@case(2)
def sums_of_tensors(x):
    it = itertools.accumulate([x, x + 1, x + 2], lambda a, b: a * b)
    y = next(it)
    show("a break")
    return [y, *it]


@case(1)
def sums_of_tensors_by_a_partial(x):
    it = itertools.accumulate([x, x, x], functools.partial(torch.add, alpha=2), initial=x * 3)
    y = next(it)
    show("a break")
    return [y, *it]


@case(None)
def loop_around_breaks(x):
    for y in itertools.accumulate([x, x + 1, x + 2], torch.maximum):
        show("a break")
        x = x + y
    return x


@case(1, 1)
def returned(x):
    it = itertools.accumulate([1, 2, 3], operator.mul)
    return x + next(it), list(it), type(it) is itertools.accumulate


@case(2, 2)
def inner_iterator_is_shared(x):
    items = iter([1, 2, 3, 4, 5])
    it = itertools.islice(items, 0, None, 2)
    y = x + next(it)
    show("a break")
    return y + 1, next(items), list(it), list(items)


def inverse(a, b):
    return a // b


@case(None)
def goes_on_behind_an_error(x):
    it = itertools.starmap(inverse, [(1, 0), (6, 3)])
    try:
        next(it)
    except ZeroDivisionError:
        x = x + 1
    return x + next(it, 100), next(it, 200)


@case(None)
def sum_behind_an_error(x):
    it = itertools.accumulate([1, 0, 5], inverse)
    seen = [next(it)]
    for _ in range(2):
        try:
            seen.append(next(it))
        except ZeroDivisionError:
            seen.append(None)
    return x + 1, seen
