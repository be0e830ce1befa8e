"""Loops over dicts whose values change during the loop: each value is the current one at its turn."""

from __future__ import annotations

import collections
from typing import Any

import torch

from tests.capture.cases.registry import case, show


class Subclass(dict):
    pass


class Holder:
    def __init__(self) -> None:
        self.a, self.b = 1, 2


def with_dict(kind: Any) -> Any:
    return lambda: (torch.ones(2), kind([("a", 1), ("b", 2)]))


def with_default_dict() -> tuple[Any, ...]:
    return torch.ones(2), collections.defaultdict(int, a=1, b=2)


def with_holder() -> tuple[Any, ...]:
    return torch.ones(2), Holder()


def items_written(x, d):
    out = []
    for key, value in d.items():
        d["b"] += 10
        out.append((key, value))
    return x + 1, out


def values_written_backwards(x, d):
    out = []
    for value in reversed(d.values()):
        d["a"] += 10
        out.append(value)
    return x + 1, out


def walk_broken_by_python(x, d):
    out = []
    for value in d.values():
        d["b"] += 10
        show("break")
        d["b"] += 100
        out.append(value)
    return x + 1, out


def enumerated_behind_a_break(x, d):
    pairs = enumerate(d.values())
    d["b"] = 7
    first = next(pairs)
    show("break")
    d["b"] = 8
    return x + 1, first, list(pairs)


def key_added_then_walked(x, d):
    d["z"] = 1
    out = []
    for value in d.values():
        show("break")
        d["z"] += 1
        out.append(value)
    return x + 1, out


WALKS = (
    items_written, values_written_backwards, walk_broken_by_python, enumerated_behind_a_break,
    key_added_then_walked,
)  # fmt: skip
KINDS = {
    "dict": with_dict(dict), "ordered": with_dict(collections.OrderedDict), "subclass": with_dict(Subclass),
    "default": with_default_dict,
}  # fmt: skip


def _register(walk: Any, kind: str, args: Any) -> None:
    def walked(x, d):
        return walk(x, d)

    walked.__name__ = f"{walk.__name__}_{kind}"
    case(1, 1, args)(walked)


for _walk in WALKS:
    for _kind, _args in KINDS.items():
        _register(_walk, _kind, _args)


@case(1, 1)
def own_dict_written(x):
    d = {"a": 1, "b": 2}
    values = iter(d.values())
    d["a"], d["b"] = 5, 6
    return x + 1, list(values), list(d)


@case(1, 1, with_holder)
def attributes_written(x, o):
    out = []
    for key, value in vars(o).items():
        o.b += 10
        out.append((key, value))
    return x + 1, out


@case(1, 1)
def attributes_of_an_own_object_written(x):
    o, out = Holder(), []
    for value in vars(o).values():
        o.b += 10
        out.append(value)
    return x + 1, out


@case(1, 1, with_holder)
def attributes_written_around_a_break(x, o):
    out = []
    for value in vars(o).values():
        o.b += 10
        show("break")
        o.b += 100
        out.append(value)
    return x + 1, out


@case(1, 1, with_holder)
def attribute_added_then_walked(x, o):
    o.c = 10
    out = []
    for value in vars(o).values():
        show("break")
        o.b += 1
        out.append(value)
    return x + 1, out


@case(0, None, with_holder)
def attribute_added_in_the_walk(x, o):
    for _ in vars(o):
        o.c = 10
    return x + 1


@case(0, None, with_holder)
def attribute_deleted_in_the_walk(x, o):
    for _ in vars(o):
        del o.b
    return x + 1


@case(1, 1)
def attributes_of_a_function_written(x):
    def function():
        pass

    function.a, function.b = 1, 2
    out = []
    for value in function.__dict__.values():
        function.b += 10
        out.append(value)
    return x + 1, out


@case(0, None)
def attribute_of_a_function_added_in_the_walk(x):
    def function():
        pass

    function.a = 1
    for _ in function.__dict__:
        function.b = 2
    return x + 1
