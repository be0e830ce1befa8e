"""`pop` of sets: each begins to search where the one before has ended."""

from __future__ import annotations

import torch

from tests.capture.cases.registry import case, show


def small():
    return torch.ones(2), {3, 1, 2}


def larger():
    return torch.ones(2), {50, 3, 1, 2, 70}


def popped():
    made = {1, 2, 3}
    made.pop()
    made.add(1)
    return torch.ones(2), made


@case(1, 1, args=small)
def of_an_argument(x, s):
    return x + s.pop(), s


@case(1, 2, args=larger)
def twice(x, s):
    return x + s.pop() + s.pop(), s, len(s)


@case(1, 1, args=larger)
def until_it_is_empty(x, s):
    total = 0
    while s:
        total = total * 100 + s.pop()
    return x + total, s


@case(1, 1, args=popped)
def behind_a_pop_of_the_caller(x, s):
    return x + s.pop(), list(s)


@case(1, 1, args=larger)
def and_put_back(x, s):
    a = s.pop()
    s.add(a)
    return x + a, a in s, len(s)


@case(None, args=larger)
def added_and_popped(x, s):
    s.add(9)
    return x + s.pop(), list(s)


@case(1, 1, args=larger)
def walked_behind_a_pop(x, s):
    a = s.pop()
    return x + a, [*s], a in s


@case(1, 1)
def of_one_element(x):
    s = {5}
    s.pop()
    s.add(5)
    s.add(1)
    return x + s.pop(), s


@case(None)
def made_in_front_of_a_break(x):
    s = {1, 2, 3}
    s.pop()
    s.add(1)
    y = x + 1
    show("a break")
    return y, s.pop(), s.pop()


@case(None, args=larger)
def given_in_front_of_a_break(x, s):
    a = s.pop()
    y = x + a
    show("a break")
    s.add(a)
    return y, s.pop(), list(s)


@case(1, 1, args=lambda: (torch.ones(2), {7}))
def given_with_one_element(x, s):
    a = s.pop()
    s.add(a)
    s.add(8)
    return x + a, len(s)


@case(1, 1, args=lambda: (torch.ones(2), set()))
def of_an_empty_one(x, s):
    try:
        s.pop()
    except KeyError as error:
        return x + 1, str(error)


@case(None, args=lambda: (torch.ones(2), {"a", "bb", "ccc"}))
def of_texts(x, s):
    return x + 1, len(s.pop()) in (1, 2, 3), len(s)
