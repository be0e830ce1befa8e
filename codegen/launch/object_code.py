"""Object files of x86-64 as code in memory.

In:  the bytes of an ELF object file, and the addresses of the functions that it calls.
Out: `ObjectCode`: the addresses of its functions, as long as it lives. None where the file has more than
     kernels have: LLVM's own linker takes it then.

    load(object_file, address_of)["k_1f0a"]   ->   0x7f..

    memory:  .text | .rodata | for each called function:  jmp *[address]  address

LLVM's linker keeps some 10 KB of each library that it has unloaded. A kernel needs little of it: its
instructions and constants lie in one mapping, at fixed distances, and each call of another function goes
through a jump in that mapping.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import struct
from collections.abc import Callable
from typing import NamedTuple

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_DISTANCE = struct.Struct("<i")

_ELF64 = b"\x7fELF\x02\x01"
_RELOCATABLE, _X86_64 = 1, 62
_PROGBITS, _SYMTAB, _RELA, _REL = 1, 2, 4, 9  # kinds of sections
_ALLOCATED, _ONLY_CODE_AND_CONSTANTS = 0x2, 0x2 | 0x4 | 0x10 | 0x20  # flags: executable, mergeable, strings
_UNDEFINED, _RESERVED = 0, 0xFF00  # numbers of sections in symbols
_PC32, _PLT32 = 2, 4  # distances of 32 bits: to a place, and to a function that is called

#: jmp *[rip + 2]; the address lies behind it, on a boundary of eight bytes
_JUMP = struct.Struct("<6s2xQ")
_JUMP_CODE = b"\xff\x25\x02\x00\x00\x00"


class _Unknown(Exception):
    """The file has something that kernels do not have."""


class _Section(NamedTuple):
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


class ObjectCode:
    """The code of one object file, in memory of its own. The last reference gives the memory back."""

    def __init__(self, image: bytes, places: dict[str, int]) -> None:
        self._memory = mmap.mmap(-1, len(image), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._memory[:] = image
        self._places = places
        self._begin = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        if _protect()(self._begin, len(image), mmap.PROT_READ | mmap.PROT_EXEC):
            number = ctypes.get_errno()
            raise OSError(number, f"the system does not allow new machine code: {os.strerror(number)}")

    def __getitem__(self, symbol: str) -> int:
        """The address of a function."""
        return self._begin + self._places[symbol]

    def size(self, symbol: str) -> int:
        """Bytes from the begin of a function to that of the next, or to the end."""
        place = self._places[symbol]
        behind = (other for other in self._places.values() if other > place)
        return min(behind, default=len(self._memory)) - place


def load(object_file: bytes, address_of: Callable[[str], int]) -> ObjectCode | None:
    """The code of an object file. `address_of` has the addresses of functions that are not in it."""
    try:
        parts = _Parts(object_file)
    except _Unknown:
        return None
    return ObjectCode(parts.image(address_of), parts.functions)


class _Parts:
    """An object file: where its sections go in memory, and the distances that are to be filled in.

    functions: the place of each global symbol. calls: the name of each function that is called, and the
    place of its jump.
    """

    def __init__(self, file: bytes) -> None:
        self.file = file
        self.sections = _sections(file)
        self.size = 0
        self.places = {number: self._place_of(section) for number, section in self._loaded()}
        self.calls: dict[str, int] = {}
        self.functions: dict[str, int] = {}
        self.distances: list[tuple[int, int]] = []  # (place, value)
        self._read_symbols()
        self._read_relocations()

    def image(self, address_of: Callable[[str], int]) -> bytes:
        memory = bytearray(self.size)
        for number, place in self.places.items():
            section = self.sections[number]
            memory[place : place + section.size] = self.file[section.offset : section.offset + section.size]
        for name, place in self.calls.items():
            _JUMP.pack_into(memory, place, _JUMP_CODE, address_of(name))
        for place, value in self.distances:
            _DISTANCE.pack_into(memory, place, value)
        return bytes(memory)

    def _loaded(self) -> list[tuple[int, _Section]]:
        found = [(n, s) for n, s in enumerate(self.sections) if s.flags & _ALLOCATED and s.size]
        if any(s.kind != _PROGBITS or s.flags & ~_ONLY_CODE_AND_CONSTANTS for _, s in found):
            raise _Unknown
        return found

    def _place_of(self, section: _Section) -> int:
        place = -(-self.size // section.alignment) * section.alignment
        self.size = place + section.size
        return place

    def _place_of_call(self, name: str) -> int:
        if name not in self.calls:
            self.calls[name] = -(-self.size // _JUMP.size) * _JUMP.size
            self.size = self.calls[name] + _JUMP.size
        return self.calls[name]

    def _read_symbols(self) -> None:
        tables = [section for section in self.sections if section.kind == _SYMTAB]
        if len(tables) != 1:
            raise _Unknown
        names = self.sections[tables[0].link].offset
        self.symbols = []
        for name, info, _, section, value, _ in _SYMBOL.iter_unpack(_content(self.file, tables[0])):
            text = self.file[names + name : self.file.index(b"\0", names + name)].decode()
            self.symbols.append((text, section, value))
            if info >> 4 and section in self.places:  # not local
                self.functions[text] = self.places[section] + value

    def _read_relocations(self) -> None:
        for section in self.sections:
            if section.kind == _REL or (section.kind == _RELA and section.info not in self.places):
                raise _Unknown
            if section.kind == _RELA:
                for offset, info, addend in _RELOCATION.iter_unpack(_content(self.file, section)):
                    place = self.places[section.info] + offset
                    self.distances.append((place, self._target(info) + addend - place))

    def _target(self, info: int) -> int:
        """The place that a relocation is about."""
        kind, (name, section, value) = info & 0xFFFFFFFF, self.symbols[info >> 32]
        if section in self.places and kind in (_PC32, _PLT32):
            return self.places[section] + value
        if section == _UNDEFINED and kind == _PLT32:
            return self._place_of_call(name)
        raise _Unknown


def _sections(file: bytes) -> list[_Section]:
    if len(file) < _HEADER.size or not file.startswith(_ELF64):
        raise _Unknown
    header = _HEADER.unpack_from(file)
    kind, machine, table, count = header[1], header[2], header[6], header[12]
    if (kind, machine) != (_RELOCATABLE, _X86_64) or not 0 < count < _RESERVED:
        raise _Unknown
    content = file[table : table + count * _SECTION.size]
    return [
        _Section(kind, flags, offset, size, link, info, max(1, alignment))
        for _, kind, flags, _, offset, size, link, info, alignment, _ in _SECTION.iter_unpack(content)
    ]


def _content(file: bytes, section: _Section) -> bytes:
    return file[section.offset : section.offset + section.size]


@functools.cache
def _protect() -> Callable[[int, int, int], int]:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return function
