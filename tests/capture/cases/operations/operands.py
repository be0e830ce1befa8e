"""Which operand's method is called: subclasses of built-in classes, index objects, TorchScript."""

from __future__ import annotations

import collections

import numpy as np
import torch

from tests.capture.cases.registry import case


class Shifted(int):
    def __add__(self, other):
        return Shifted(int(self) + other + 100)


class Named(float):
    def __mul__(self, other):
        return "mine"


class Items(list):
    def __add__(self, other):
        return "added"

    def __mul__(self, other):
        return "repeated"


class Text(str):
    def __add__(self, other):
        return "added"

    def __mod__(self, other):
        return "formatted"


class Members(set):
    def __or__(self, other):
        return "joined"


@case(1, 5)
def right_operands_are_asked_for_their_own_method(x):
    i, f, items, text, members = Shifted(3), Named(2.0), Items([1]), Text("a"), Members([1])
    numbers = i + 1, 1 + i, f * 2, 2 * f, i - 1, 5 - i, i + i
    others = items + [1], [1] + items, items * 2, 2 * items, text + "b", "b" + text, text % 1, "%s" % text
    return x + i, x * f, x - i, i * x, x**i, numbers, others, members | {2}, {2} | members


class Second:
    def __index__(self):
        return 2


@case(1, 1)
def objects_that_stand_for_an_index(x):
    second = Second()
    return x + 1, range(5)[second], "abc"[second], b"abc"[second], [1, 2, 3][second], (1, 2, 3)[second]


@torch.jit.script
def scripted(x, k: int = 2):
    return x * k + 1


@torch.jit.script
def scripted_twice(x):
    return scripted(x) * 3


@case(1, 9)
def functions_of_torchscript(x):
    function = scripted if x.shape[0] > 1 else scripted_twice
    return function(x) + scripted_twice(x) + scripted(x, k=3), function is scripted, callable(function)


class AddsFirst:
    """Implements `list + it` itself, and is iterable."""

    def __radd__(self, other):
        return "added", other

    def __rmul__(self, other):
        return NotImplemented

    def __iter__(self):
        return iter([9])

    def __index__(self):
        return 2


class AddsNothing(AddsFirst):
    def __radd__(self, other):
        return NotImplemented


def in_place(items, other):
    held = items
    try:
        items += other
    except TypeError as error:
        return str(error), held
    return items, held, items is held


@case(graphs=1, ops=1)
def right_operands_that_answer_before_a_list(x):
    results = []
    for other in (AddsFirst(), AddsNothing(), collections.UserList([1]), [3], (4,), "ab", 5):
        results += [[in_place([1, 2], other), in_place(collections.deque([1, 2]), other)]]
    return x + 1, results


@case(graphs=None)
def arrays_answer_before_a_list(x):
    held = items = [1.0, 2.0]
    items += np.ones(2)
    return x + 1, items.tolist(), held
