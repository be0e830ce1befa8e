"""itertools with tensors as items: all its functions, laziness, shared iterators."""

from __future__ import annotations

import itertools
import operator

from tests.capture.cases.registry import case


@case(ops=1)
def itertools1(x):
    return (
        list(itertools.chain([x], [1])),
        list(itertools.chain.from_iterable([[1], [2]])),
        list(itertools.islice(range(10), 2, 8, 3)),
        list(itertools.repeat(x, 2))[0] + 1,
        list(itertools.islice(itertools.count(3, 2), 3)),
        list(itertools.islice(itertools.cycle("ab"), 5)),
    )


@case(ops=3)
def itertools2(x):
    return (
        list(itertools.accumulate([1, 2, 3])),
        list(itertools.accumulate([x, x + 1]))[1],
        list(itertools.accumulate([1, 2], operator.mul, initial=5)),
        list(itertools.product([1, 2], "ab")),
        list(itertools.product([0, 1], repeat=2)),
        list(itertools.permutations([1, 2, 3], 2)),
        list(itertools.combinations("abc", 2)),
        x + 1,
    )


@case(ops=2)
def itertools3(x):
    return (
        list(itertools.combinations_with_replacement("ab", 2)),
        list(itertools.zip_longest([1], [2, 3], fillvalue=0)),
        list(itertools.starmap(lambda a, b: a * b, [(x, 2)])),
        list(itertools.takewhile(lambda v: v < 3, range(9))),
        list(itertools.dropwhile(lambda v: v < 3, range(5))),
        list(itertools.pairwise([1, 2, 3])),
        list(itertools.compress("abc", [1, 0, 1])),
        list(itertools.filterfalse(lambda v: v % 2, range(5))),
        x + 1,
    )


@case(ops=1)
def itertools4(x):
    return (
        [(k, list(g)) for k, g in itertools.groupby("aabbc")],
        [(k, [i for i in g]) for k, g in itertools.groupby([1, 3, 2], key=lambda v: v % 2)],
        x + 1,
    )


@case(ops=2)
def tee(x):
    a, b = itertools.tee([x, x + 1])
    next(a)
    return next(a) + 1, len(list(b))


@case(ops=1)
def itertools_lazy(x):
    it = itertools.chain([1], (i for i in range(3)))
    a = next(it)
    return a, list(it), x + 1


@case(ops=1)
def islice_shared(x):
    it = iter(range(10))
    a = list(itertools.islice(it, 3))
    return a, list(it)[0], x + 1


@case(ops=2)
def count_zip(x):
    return list(zip(itertools.count(), "abc")), [x + i for i, _ in zip(itertools.count(1), range(2))]


@case(ops=1)
def permutations_dup(x):
    return (
        list(itertools.permutations([1, 1])),
        list(itertools.permutations([1, 2], 0)),
        list(itertools.combinations([1], 2)),
        x + 1,
    )


@case(ops=1)
def itertools_ret(x):
    return itertools.chain([1], [2]), x + 1
