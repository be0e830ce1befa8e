"""Stored entries of frames that look up objects, or their `id`: each process has other addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.capture.stored.test_stored_entries import X, counted, made, store  # noqa: F401

LAYERS = """
class Layer(torch.nn.Module):
    def forward(self, x, seen):
        key = KEY
        if key in seen:
            x = x + seen[key]
        seen[key] = x * 2
        return x * SCALE

class Other(Layer): pass

def f(layers, seen, x):
    for layer in layers:
        x = layer(x, seen)
    return x
"""
NAMES = [f"a{i}" for i in range(3)]
KEYS = {"object": "self", "number": "id(self)", "pair": "(id(self), 0)"}

Arrange = Callable[[Any], tuple[list[Any], list[Any]]]


def in_order(layer: Any) -> tuple[list[Any], list[Any]]:
    layers = [layer() for _ in NAMES]
    return layers, layers[:2]


def in_another_order(layer: Any) -> tuple[list[Any], list[Any]]:
    layers = [layer() for _ in NAMES]
    return layers, layers[1::-1]


def others(layer: Any) -> tuple[list[Any], list[Any]]:
    return [layer() for _ in NAMES], [layer() for _ in NAMES[:2]]


def twice(layer: Any) -> tuple[list[Any], list[Any]]:
    one = layer()
    return [one, layer(), one], [one]


def program(key: str, text: str = LAYERS) -> Any:
    return made(text.replace("KEY", KEYS[key]).replace("SCALE", "3"))


def run(key: str, arrange: Arrange, text: str = LAYERS) -> tuple[Any, int, int]:
    """As in a new process: the classes and objects are new ones."""
    f = program(key, text)
    layers, before = arrange(f.__globals__["Layer"])
    of = {"object": lambda layer: layer, "number": id, "pair": lambda layer: (id(layer), 0)}[key]

    def seen() -> dict[Any, Any]:
        return {of(layer): X + i for i, layer in enumerate(before)}

    ours, theirs = seen(), seen()
    found = counted(f, layers, ours, X)
    expected = f(layers, theirs, X)
    assert torch.equal(found[0], expected)
    assert list(ours) == list(theirs)
    assert all(map(torch.equal, ours.values(), theirs.values()))
    return found


@pytest.mark.parametrize("key", ["object", "number"])
def test_the_objects_are_found_again(key: str) -> None:
    assert run(key, in_order)[1:] == (0, 1)
    assert run(key, in_order)[1:] == (1, 0)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("walks", [False, True])
def test_objects_in_other_places(key: str, walks: bool) -> None:
    for arrange in (in_order, others, twice, in_another_order, in_order, twice, others, in_another_order):
        run(key, arrange, WALK if walks else LAYERS)


#: what a decoder does: the first cached tensor says how far it is
WALK = LAYERS.replace(
    "def f(layers, seen, x):",
    "def f(layers, seen, x):\n    x = x + len(seen) + next(iter(seen.values())) * 2 if seen else x",
)


def test_values_are_walked_over_and_counted() -> None:
    """The order of the keys is known, and no key becomes a number of the frame."""
    assert run("number", in_order, WALK)[1:] == (0, 1)
    assert run("number", in_order, WALK)[1:] == (1, 0)
    assert run("number", in_another_order, WALK)[1] == 0


#: what a beam search does: the cache is reordered, key by key
REORDER = LAYERS.replace(
    "        x = layer(x, seen)\n    return x",
    "        x = layer(x, seen)\n    for key, value in seen.items():\n        seen[key] = value.flip(0)\n"
    "    return x + len([key for key in seen if key in seen])",
)


def test_keys_are_walked_over_and_looked_up_again() -> None:
    """They become no numbers of the frame: each is the `id` of an object that it has looked up."""
    assert run("number", in_order, REORDER)[1:] == (0, 1)
    assert run("number", in_order, REORDER)[1:] == (1, 0)
    assert run("number", in_another_order, REORDER)[1] == 0


@pytest.mark.parametrize("key", KEYS)
def test_keys_of_objects_in_other_places(key: str) -> None:
    for arrange in (in_order, others, twice, in_another_order, in_order, twice, others, in_another_order):
        run(key, arrange, REORDER)


def test_an_object_of_another_class_is_translated() -> None:
    def of_another_class(layer: Any) -> tuple[list[Any], list[Any]]:
        layers = [layer(), layer.__subclasses__()[0](), layer()]
        return layers, layers[:2]

    assert run("number", in_order)[2] == 1
    assert run("number", of_another_class)[1:] == (0, 1)


@pytest.mark.parametrize(
    "body",
    [
        "return x * (id(layer) // 16 % 1024)",
        "return x * (next(iter(seen)) // 16 % 1024) if id(layer) in seen else x",
        "return x * (list(seen)[1] // 16 % 1024) if id(layer) in seen else x",
        "return x * ([*seen.keys()][1] // 16 % 1024) if id(layer) in seen else x",
        "return x * ([*seen.copy()][1] // 16 % 1024) if id(layer) in seen else x",
        "return x * ([*{**seen}][1] // 16 % 1024) if id(layer) in seen else x",
        "return x * ([key for key, _ in seen.items()][1] // 16 % 1024) if id(layer) in seen else x",
        "return x * (sorted(seen)[1] // 16 % 1024) if id(layer) in seen else x",
        "return x * (min({*seen} - {1}) // 16 % 1024) if id(layer) in seen else x",
        "return x * (dict(seen).popitem()[0] // 16 % 1024) if id(layer) in seen else x",
        "return x * (hash(tuple(seen)) % 1024) if id(layer) in seen else x",
        "return x * (len(str([*seen])) + len(repr(seen.keys())) % 7) if id(layer) in seen else x",
        "return x * (max(seen) // 16 % 1024) if id(layer) in seen else x",
        "return x * (layer.number // 16 % 1024) if id(layer) in seen else x",
        "return x * (1 + (max(seen) == layer.number + 16)) if id(layer) in seen else x",
        "return x * len([k for k in seen if k // 16 % 2]) if id(layer) in seen else x",
        "return x * len([k for k in seen if k > layer.middle]) if id(layer) in seen else x",
        "return x * len([k for k in seen if k == layer.middle]) if id(layer) in seen else x",
        "return x * len([k for k in seen if k in (layer.middle, 1)]) if id(layer) in seen else x",
        "return x * ({k: k // 16 % 1024 for k in seen}[id(layer)]) if id(layer) in seen else x",
        "return x * (k // 16 % 1024 for k in seen).__next__() if id(layer) in seen else x",
    ],
)
def test_what_follows_from_the_number_holds_in_one_process(body: str) -> None:
    """The objects stay alive, so that their numbers are other ones each time."""
    alive = []
    for _ in range(3):
        walk = "x = x + len(seen) + next(iter(seen.values()))"
        f = made(f"class Layer: pass\ndef f(layer, seen, x):\n  {walk}\n  {body}")
        layer = f.__globals__["Layer"]()
        layer.number = id(layer)
        layer.middle = alive[0].number if alive else id(layer)
        seen = {1: X, id(layer): X + 1}
        alive.append(layer)
        assert torch.equal(counted(f, layer, seen, X)[0], f(layer, seen, X))
