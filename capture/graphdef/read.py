"""Reads a GraphDef, and tells where a file is damaged.

In:  a path or bytes, in protobuf's binary form or its text form.
Out: the message GraphDef. GraphDefError names the node, or the one before the damage.

protobuf skips a field whose wire type is not the declared one, as if it did not know it. Here it is an error:
a graph without this field would be another graph.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from google.protobuf import text_format, unknown_fields
from google.protobuf.message import DecodeError

from capture.graphdef import schema
from capture.report.errors import GraphDefError

_WIRE_TYPES = {0: "a varint", 1: "8 bytes", 2: "a length and bytes", 5: "4 bytes"}
_NODE_TAG = 1 << 3 | 2  # field 1 of GraphDef, a length and bytes


def read(source: str | os.PathLike[str] | bytes) -> Any:
    """The GraphDef of a file or of bytes."""
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    graph = _from_text(data) if _is_text(data) else _from_binary(data)
    if not graph.node:
        raise GraphDefError("the GraphDef has no nodes")
    return graph


def _is_text(data: bytes) -> bool:
    """A node in binary form has the control character 0x12 before its operator."""
    return re.search(rb"[\x00-\x08\x0e-\x1f]", data) is None


def _from_text(data: bytes) -> Any:
    graph = schema.message("GraphDef")()
    try:
        text = data.decode("utf-8")
        return text_format.Parse(text, graph)
    except UnicodeDecodeError as error:
        raise GraphDefError(f"this is no GraphDef, neither binary nor text: {error}") from None
    except text_format.ParseError as error:
        lines = text.splitlines()[: error.GetLine() or 0]
        names = re.findall(r"\bnode\s*\{\s*name\s*:\s*[\"']([^\"']+)", "\n".join(lines))
        where = f"node {names[-1]!r}: " if names else ""
        raise GraphDefError(f"{where}the text is no GraphDef: {error}") from None
    except ValueError as error:  # an enum with a number that is none of 32 bits
        raise GraphDefError(f"the text is no GraphDef: {error}") from None


def _from_binary(data: bytes) -> Any:
    try:
        graph = schema.message("GraphDef").FromString(data)
    except DecodeError:
        raise GraphDefError(_damage(data)) from None
    _check_wire_types(graph, "")
    return graph


def _check_wire_types(message: Any, place: str) -> None:
    fields = message.DESCRIPTOR.fields_by_number
    for unknown in unknown_fields.UnknownFieldSet(message):
        if unknown.field_number in fields:
            name = fields[unknown.field_number].name
            found = _WIRE_TYPES.get(unknown.wire_type, f"wire type {unknown.wire_type}")
            raise GraphDefError(f"{place}the field {name!r} of {message.DESCRIPTOR.name} is {found}")
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for part in _messages(field, value):
            named = f"node {part.name!r}: " if field.message_type.name == "NodeDef" else place
            _check_wire_types(part, named)


def _messages(field: Any, value: Any) -> list[Any]:
    if field.message_type.GetOptions().map_entry:
        return list(value.values())
    return [value] if hasattr(value, "DESCRIPTOR") else list(value)


# --- what is wrong with bytes that protobuf refuses -------------------------------------------------------


def _damage(data: bytes) -> str:
    """Which node is damaged. Read node by node: the message as a whole gives no place."""
    place, last = 0, None
    while place < len(data):
        if data[place] != _NODE_TAG:
            return f"{_after(last)}byte {place} begins no node: the file is damaged, or no GraphDef"
        try:
            length, begin = _varint(data, place + 1)
        except IndexError:
            return f"{_after(last)}the file is truncated"
        place = begin + length
        try:
            last = schema.message("NodeDef").FromString(data[begin:place]).name
        except DecodeError as error:
            if place > len(data):
                break
            name = _name_at(data, begin)
            return f"{f'node {name!r}' if name else _after(last) + 'the next node'} is damaged: {error}"
    name = _name_at(data, begin)
    return f"{f'in node {name!r}' if name else _after(last).rstrip(': ')}: the file is truncated"


def _after(name: str | None) -> str:
    return f"after node {name!r}: " if name else ""


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """The number at `place`, and where the next field begins."""
    number = shift = 0
    while True:
        byte = data[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place


def _name_at(data: bytes, begin: int) -> str | None:
    """The name of the node at `begin`, if it comes first and is whole."""
    try:
        if data[begin] != _NODE_TAG:
            return None
        length, start = _varint(data, begin + 1)
    except IndexError:
        return None
    name = data[start : start + length]
    return name.decode("utf-8", "replace") if len(name) == length else None
