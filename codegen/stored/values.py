"""Plain values of torch's graphs as JSON.

In:  None, numbers, texts, lists, tuples, dicts, slices, ranges, dtypes, devices, operators, functions; and
     functions that are made of such values: partial ones, and calls with bodies (`codegen.kernel.outlined`).
Out: JSON in which each value is exact, and back. `NotStored` where a value has no such form.

    (1, -0.0, torch.float32)   ->   {"tuple": [1, {"float": "0000000000000080"}, {"dtype": "float32"}]}

Numbers, texts, None and lists stand for themselves; every other value is an object with one key, its kind.
Bytes are in a list of their own: the JSON has their position.
"""

from __future__ import annotations

import functools
import struct
import types
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx.immutable_collections import immutable_dict, immutable_list

from codegen.kernel.outlined import Structure, outlined, parts_of
from codegen.stored import names
from codegen.stored.names import Malformed, NotStored

Write = Callable[["Writer", Any], Any]
Read = Callable[["Reader", Any], Any]


class Writer:
    """Writes values; `blobs` collects their bytes."""

    def __init__(self) -> None:
        self.blobs: list[bytes] = []
        self._places: dict[bytes, int] = {}

    def write(self, value: Any) -> Any:
        """Raises NotStored."""
        write = WRITERS.get(type(value))
        if write is None:
            return self.other(value)
        return write(self, value)

    def other(self, value: Any) -> Any:
        """What the table does not have: functions and classes by name."""
        call = parts_of(value)
        if call is not None:
            return {"outlined": [call[0], self.write(call[1])]}
        name = names.name_of(value)
        if isinstance(value, types.FunctionType):
            return {"function": [*name, names.contents_of(value)]}
        return {"named": list(name)}

    def blob(self, data: bytes) -> int:
        """The place of these bytes. Equal ones are stored once: plans for several sizes share their code."""
        place = self._places.get(data)
        if place is None:
            place = self._places[data] = len(self.blobs)
            self.blobs.append(data)
        return place


class Reader:
    """Reads what a Writer wrote. Raises Malformed."""

    def __init__(self, blobs: list[bytes]) -> None:
        self.blobs = blobs
        self.made: dict[int, Any] = {}  # what was made of bytes, by their place

    def read(self, data: Any) -> Any:
        if data is None or type(data) in (bool, int, str):
            return data
        if type(data) is list:
            return [self.read(item) for item in data]
        if type(data) is not dict or len(data) != 1:
            raise Malformed(f"not a value: {data!r:.80}")
        ((kind, content),) = data.items()
        if kind not in READERS:
            raise Malformed(f"a value of an unknown kind {kind!r:.80}")
        return READERS[kind](self, content)


def write_partial(writer: Writer, value: functools.partial[Any]) -> Any:
    return {"partial": [writer.write(part) for part in (value.func, value.args, value.keywords)]}


def write_structure(writer: Writer, value: Structure) -> Any:
    return {"structure": [writer.write(part) for part in value.parts]}


def same(_: Writer, value: Any) -> Any:
    return value


def write_float(_: Writer, value: float) -> Any:
    return {"float": struct.pack("<d", value).hex()}


def write_complex(_: Writer, value: complex) -> Any:
    return {"complex": struct.pack("<dd", value.real, value.imag).hex()}


def write_list(writer: Writer, value: Any) -> Any:
    return [writer.write(item) for item in value]


def write_tuple(writer: Writer, value: Any) -> Any:
    return {"tuple": write_list(writer, value)}


def write_size(writer: Writer, value: Any) -> Any:
    return {"size": write_list(writer, value)}


def write_dict(writer: Writer, value: Any) -> Any:
    return {"dict": [[writer.write(key), writer.write(item)] for key, item in value.items()]}


def write_slice(writer: Writer, value: slice) -> Any:
    return {"slice": write_list(writer, (value.start, value.stop, value.step))}


def write_range(_: Writer, value: range) -> Any:
    return {"range": [value.start, value.stop, value.step]}


def write_device(_: Writer, value: torch.device) -> Any:
    return {"device": [value.type, value.index]}


def write_operator(_: Writer, value: OpOverload) -> Any:
    return {"operator": list(names.operator_name(value))}


def write_bytes(writer: Writer, value: bytes) -> Any:
    return {"bytes": writer.blob(value)}


#: torch's constants: dtypes, layouts and memory formats, by kind
CONSTANTS = {"dtype": torch.dtype, "layout": torch.layout, "memory_format": torch.memory_format}


def write_constant(kind: str) -> Write:
    return lambda _, value: {kind: str(value).removeprefix("torch.")}


def read_constant(kind: str) -> Read:
    def read(_: Reader, name: Any) -> Any:
        value = getattr(torch, name, None) if type(name) is str else None
        if type(value) is not CONSTANTS[kind]:
            raise Malformed(f"no {kind}: {name!r:.80}")
        return value

    return read


def unpack(form: str, content: Any) -> tuple[Any, ...]:
    try:
        return struct.unpack(form, bytes.fromhex(content))
    except (struct.error, ValueError, TypeError) as error:
        raise Malformed(f"not a number: {content!r:.80}") from error


def items_of(content: Any) -> list[Any]:
    if type(content) is not list:
        raise Malformed(f"not a list: {content!r:.80}")
    return content


def read_items(reader: Reader, content: Any) -> list[Any]:
    return [reader.read(item) for item in items_of(content)]


def read_dict(reader: Reader, content: Any) -> dict[Any, Any]:
    pairs = [read_items(reader, pair) for pair in items_of(content)]
    if any(len(pair) != 2 for pair in pairs):
        raise Malformed("a dict whose items are no pairs")
    return dict(pairs)


def read_slice(reader: Reader, content: Any) -> slice:
    items = read_items(reader, content)
    if len(items) != 3:
        raise Malformed("a slice without three parts")
    return slice(*items)


def read_range(_: Reader, content: Any) -> range:
    parts = items_of(content)
    if [type(part) for part in parts] != [int, int, int] or parts[2] == 0:
        raise Malformed(f"no range: {content!r:.80}")
    return range(*parts)


def read_device(_: Reader, content: Any) -> torch.device:
    if content != ["cpu", None] and content != ["cpu", 0] and content != ["meta", None]:
        raise Malformed(f"no device: {content!r:.80}")
    return torch.device(*content) if content[1] is not None else torch.device(content[0])


def read_bytes(reader: Reader, place: Any) -> bytes:
    if type(place) is not int or not 0 <= place < len(reader.blobs):
        raise Malformed(f"no bytes at {place!r:.80}")
    return reader.blobs[place]


def read_function(_: Reader, content: Any) -> Any:
    *name, contents = items_of(content)
    found = names.object_named(*two_texts(name))
    if not isinstance(found, types.FunctionType) or names.contents_of(found) != contents:
        raise Malformed(f"{'.'.join(name)} is another function")
    return found


def read_partial(reader: Reader, content: Any) -> Any:
    parts = read_items(reader, content)
    if [type(part) for part in parts[1:]] != [tuple, dict] or not callable(parts[0]):
        raise Malformed(f"no partial function: {content!r:.80}")
    function, args, kwargs = parts
    return functools.partial(function, *args, **kwargs)


def read_structure(reader: Reader, content: Any) -> Structure:
    parts = read_items(reader, content)
    if [type(part) for part in parts[1:]] != [list, list]:
        raise Malformed(f"no structure: {content!r:.80}")
    return Structure.of_parts(*parts)


def read_outlined(reader: Reader, content: Any) -> Any:
    parts = read_items(reader, content)
    if [type(part) for part in parts] != [str, functools.partial]:
        raise Malformed(f"no call with bodies: {content!r:.80}")
    return outlined(*parts)


def no_content(_: Reader, content: Any) -> Any:
    return Ellipsis


WRITERS: dict[type, Write] = {
    type(None): same, bool: same, int: same, str: same,
    float: write_float, complex: write_complex, bytes: write_bytes,
    list: write_list, immutable_list: write_list, tuple: write_tuple, torch.Size: write_size,
    dict: write_dict, immutable_dict: write_dict, slice: write_slice, range: write_range,
    type(Ellipsis): lambda _, __: {"ellipsis": 0},
    functools.partial: write_partial, Structure: write_structure,
    torch.device: write_device, OpOverload: write_operator,
    **{kind: write_constant(name) for name, kind in CONSTANTS.items()},
}  # fmt: skip

READERS: dict[str, Read] = {
    "float": lambda _, content: unpack("<d", content)[0],
    "complex": lambda _, content: complex(*unpack("<dd", content)),
    "bytes": read_bytes,
    "tuple": lambda reader, content: tuple(read_items(reader, content)),
    "size": lambda reader, content: torch.Size(read_items(reader, content)),
    "dict": read_dict,
    "slice": read_slice,
    "range": read_range,
    "ellipsis": no_content,
    "device": read_device,
    "partial": read_partial,
    "structure": read_structure,
    "outlined": read_outlined,
    "operator": lambda _, content: names.operator_named(*two_texts(content)),
    "named": lambda _, content: names.object_named(*two_texts(content)),
    "function": read_function,
    **{name: read_constant(name) for name in CONSTANTS},
}


def two_texts(content: Any) -> tuple[str, str]:
    if type(content) is not list or [type(item) for item in content] != [str, str]:
        raise Malformed(f"not a name: {content!r:.80}")
    return content[0], content[1]


__all__ = ["Malformed", "NotStored", "Reader", "Writer"]
