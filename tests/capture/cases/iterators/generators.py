"""Generators in captured code: making, advancing, closing, and throwing exceptions into them."""

from __future__ import annotations

import itertools

import torch

from tests.capture.cases.registry import case


@case(1, 3)
def generator_pipeline(x):
    def source():
        for i in range(3):
            yield i

    def scaled(items):
        for item in items:
            yield x * item

    return list(scaled(source()))


@case(1, 1)
def generator_throw(x):
    log = []

    def g():
        try:
            yield 1
        except ValueError:
            log.append("thrown")
            yield 2
        finally:
            log.append("closed")

    it = g()
    next(it)
    value = it.throw(ValueError("v"))
    it.close()
    return x + value, log


@case(1, 1)
def generator_close(x):
    log = []

    def g():
        try:
            yield 1
            yield 2
        finally:
            log.append("cleanup")

    it = g()
    first = next(it)
    it.close()
    return x + first, log, list(it)


@case(1, 2)
def infinite_generator(x):
    def naturals():
        n = 0
        while True:
            yield n
            n += 1

    return [x + n for n in itertools.islice(naturals(), 1, 3)]


@case(1, 1)
def generator_unpacked(x):
    a, b, *c = (i * 2 for i in range(4))
    return x + a + 0 if False else x + (a + b), c


@case(1, None)
def generator_in_builtins(x):
    return (
        torch.stack(list(x * i for i in range(2))),
        max(i for i in [1, 5, 2]),
        any(i > 4 for i in [1, 5]),
        all(i > 4 for i in [1, 5]),
        dict((i, i * 2) for i in range(2)),
        tuple(i for i in "ab"),
        set(i for i in [1, 1]),
        ",".join(str(i) for i in range(3)),
        sorted(-i for i in range(3)),
    )


@case(1, 1)
def yield_from_values(x):
    def inner():
        got = yield "a"
        return got

    def outer():
        result = yield from inner()
        yield ("done", result)

    it = outer()
    first = next(it)
    return x + 1, first, it.send("sent")


@case(1, 1)
def recursive_generator(x):
    def walk(tree):
        if isinstance(tree, list):
            for child in tree:
                yield from walk(child)
        else:
            yield tree

    return x + sum(walk([1, [2, [3, 4]], 5]))


def raises_at_its_end():
    yield 1
    raise StopIteration("end")


@case(1, 1)
def cause_of_a_stop_inside_of_a_generator(x):
    try:
        list(raises_at_its_end())
    except RuntimeError as error:
        kinds = type(error.__cause__), error.__context__ is error.__cause__, error.__suppress_context__
        return x + 1, str(error), kinds, error.__cause__.value
