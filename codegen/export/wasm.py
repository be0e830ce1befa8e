"""A WebAssembly module from an object file.

In:  the bytes of an object file for wasm32, the name of its function.
Out: a module that exports the function, its memory, and `heap`: where free memory begins. What it imports
     are functions of libm, from the module "env".

    linked(object, "mlp")   ->   b"\\0asm...": exports memory, heap, mlp

There is one object file, so linking is little: data gets its place behind the stack, and each place in the
code that names an address gets the number. The format is that of the tool conventions of WebAssembly
(sections "linking" and "reloc.CODE").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from capture_records import dataclass
from codegen.kernel.errors import EmitError

PAGE = 65536
STACK_BYTES = 1 << 20
MAGIC = b"\0asm\x01\0\0\0"
#: numbers of sections
CUSTOM, TYPE, IMPORT, FUNCTION, MEMORY, GLOBAL, EXPORT, CODE, DATA = 0, 1, 2, 3, 5, 6, 7, 10, 11
#: kinds of relocations
FUNCTION_INDEX, ADDRESS, ADDRESS_SIGNED, TYPE_INDEX, GLOBAL_INDEX = 0, 3, 4, 6, 7
WITH_ADDEND = frozenset({3, 4, 5, 8, 9, 11, 14, 15, 16, 17, 18, 22, 23})
SYMBOL_FUNCTION, SYMBOL_DATA, SYMBOL_GLOBAL = 0, 1, 2
UNDEFINED, EXPLICIT_NAME = 0x10, 0x40


class Reader:
    """Reads numbers and names of a section."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def number(self) -> int:
        result = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return result

    def signed(self) -> int:
        begin = self.at
        value = self.number()
        bits = 7 * (self.at - begin)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def taken(self, size: int) -> bytes:
        found = self.data[self.at : self.at + size]
        self.at += size
        return found

    def name(self) -> str:
        return self.taken(self.number()).decode()


def number(value: int) -> bytes:
    """An unsigned number, as short as it can be."""
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def padded(value: int) -> bytes:
    """A number in five bytes; negative ones too, which the relocations of addresses never are."""
    return bytes((value >> 7 * i & 0x7F) | (0x80 if i < 4 else 0) for i in range(5))


def text(value: str) -> bytes:
    return number(len(value.encode())) + value.encode()


def vector(items: list[bytes]) -> bytes:
    return number(len(items)) + b"".join(items)


@dataclass(slots=True)
class Symbol:
    kind: int
    flags: int
    name: str
    index: int = 0  # of the function or global; of the segment for data
    offset: int = 0


@dataclass(slots=True)
class Object:
    """An object file in its parts. `imports`: (module, name, kind, description as bytes)."""

    sections: dict[int, bytes] = field(default_factory=dict)
    imports: list[tuple[str, str, int, bytes]] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    segments: list[tuple[bytes, int]] = field(default_factory=list)  # bytes, alignment
    relocations: dict[int, list[tuple[int, int, int, int]]] = field(default_factory=dict)


def linked(data: bytes, name: str) -> bytes:
    """The module. Raises EmitError for what one object file of ours does not have."""
    found = _read(data)
    places, heap = _placed(found.segments)
    code = bytearray(found.sections.get(CODE, b"\0"))
    content = [bytearray(segment) for segment, _ in found.segments]
    addresses = [
        places[symbol.index] + symbol.offset if symbol.kind == SYMBOL_DATA and symbol.name else 0
        for symbol in found.symbols
    ]
    functions = [place for place in found.imports if place[2] == 0]
    for kind, at, index, addend in found.relocations.get(CODE, []):
        code[at : at + 5] = padded(_value(kind, found, index, addresses) + addend)
    if found.relocations.get(DATA):
        raise EmitError("constants of the module have addresses in them")
    symbol = next(s for s in found.symbols if s.kind == SYMBOL_FUNCTION and s.name == name)
    heap_global = 1
    out = {
        TYPE: found.sections[TYPE],
        IMPORT: vector(
            [text(module) + text(one) + bytes([kind]) + what for module, one, kind, what in functions]
        ),
        FUNCTION: found.sections[FUNCTION],
        MEMORY: b"\x01\x00" + number(-(-heap // PAGE) + 1),
        GLOBAL: vector(
            [
                b"\x7f\x01\x41" + _constant(STACK_BYTES) + b"\x0b",  # the stack pointer, which moves
                b"\x7f\x00\x41" + _constant(heap) + b"\x0b",
            ]
        ),
        EXPORT: vector(
            [
                text("memory") + b"\x02\x00",
                text("heap") + b"\x03" + number(heap_global),
                text(name) + b"\x00" + number(symbol.index),
            ]
        ),
        CODE: bytes(code),
        DATA: vector(
            [
                b"\x00\x41" + _constant(place) + b"\x0b" + number(len(segment)) + bytes(segment)
                for place, segment in zip(places, content, strict=True)
            ]
        ),
    }
    sections = [bytes([kind]) + number(len(body)) + body for kind, body in sorted(out.items())]
    return MAGIC + b"".join(sections)


def imports_of(data: bytes) -> list[str]:
    """The functions that the object file needs from elsewhere."""
    return [name for _, name, kind, _ in _read(data).imports if kind == 0]


def _constant(value: int) -> bytes:
    """The operand of i32.const."""
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        if (value == 0 and not low & 0x40) or (value == -1 and low & 0x40):
            out.append(low)
            return bytes(out)
        out.append(low | 0x80)


def _value(kind: int, found: Object, index: int, addresses: list[int]) -> int:
    """The number that a relocation puts into the code."""
    if kind == TYPE_INDEX:
        return index
    if kind in (ADDRESS, ADDRESS_SIGNED):
        return addresses[index]
    if kind == FUNCTION_INDEX:
        return found.symbols[index].index
    if kind == GLOBAL_INDEX and found.symbols[index].name == "__stack_pointer":
        return 0
    raise EmitError(f"a WebAssembly relocation of kind {kind} ({found.symbols[index].name})")


def _placed(segments: list[tuple[bytes, int]]) -> tuple[list[int], int]:
    """The address of each segment, behind the stack, and of the free memory behind them."""
    places, at = [], STACK_BYTES
    for content, alignment in segments:
        at = -(-at // alignment) * alignment
        places.append(at)
        at += len(content)
    return places, -(-at // 64) * 64


def _read(data: bytes) -> Object:
    if data[:8] != MAGIC:
        raise EmitError("no WebAssembly object")
    found, reader = Object(), Reader(data, 8)
    while reader.at < len(data):
        kind = reader.taken(1)[0]
        body = reader.taken(reader.number())
        if kind == CUSTOM:
            inner = Reader(body)
            name = inner.name()
            if name in CUSTOMS:
                CUSTOMS[name](found, inner)
        else:
            found.sections[kind] = body
            if kind == IMPORT:
                _read_imports(found, Reader(body))
            if kind == DATA:
                _read_data(found, Reader(body))
    return found


def _read_imports(found: Object, reader: Reader) -> None:
    for _ in range(reader.number()):
        module, name, kind = reader.name(), reader.name(), reader.taken(1)[0]
        begin = reader.at
        if kind == 0:
            reader.number()
        elif kind == 3:
            reader.at += 2
        else:  # a memory or a table: perhaps a type, then the limits
            reader.at += 1 if kind == 1 else 0
            flags = reader.number()
            reader.number()
            if flags & 1:
                reader.number()
        found.imports.append((module, name, kind, reader.data[begin : reader.at]))


def _read_data(found: Object, reader: Reader) -> None:
    for _ in range(reader.number()):
        flags = reader.number()
        if flags != 0:
            raise EmitError(f"a WebAssembly segment of kind {flags}")
        assert reader.taken(1) == b"\x41", "segments of object files begin at a constant"
        reader.signed()
        reader.at += 1
        found.segments.append((reader.taken(reader.number()), 1))


def _read_linking(found: Object, reader: Reader) -> None:
    reader.number()  # the version
    while reader.at < len(reader.data):
        kind, size = reader.taken(1)[0], reader.number()
        inner = Reader(reader.taken(size))
        if kind == 8:
            found.symbols = [_read_symbol(found, inner) for _ in range(inner.number())]
        elif kind == 5:
            for place in range(inner.number()):
                inner.name()
                alignment = 1 << inner.number()
                inner.number()
                found.segments[place] = found.segments[place][0], alignment


def _read_symbol(found: Object, reader: Reader) -> Symbol:
    kind, flags = reader.taken(1)[0], reader.number()
    if kind == SYMBOL_DATA:
        symbol = Symbol(kind, flags, reader.name())
        if not flags & UNDEFINED:
            symbol.index, symbol.offset = reader.number(), reader.number()
            reader.number()
        return symbol
    index = reader.number()
    if kind == 3:  # a section
        return Symbol(kind, flags, "", index)
    if flags & UNDEFINED and not flags & EXPLICIT_NAME:
        imported = [place for place in found.imports if place[2] == (0 if kind == SYMBOL_FUNCTION else 3)]
        return Symbol(kind, flags, imported[index][1], index)
    return Symbol(kind, flags, reader.name(), index)


def _read_relocations(kind: int) -> Callable[[Object, Reader], None]:
    def read(found: Object, reader: Reader) -> None:
        reader.number()  # of the section
        rows = []
        for _ in range(reader.number()):
            how, at, index = reader.taken(1)[0], reader.number(), reader.number()
            rows.append((how, at, index, reader.signed() if how in WITH_ADDEND else 0))
        found.relocations[kind] = rows

    return read


CUSTOMS: dict[str, Callable[[Object, Reader], None]] = {
    "linking": _read_linking,
    "reloc.CODE": _read_relocations(CODE),
    "reloc.DATA": _read_relocations(DATA),
}
