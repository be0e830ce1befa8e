"""Constants as plain data: what JSON can hold.

In:  a constant, or an object. `Objects` numbers the objects.
Out: data for JSON. The other way: an equal constant, or the object of that number.

    (1, 2.5)    ->    ["tuple", 1, ["float", "0x1.4p+1"]]

Numbers, strings, None and booleans stand for themselves. All else is a list that begins with a word.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

import numpy as np
import torch

from guards.values import NUMPY_NUMBERS


class NotPlain(Exception):
    """There is no plain form. The text says of what, in a few words that repeat: it is counted."""


class Numbers(Protocol):
    """The numbers by which data names objects."""

    def number_of(self, value: Any) -> int:
        """Raises NotPlain for an object that another process could not find."""
        ...

    def number_in_guard(self, value: Any) -> int:
        """The same for an object of which a guard asks nothing but whether it is this one."""
        ...

    def number_of_key(self, value: Any) -> int:
        """The same for an object that is looked up by identity."""
        ...

    @property
    def addresses(self) -> Mapping[int, Any]:
        """`id(x)` -> x, for the numbers that the program looked up as keys."""
        ...

    @property
    def unread(self) -> Collection[str]:
        """The places of dicts none of whose keys the program has had as a value."""
        ...


class Objects(Protocol):
    """The objects of these numbers."""

    def __getitem__(self, number: int) -> Any: ...


Plain = Any

SELF_EVIDENT = frozenset((type(None), bool, int, str))
#: objects of which there is one for each value: a place that holds one holds its value
SINGLE = frozenset(
    (bool, type(None), type(Ellipsis), type(NotImplemented), torch.dtype, torch.layout, torch.memory_format)
)


def _of_items(kind: Callable[[Any], Any]) -> tuple[Any, Any]:
    return (
        lambda value, objects: [plain(item, objects) for item in value],
        lambda data, objects: kind([real(item, objects) for item in data]),
    )


def _of_parts(kind: type) -> tuple[Any, Any]:
    return (
        lambda value, objects: [plain(part, objects) for part in (value.start, value.stop, value.step)],
        lambda data, objects: kind(*[real(part, objects) for part in data]),
    )


def _named(kind: type) -> tuple[Any, Any]:
    def found(data: Any, objects: Objects) -> Any:
        value = getattr(torch, data[0])
        if type(value) is not kind:
            raise TypeError(f"torch.{data[0]} is no {kind.__name__}")
        return value

    return lambda value, objects: [str(value).removeprefix("torch.")], found


def _of_numpy(kind: type) -> tuple[Any, Any]:
    return (
        lambda value, objects: [value.tobytes().hex()],
        lambda data, objects: np.frombuffer(bytes.fromhex(data[0]), kind)[0],
    )


#: type -> (its parts as data, the value of these)
FORMS: dict[type, tuple[Any, Any]] = {
    float: (lambda v, o: [v.hex()], lambda d, o: float.fromhex(d[0])),
    complex: (
        lambda v, o: [v.real.hex(), v.imag.hex()],
        lambda d, o: complex(float.fromhex(d[0]), float.fromhex(d[1])),
    ),
    bytes: (lambda v, o: [v.hex()], lambda d, o: bytes.fromhex(d[0])),
    type(Ellipsis): (lambda v, o: [], lambda d, o: ...),
    type(NotImplemented): (lambda v, o: [], lambda d, o: NotImplemented),
    tuple: _of_items(tuple),
    frozenset: _of_items(frozenset),
    slice: _of_parts(slice),
    range: _of_parts(range),
    torch.Size: _of_items(torch.Size),
    torch.dtype: _named(torch.dtype),
    torch.layout: _named(torch.layout),
    torch.memory_format: _named(torch.memory_format),
    torch.device: (lambda v, o: [v.type, v.index], lambda d, o: torch.device(*d[: 2 - (d[1] is None)])),
    **{kind: _of_numpy(kind) for kind in NUMPY_NUMBERS},
}
_LONG = 2000  # bits
_BY_WORD: dict[str, tuple[Any, Any]] = {"long": (None, lambda d, o: int(d[0], 16))} | {
    kind.__name__: form for kind, form in FORMS.items()
}
OBJECT = "object"
ADDRESS = "id"
_NAN = frozenset((float, complex))


def plain(value: Any, objects: Numbers) -> Plain:
    """The data of a value: a constant by its contents, anything else by its number."""
    kind = type(value)
    if kind is int and value in objects.addresses:
        raise NotPlain("an address")
    if kind is int and value.bit_length() > _LONG:  # Python may refuse to write it in decimal digits
        return ["long", hex(value)]
    if kind in SELF_EVIDENT:
        return value
    if kind in _NAN and value != value:
        raise NotPlain("a NaN")  # its bits count, and the text does not have them
    form = FORMS.get(kind)
    return [OBJECT, objects.number_of(value)] if form is None else [kind.__name__, *form[0](value, objects)]


def plain_key(value: Any, objects: Numbers) -> Plain:
    """The data of what is looked up, or of a constant of the code. `id(x)` is another number in each process.

    Nothing can follow from that number but what is found: a guard on it has no plain form.
    """
    if type(value) is int and value in objects.addresses:
        return [ADDRESS, objects.number_of_key(objects.addresses[value])]
    return plain(value, objects)


def real(data: Plain, objects: Objects) -> Any:
    """The value of the data. What is no such data raises an error of some kind."""
    if type(data) is not list:
        if type(data) not in SELF_EVIDENT:
            raise TypeError(f"no plain value: {data!r}")
        return data
    word, *parts = data
    if word == ADDRESS:
        return id(objects[parts[0]])
    return objects[parts[0]] if word == OBJECT else _BY_WORD[word][1](parts, objects)


def is_plain_constant(value: Any) -> bool:
    """Whether `plain` needs no object for it."""
    kind = type(value)
    if kind in SELF_EVIDENT:
        return True
    if kind in (tuple, frozenset, torch.Size):
        return all(map(is_plain_constant, value))
    if kind in (slice, range):
        return all(map(is_plain_constant, (value.start, value.stop, value.step)))
    return kind in FORMS
