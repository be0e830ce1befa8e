"""Operands and arguments that Python refuses, and methods of `object` on values of built-in classes."""

from __future__ import annotations

import collections
import datetime
import operator
import types

import numpy as np
import torch

from tests.capture.cases.registry import case


class Nothing:
    pass


class OnlySets:
    def __setitem__(self, key, value):
        pass


class Whole(int):
    pass


class Bytes(bytes):
    pass


class Members(set):
    pass


class Truncates:
    def __trunc__(self):
        return 7


class Iterates:
    def __iter__(self):
        return iter(["a", 2])

    def __rxor__(self, other):
        return "rxor"


def told(calls):
    """The errors of the calls, or their results."""
    answers = []
    for call in calls:
        try:
            answers.append(call())
        except (TypeError, AttributeError) as error:
            answers.append((type(error).__name__, str(error)))
    return answers


def add_to(left, right):
    left += right


def delete(container, key):
    del container[key]


def store(container, key):
    container[key] = 1


def unpack(value):
    first, second = value
    return first, second


@case(1, 1)
def operands_of_no_operator(x):
    n, space, day = Nothing(), types.SimpleNamespace(a=1), datetime.date(2020, 1, 2)
    return x + 1, told(
        [
            lambda: x**n,
            lambda: add_to(n, n),
            lambda: -space,
            lambda: abs(space),
            lambda: round(space),
            lambda: day < n,
            lambda: Whole(2) << 1.5,
            lambda: +Bytes(b"a"),
            lambda: -(1,),
            lambda: Members() << Members(),
            lambda: torch.float32 + n,
            lambda: torch.float32(),
        ]
    )


@case(1, 1)
def items_that_nothing_changes(x):
    n = Nothing()
    return x + 1, told(
        [
            lambda: delete(n, 0),
            lambda: delete(n, "a"),
            lambda: store(n, 0),
            lambda: delete(OnlySets(), 0),
            lambda: delete(3, 0),
            lambda: store(len, 0),
            lambda: store(int, 0),
        ]
    )


@case(1, 1)
def functions_that_refuse_an_object(x):
    n = Nothing()
    return x + 1, told(
        [
            lambda: 3 in n,
            lambda: operator.contains(n, 3),
            lambda: int(n),
            lambda: float(types.SimpleNamespace()),
            lambda: vars(iter([])),
            lambda: vars(3),
            lambda: next(n),
            lambda: next(3),
            lambda: next(n, 5),
            lambda: reversed(n),
            lambda: reversed(Whole(3)),
            lambda: unpack(n),
            lambda: [*n],
            lambda: torch.numel(1j),
        ]
    )


@case(1, 3)
def reversed_tensor(x):
    total = x.sum()
    return reversed(x), reversed(total) is total


@case(1, 1)
def method_of_int_on_a_bool(x):
    return x + 1, int.__repr__(True), int.__add__(True, 2), bool.__repr__(True)


@case(1, 2)
def method_of_object_on_a_number(x):
    y = x + 1
    return y * 2, super(int, 3).__repr__().startswith("<int object")


@case(1, 2)
def method_of_object_on_a_subclass(x):
    y = x + 1
    return y * 2, "Whole object at" in object.__repr__(Whole(3))


@case(1, 2)
def method_of_object_on_a_tensor(x):
    y = x + 1
    return y * 2, object.__eq__(x, x), object.__eq__(x, y)


@case(1, 2)
def view_of_a_dict_with_anything_that_iterates(x):
    y = x + 1
    return y * 2, sorted(map(str, {"a": 1}.keys() ^ Iterates()))


@case(1, 2)
def truncated_object(x):
    y = x + 1
    return y * 2, int(Truncates())


@case(2, 2)
def sizes_that_are_no_ints(x):
    y = x + 1
    try:
        size = torch.Size([1, "a"])
    except TypeError as error:
        size = str(error)
    return y * 2, size


@case(2, 2)
def power_with_a_modulus(x):
    y = x + 1
    try:
        power = pow(Nothing(), 2, 5)
    except TypeError as error:
        power = str(error)
    return y * 2, power


class Items(list):
    pass


@case(1, 1)
def items_of_a_subclass_with_a_number_of_numpy(x):
    return x + 1, (Items([1, 2]) | np.int64(1)).tolist()


@case(1, 1)
def subclass_of_a_class_written_in_c(x):
    class Counts(collections.Counter):
        pass

    return x + 1, told([lambda: Counts("ab") / 2, lambda: Counts("ab") << Counts("ab")])
