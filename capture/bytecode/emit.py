"""The part of new code objects that does not depend on CPython's version.

In:  calls of an assembler's methods, one for each action of the new code.
Out: a list of instructions for the library `bytecode`, and the code object that it makes of the list.

`Emission` holds the list. The instructions themselves come from the assembler of a dialect
(`capture/bytecode/dialects/`), which is a subclass.

    code.load_local("x"); code.return_value()     ->     LOAD_FAST x; RETURN_VALUE
"""

from __future__ import annotations

import types
from typing import Any

from capture.bytecode import library
from guards.lookup import type_lookup

PLAIN_CONSTANTS = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis))


class HeldObject:
    """A placeholder for an object among the constants until the code object exists.

    The library compares constants by value, and an object may not allow that.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Box(HeldObject):
    """It stays among the constants of the code, which reads its `value`.

    The hash of a code object is made of those of its constants, and tools that show a traceback ask for it.
    An object may have no hash, or one that runs code of the program.
    """

    __slots__ = ()


_CONSTANTS_AS_THEY_ARE = frozenset((*PLAIN_CONSTANTS, HeldObject, Box))
#: Types whose `__hash__` looks at the address alone, or at what the program can't change.
_SAFE_HASHES = frozenset(id(kind.__hash__) for kind in (object, types.BuiltinFunctionType, types.CodeType))


def held_constant(value: Any) -> Any:
    if type(value) in _CONSTANTS_AS_THEY_ARE:
        return value
    return HeldObject(value) if id(type_lookup(type(value), "__hash__")) in _SAFE_HASHES else Box(value)


def release_constants(code: types.CodeType) -> types.CodeType:
    """The code object with the objects themselves among its constants, but for those in boxes."""
    constants = tuple(c.value if type(c) is HeldObject else c for c in code.co_consts)
    return code.replace(co_consts=constants)


#: a name, and an operand where the instruction has one
NamedInstruction = tuple[Any, ...]


class Emission:
    """A growing list of instructions. Each new one has `location`, the place in the program's source."""

    def __init__(
        self, location: library.InstrLocation | None = None, instructions: list[Any] | None = None
    ) -> None:
        self.location = location
        self.instructions: list[Any] = [] if instructions is None else instructions

    def add(self, name: str, *operand: Any) -> None:
        """Add one instruction by its name. Only the methods of a dialect call this."""
        self.instructions.append(library.Instr(name, *operand, location=self.location))

    def append(self, item: Any) -> None:
        """Add a label, or the begin or end of a try block."""
        self.instructions.append(item)


def bytecode_like(
    original: types.CodeType, instructions: list[Any], arguments: list[str], flags: int
) -> library.Bytecode:
    """Bytecode with the name and place of `original`. All arguments are positional."""
    result = library.Bytecode(instructions)
    result.name, result.qualname = original.co_name, original.co_qualname
    result.filename, result.first_lineno = original.co_filename, original.co_firstlineno
    result.argnames, result.argcount = arguments, len(arguments)
    result.flags = flags  # type: ignore[assignment]
    return result
