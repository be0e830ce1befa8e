"""Worlds of iterators: generators and iterators of all kinds, partly consumed between two calls.

Each row: name, what makes the state, the called function of the state, the change.
"""

from __future__ import annotations

import itertools
from typing import Any

from tests.capture.worlds.registry import State, X, add_rows, state


def numbers():
    yield from range(1, 30)


def tensors():
    for i in range(30):
        yield X + i


def accumulating():
    total = 0
    while True:
        sent = yield X * total
        total += 1 if sent is None else sent


def with_cleanup(log):
    try:
        yield 1
        yield 2
    finally:
        log.append("closed")


def started(make):
    def begin():
        made = make()
        next(made)
        return made

    return begin


def take(s):
    return X + next(s.it)


def take_or_default(s):
    return X + next(s.it, 100)


def take_in_a_loop(s):
    total = X
    for item in s.it:
        total = total + item
        if s.stop:
            break
    return total


def take_two(s):
    first, second = next(s.it), next(s.it)
    return X * first + second


def send(s):
    return s.it.send(s.sent) + 1


def skip_to(n):
    return lambda s: [next(s.it) for _ in range(n)]


def drained(s):
    for _ in s.it:
        pass


def replaced_by(make):
    return lambda s: setattr(s, "it", make())


ITERATORS: list[tuple[str, Any, Any, Any]] = [
    (f"{name}_{body.__name__}", state(it=make, stop=lambda: True), body, skip_to(2))
    for name, make in [
        ("generator", numbers), ("generator_of_tensors", tensors), ("started", started(numbers)),
        ("list", lambda: iter([*range(1, 12)])), ("tuple", lambda: iter((*range(1, 12),))),
        ("range", lambda: iter(range(1, 12))), ("map", lambda: map(abs, range(-1, -12, -1))),
        ("filter", lambda: filter(None, range(12))), ("count", lambda: itertools.count(3)),
        ("repeat", lambda: itertools.repeat(3, 30)), ("cycle", lambda: itertools.cycle([1, 2, 3])),
        ("chain", lambda: itertools.chain([1, 2], range(3, 12))),
        ("islice", lambda: itertools.islice(itertools.count(), 1, 30, 2)),
        ("accumulate", lambda: itertools.accumulate(range(1, 12))),
        ("takewhile", lambda: itertools.takewhile(lambda n: n < 20, range(1, 12))),
        ("dropwhile", lambda: itertools.dropwhile(lambda n: n < 2, range(1, 12))),
        ("reversed", lambda: reversed([*range(12)])), ("keys", lambda: iter({n: 0 for n in range(1, 12)})),
        ("set", lambda: iter({*range(1, 12)})), ("call", lambda: iter([*range(12)].pop, 0)),
        ("compress", lambda: itertools.compress(range(1, 12), [1] * 11)),
        ("starmap", lambda: itertools.starmap(max, [(n, 2) for n in range(12)])),
    ]
    for body in (take, take_two)
] + [
    ("generator_drained", state(it=numbers), take_or_default, drained),
    ("list_drained", state(it=lambda: iter([1, 2, 3])), take_or_default, drained),
    ("generator_replaced", state(it=numbers), take, replaced_by(tensors)),
    ("generator_becomes_a_list", state(it=numbers), take, replaced_by(lambda: iter([5, 6, 7]))),
    ("generator_closed", state(it=numbers), take_or_default, lambda s: s.it.close()),
    ("loop_left_early", state(it=numbers, stop=lambda: True), take_in_a_loop,
     lambda s: setattr(s, "stop", False)),
    ("sent", state(it=started(accumulating), sent=lambda: 1), send, lambda s: setattr(s, "sent", 5)),
    ("zip_half_consumed", state(it=lambda: zip(range(9), iter(range(9, 0, -1)))),
     lambda s: X + sum(next(s.it)), lambda s: next(s.it)),
    ("enumerate", state(it=lambda: enumerate(range(5, 14), 2)), lambda s: X + sum(next(s.it)),
     lambda s: next(s.it)),
    ("list_grows_under_its_iterator", lambda: (lambda items: State(items=items, it=iter(items)))([1, 2, 3]),
     take_or_default, lambda s: s.items.extend([7, 8])),
    ("dict_grows_under_its_iterator", lambda: (lambda d: State(d=d, it=iter(d)))({1: 1, 2: 2, 3: 3, 4: 4}),
     lambda s: raised_or(lambda: X + next(s.it)), lambda s: s.d.update({9: 9})),
    ("cleanup", lambda: (lambda log: State(log=log, it=with_cleanup(log)))([]),
     lambda s: (take_or_default(s), list(s.log)), lambda s: s.it.close()),
    ("tee", lambda: State(pair=itertools.tee(iter(range(9)))),
     lambda s: X + next(s.pair[0]) - next(s.pair[1]), lambda s: next(s.pair[0])),
    ("groupby", lambda: State(it=itertools.groupby([1, 1, 2, 3, 3, 4, 5, 6])),
     lambda s: (lambda k, g: X + k * len([*g]))(*next(s.it)), lambda s: next(s.it)),
]  # fmt: skip


def raised_or(function):
    try:
        return function()
    except RuntimeError as error:
        return str(error)


add_rows("iterator", ITERATORS)
