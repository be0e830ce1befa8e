"""Iterators over dicts that existed before the frame: as arguments, and after a break."""

from __future__ import annotations

import collections
from typing import Any

import torch

from tests.capture.cases.registry import case, show


class Holder:
    def __init__(self) -> None:
        self.a, self.b, self.c = 1, 2, 3


def begun(kind: str, taken: int = 1, cls: Any = dict) -> Any:
    """An iterator that has given a few items already, and its dict."""

    def args() -> tuple[Any, ...]:
        d = cls([("a", 1), ("b", 2), ("c", 3)])
        iterator = iter(getattr(d, kind)())
        for _ in range(taken):
            next(iterator)
        return torch.ones(2), iterator, d

    return args


def default_dict(pairs: Any) -> Any:
    return collections.defaultdict(int, pairs)


@case(1, 1, begun("keys"), fresh=True)
def one_key(x, it, d):
    return x + 1, next(it), list(d)


@case(1, 1, begun("values"), fresh=True)
def values_written_first(x, it, d):
    d["b"] = 20
    first = next(it)
    d["c"] = 30
    return x + first, next(it), next(it, "end"), next(it, "end")


@case(1, 1, begun("items", cls=default_dict), fresh=True)
def items_of_a_default_dict(x, it, d):
    return x + 1, list(zip(it, range(2)))


@case(1, 1, begun("values", 3), fresh=True)
def all_taken(x, it, d):
    return x + 1, list(it)


@case(1, 1, begun("items"), fresh=True)
def moved_before_a_key_comes(x, it, d):
    first = next(it)
    d["new"] = 1
    return x + 1, first, it


@case(1, 1, begun("values"), fresh=True)
def exhausted_before_a_key_comes(x, it, d):
    rest = list(it)
    d["new"] = 1
    return x + 1, rest, next(it, "end"), it


@case(1, 1, begun("keys"), fresh=True)
def key_comes_first(x, it, d):
    x = x + 1
    d["new"] = 1
    try:
        next(it)
    except RuntimeError as error:
        return x, str(error)
    return x


@case(1, 1, begun("keys"), fresh=True)
def key_swapped_first(x, it, d):
    x = x + 1
    del d["a"]
    d["a"] = 4
    return x, next(it)


@case(1, 1)
def pairs_across_breaks(x):
    d = {"a": 1, "b": 2, "c": 3}
    pairs, kept = enumerate(d.items()), d.values()
    values = iter(kept)
    first = next(pairs), next(values)
    show("break")
    second = next(pairs), next(values)
    d["c"] = 10
    return x + second[1], first, second, list(pairs), list(values)


@case(1, 1, lambda: (torch.ones(2), Holder()))
def attributes_across_a_break(x, o):
    values = iter(vars(o).values())
    show("break")
    o.b = 5
    return x + next(values), list(values)
