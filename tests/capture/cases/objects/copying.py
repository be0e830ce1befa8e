"""Objects copied in the frame, and `id` of objects that the frame makes."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from tests.capture.cases.registry import case, default_args


class Settings:
    def __init__(self):
        self.scale = 3
        self.parts = [1, {"a": 2}]


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a = 1
        self.b = [2]


@dataclass
class Options:
    scale: int = 2
    sizes: list = field(default_factory=lambda: [1, 2])


class Renamed(Settings):
    """Reads its attributes through Python code."""

    def __getattribute__(self, name):
        return super().__getattribute__("scale" if name == "factor" else name)


class Stateful(Settings):
    def __getstate__(self):
        return {"scale": self.scale + 1, "parts": []}


def with_object(cls):
    return lambda: (*default_args(), cls())


@case(ops=1, args=with_object(Settings))
def deep_copy_of_object(x, settings):
    copied = copy.deepcopy(settings)
    copied.scale = 7
    copied.parts[1]["a"] = 9
    return x * copied.scale, copied.parts, settings.parts[1]["a"]


@case(ops=2, args=with_object(Settings))
def shallow_copy_of_object(x, settings):
    copied = copy.copy(settings)
    copied.scale = 5
    return x + copied.scale + settings.scale, copied.parts is settings.parts


@case(ops=1, args=with_object(Slotted))
def shallow_copy_of_slots(x, slotted):
    return x * len(copy.copy(slotted).b), hasattr(slotted, "__dict__")


@case(ops=1, args=with_object(Slotted))
def deep_copy_of_slots(x, slotted):
    copied = copy.deepcopy(slotted)
    copied.b.append(3)
    return x * len(copied.b), copied.a, len(slotted.b)


@case(ops=1, args=with_object(Options))
def deep_copy_of_dataclass(x, options):
    copied = copy.deepcopy(options)
    copied.sizes.append(3)
    return x * len(copied.sizes), copied == options


@case(ops=1, args=with_object(Renamed))
def deep_copy_past_getattribute(x, settings):
    return x * copy.deepcopy(settings).factor


@case(ops=1, args=with_object(Stateful))
def deep_copy_with_getstate(x, settings):
    copied = copy.deepcopy(settings)
    return x * copied.scale, copied.parts, settings.parts


@case(ops=1)
def deep_copy_of_new_object(x):
    settings = Settings()
    copied = copy.deepcopy(settings)
    copied.parts[1]["a"] = 9
    return x * 2, settings.parts, copied.parts


@case(ops=1)
def shared_parts_stay_shared(x):
    part = [1]
    first, second = copy.deepcopy([part, part])
    return x + 1, first is second, first is part


@case(ops=1)
def ids_tell_objects_apart(x):
    one, two = [1], [1]
    seen = {id(one): "one", id(two): "two"}
    return x + 1, seen[id(two)], id(one) == id(two), id(one) == id(one), len(seen)


@case(ops=1)
def id_leaves_the_frame(x):
    made = [1]
    return x + 1, id(made) != 0


REMEMBERED = [1]
NUMBERS = {id(REMEMBERED): "remembered"}


@case(ops=1)
def id_of_an_existing_object(x):
    return x + 1, NUMBERS.get(id(REMEMBERED)), NUMBERS.get(id([1]), "new"), id(REMEMBERED) in NUMBERS


class Numbers(list):
    pass


@case(ops=1, args=with_object(Numbers))
def deep_copy_of_a_list_of_its_own_class(x, numbers):
    copied = copy.deepcopy(numbers)
    copied.append(3)
    return x * len(copied), copied, numbers
