"""`itertools`: which item is taken when, and errors at the same call as in Python."""

from __future__ import annotations

import itertools

from tests.capture.cases.language.errors import outcome
from tests.capture.cases.registry import case


@case(ops=1)
def how_much_islice_takes(x):
    taken = []
    for bounds in ((3, 3), (1, 6, 3), (5, 3), (None,), (2, None)):
        items = iter(range(10))
        taken.append((list(itertools.islice(items, *bounds)), list(items)))
    return taken, x + 1


@case(ops=1)
def arguments_are_refused_at_once(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: itertools.zip_longest([], 3),
            lambda: itertools.pairwise(3),
            lambda: itertools.cycle(3),
            lambda: itertools.starmap(len, 3),
            lambda: itertools.compress(3, [1]),
            lambda: itertools.groupby(3),
            lambda: itertools.takewhile(len, 3),
            lambda: itertools.filterfalse(None, 3),
            lambda: itertools.accumulate(3),
            lambda: itertools.chain.from_iterable(3),
            lambda: next(itertools.chain(3)),
            lambda: itertools.combinations([1], -1),
            lambda: itertools.repeat(1, "a"),
            lambda: itertools.islice([1], -1),
            lambda: itertools.islice([1], 1, 2, 0),
            lambda: itertools.islice([1], "a"),
        )
    ]


@case(ops=1)
def classes_of_the_iterators(x):
    made = (
        itertools.chain(),
        itertools.cycle([1]),
        itertools.islice([1], 1),
        itertools.product([1]),
        itertools.permutations([1]),
        itertools.repeat(1),
        itertools.groupby([1]),
    )
    return [type(value) for value in made], x + 1
