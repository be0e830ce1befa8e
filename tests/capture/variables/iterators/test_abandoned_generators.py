"""Generators that a frame leaves before their end.

They are captured whole if their end has no effect; else Python runs them.
"""

from __future__ import annotations

import builtins
import collections.abc

import pytest
import torch

import capture
from capture.bytecode.generator_exit import ignores_exit
from capture.bytecode.instructions import decode

x = torch.ones(3)


class Layers(collections.abc.Sequence):
    def __init__(self, items):
        self.items = items

    def __getitem__(self, index):
        return self.items[index]

    def __len__(self):
        return len(self.items)


def one_clause(log):
    try:
        yield 1
    except IndexError:
        log.append("caught")


def two_clauses(log):
    try:
        try:
            yield 1
        except (KeyError, ValueError) as error:
            log.append(error)
    except LookupError:
        log.append("outer")


def with_finally(log):
    try:
        yield 1
    finally:
        log.append("finally")


def bare(log):
    try:
        yield 1
    except:  # noqa: E722
        log.append("bare")
        raise


def base_class(log):
    try:
        yield 1
    except BaseException:
        log.append("base")
        raise


def inner_finally_only_outside(log):
    try:
        try:
            yield 1
        except KeyError:
            pass
    finally:
        log.append("outer finally")


SILENT = [one_clause, two_clauses]
BUSY = [with_finally, bare, base_class, inner_finally_only_outside]


def first_of(generator):
    def f(x, log):
        for item in generator(log):
            return x + item
        return x

    return f


@pytest.mark.parametrize("generator", SILENT + BUSY)
def test_same_as_eager(generator):
    f = first_of(generator)
    expected, found = [], []
    result = capture.compile(f, backend="eager")(x, found)
    assert torch.equal(result, f(x, expected))
    assert found == expected


@pytest.mark.parametrize("generator", SILENT + BUSY)
def test_what_the_bytecode_says(generator):
    code = decode(generator.__code__)
    suspended = next(step.index for step in code.instructions if step.name == "YIELD_VALUE")
    assert ignores_exit(code, suspended, vars(builtins).get) == (generator in SILENT)


@pytest.mark.parametrize("generator", SILENT)
def test_silent_ones_stay_in_the_graph(generator):
    assert capture.explain(first_of(generator))(x, []).graph_break_count == 0


def test_iteration_of_sequences_stays_in_the_graph():
    def f(layers, x):
        for layer in layers:
            return x * layer
        return x

    assert capture.explain(f)(Layers([2, 3]), x).graph_break_count == 0


@pytest.mark.parametrize("around", [lambda items: items, enumerate, lambda items: zip(items, items)])
def test_generators_as_arguments_are_left_to_python(around):
    def first(x, items):
        x = x + 1
        return x, next(items), list(items)

    def make():
        return around(i for i in range(4))

    x = torch.ones(2)
    assert str(capture.compile(first, backend="eager")(x, make())) == str(first(x, make()))
