"""The messages of graphdef.proto as Python classes, made when they are needed.

In:  graphdef.proto, a file in protobuf's language (the part of it that `_LINES` lists).
Out: `message("GraphDef")`: a class of the package protobuf.

No file is generated ahead: generated ones work with few versions of protobuf. The pool is our own, so that a
process may import TensorFlow too.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "tensorflow"
_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "int32": _FIELD.TYPE_INT32,
    "int64": _FIELD.TYPE_INT64,
    "uint32": _FIELD.TYPE_UINT32,
    "uint64": _FIELD.TYPE_UINT64,
    "float": _FIELD.TYPE_FLOAT,
    "double": _FIELD.TYPE_DOUBLE,
    "bool": _FIELD.TYPE_BOOL,
    "string": _FIELD.TYPE_STRING,
    "bytes": _FIELD.TYPE_BYTES,
}


@functools.cache
def message(name: str) -> Any:
    """The class of the message `name`."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


@functools.cache
def _pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    text = Path(__file__).with_name("graphdef.proto").read_text(encoding="utf-8")
    pool.AddSerializedFile(_Reader().read(text).SerializeToString())
    return pool


class _Reader:
    """Reads a .proto file of one statement a line."""

    def __init__(self) -> None:
        self.file = descriptor_pb2.FileDescriptorProto(
            name="capture/graphdef.proto", package=_PACKAGE, syntax="proto3"
        )
        self.open: list[Any] = []  # the blocks around the line
        self.enums: set[str] = set()

    def read(self, text: str) -> descriptor_pb2.FileDescriptorProto:
        for line in text.splitlines():
            code = line.partition("//")[0].strip()
            if code and not code.startswith(("syntax", "package")):
                self._line(code)
        return self.file

    def _line(self, code: str) -> None:
        for pattern, step in _LINES:
            match = re.fullmatch(pattern, code)
            if match:
                step(self, **match.groupdict())
                return
        raise ValueError(f"graphdef.proto: {code!r}")

    def _enum(self, name: str) -> None:
        self.enums.add(name)
        self.open.append(self.file.enum_type.add(name=name))

    def _number(self, name: str, number: str) -> None:
        self.open[-1].value.add(name=name, number=int(number))

    def _message(self, name: str) -> None:
        self.open.append(self.file.message_type.add(name=name))

    def _oneof(self, name: str) -> None:
        self.open[-1].oneof_decl.add(name=name)
        self.open.append(self.open[-1])

    def _end(self) -> None:
        self.open.pop()

    def _field(self, repeated: str | None, kind: str, name: str, number: str) -> None:
        field = self._add(self.open[-1], kind, name, int(number), bool(repeated))
        if len(self.open) > 1:
            field.oneof_index = 0

    def _map(self, key: str, kind: str, name: str, number: str) -> None:
        owner = self.open[-1]
        entry = owner.nested_type.add(name=f"{name.capitalize()}Entry")
        entry.options.map_entry = True
        self._add(entry, key, "key", 1)
        self._add(entry, kind, "value", 2)
        self._add(owner, f"{owner.name}.{entry.name}", name, int(number), repeated=True)

    def _add(self, owner: Any, kind: str, name: str, number: int, repeated: bool = False) -> Any:
        field = owner.field.add(name=name, number=number)
        field.label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
        else:
            field.type = _FIELD.TYPE_ENUM if kind in self.enums else _FIELD.TYPE_MESSAGE
            field.type_name = f".{_PACKAGE}.{kind}"
        return field


_LINES: list[tuple[str, Callable[..., None]]] = [
    (r"enum (?P<name>\w+) \{", _Reader._enum),
    (r"message (?P<name>\w+) \{", _Reader._message),
    (r"oneof (?P<name>\w+) \{", _Reader._oneof),
    (r"\}", _Reader._end),
    (r"map<(?P<key>\w+), (?P<kind>\w+)> (?P<name>\w+) = (?P<number>\d+);", _Reader._map),
    (r"(?P<repeated>repeated )?(?P<kind>\w+) (?P<name>\w+) = (?P<number>\d+);", _Reader._field),
    (r"(?P<name>\w+) = (?P<number>\d+);", _Reader._number),
]
