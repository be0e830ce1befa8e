"""The instruction set of guard programs, as in native/guards/guard_instructions.h (a test compares the two).

In:  nothing.
Out: `INSTRUCTIONS`, `OPCODES`, and `Assembler`, which turns instructions into words.

    emit("CHECK_LENGTH", b=3, operands=[2], guard=7)   ->   head word, 2

Fields A and B: d object register written, D integer register written, s object register read, S integer
register read, - unused. Operands: i integer, o object, a address of an object that is not held, k.. key
(three words: 0 and an object or 1 and an address; its hash), c cache word (zero), * a count, with all behind
it repeated that often.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from guards.values import ObjectRef, constant_identity, is_constant


class Instruction(NamedTuple):
    name: str
    fields: str
    operands: str


INSTRUCTIONS: tuple[Instruction, ...] = tuple(
    Instruction(*row)
    for row in (
        ("LOAD_LOCAL", "d-", "i"),
        ("LOAD_GLOBAL", "d-", "k..c"),
        ("LOAD_BUILTIN", "d-", "k..c"),
        ("LOAD_GLOBALS", "d-", ""),
        ("LOAD_FUNCTION", "d-", ""),
        ("LOAD_FREE_CELL", "d-", "i"),
        ("LOAD_CONSTANT", "d-", "o"),
        ("LOAD_STATE", "d-", "oo"),
        ("LOAD_ATTR", "ds", "k..ccccccc"),
        ("LOAD_TYPE_ATTR", "ds", "k..a"),
        ("LOAD_MODULE_DICT", "ds", ""),
        ("LOAD_DICT", "ds", ""),
        ("LOAD_TYPE", "ds", ""),
        ("LOAD_MRO_ITEM", "ds", "i"),
        ("LOAD_FUNCTION_FIELD", "ds", "i"),
        ("LOAD_CLASS_NAME", "ds", "i"),
        ("LOAD_CELL", "ds", ""),
        ("LOAD_METHOD_FIELD", "ds", "i"),
        ("LOAD_BUILTIN_SELF", "ds", "i"),
        ("LOAD_ITEM", "ds", "i"),
        ("LOAD_DEQUE_ITEM", "ds", "i"),
        ("LOAD_DICT_ITEM", "ds", "k..c"),
        ("LOAD_DICT_KEY", "ds", "i"),
        ("LOAD_DICT_VALUE", "ds", "i"),
        ("LOAD_ITERATOR_PART", "ds", "i"),
        ("LOAD_GRAD", "ds", ""),
        ("LOAD_WEAKREF", "ds", ""),
        ("LOAD_SHAPE", "Ds", "ii"),
        ("LOAD_INT", "Ds", ""),
        ("LOAD_FLOAT", "Ds", ""),
        ("CHECK_TYPE", "-s", "a"),
        ("CHECK_ID", "-s", "a"),
        ("CHECK_SAME", "ss", ""),
        ("CHECK_NOT_NONE", "-s", ""),
        ("CHECK_LENGTH", "-s", "i"),
        ("CHECK_BOOL", "-s", "i"),
        ("CHECK_GRAD_NONE", "-s", "i"),
        ("CHECK_INT", "-s", "i"),
        ("CHECK_CONSTANT", "-s", "o"),
        ("CHECK_CONTENTS", "-s", "o"),
        ("CHECK_INT_RANGE", "-s", "ii"),
        ("CHECK_WEAKREF", "-s", ""),
        ("CHECK_ITERATOR", "-s", "*i"),
        ("CHECK_TENSOR", "-s", "aiiiiii*i"),
        ("CHECK_UNWRITTEN", "-s", "ii"),
        ("CHECK_BUFFER", "-s", "aii*i"),
        ("CHECK_FUNCTION", "-s", ""),
        ("CHECK_GLOBAL_STATE", "--", "*i"),
        ("CHECK_STATE", "--", "ooo"),
        ("CHECK_NO_ATTRIBUTE", "-s", "k.."),
        ("CHECK_HAS_ATTRIBUTE", "-s", "k..i"),
        ("CHECK_CLASS_LACKS", "-s", "k.."),
        ("CHECK_DICT_CONTAINS", "-s", "k..i"),
        ("CHECK_DICT_KEYS", "-s", "*k.."),
        ("CHECK_SET", "-s", "*k.."),
        ("CHECK_SET_LAYOUT", "-s", "*i"),
        ("CHECK_DISTINCT", "--", "*i"),
        ("CHECK_ALIASING", "--", "*ii"),
        ("CHECK_SHAPE", "--", "*ii"),
        ("STORE_SLOT", "-s", "i"),
        ("STORE_INT_SLOT", "-S", "i"),
    )
)
OPCODES: dict[str, int] = {instruction.name: number for number, instruction in enumerate(INSTRUCTIONS)}

REGISTER_LIMIT = 1 << 16
GUARD_LIMIT = 1 << 23


class ProgramTooLarge(ValueError):
    """More guards or places than a program can number."""


class Assembler:
    """Collects words and the objects that they refer to."""

    def __init__(self) -> None:
        self.words: list[int] = []
        self.objects: list[Any] = []
        self._object_index: dict[Any, int] = {}

    def emit(
        self, name: str, *, a: int = 0, b: int = 0, operands: Sequence[Any] = (), guard: int = 0
    ) -> None:
        """Append an instruction. `operands` as its table row says: an int for i, a and counts, any object for
        o, a payload key for k.
        """
        if max(a, b) >= REGISTER_LIMIT or guard >= GUARD_LIMIT:
            raise ProgramTooLarge(
                f"guard {guard} of a program with {max(a, b)} places; the limits are {GUARD_LIMIT} and {REGISTER_LIMIT}"
            )
        self.words.append(OPCODES[name] | a << 8 | b << 24 | guard << 40)
        kinds = INSTRUCTIONS[OPCODES[name]].operands.replace(".", "")
        fixed, star, repeated = kinds.partition("*")
        self._append(fixed, operands[: len(fixed.replace("c", ""))])
        if star:
            items = operands[len(fixed) :]
            self.words.append(len(items) // len(repeated))
            self._append(repeated * (len(items) // len(repeated)), items)

    def _append(self, kinds: str, operands: Sequence[Any]) -> None:
        remaining = iter(operands)
        for kind in kinds:
            if kind == "c":
                self.words.append(0)
            elif kind == "k":
                self._append_key(next(remaining))
            else:
                operand = next(remaining)
                self.words.append(self.hold(operand) if kind == "o" else int(operand))

    def _append_key(self, key: Any) -> None:
        if isinstance(key, ObjectRef):
            self.words += [1, key.id, key.hash_value or 0]
        else:
            self.words += [0, self.hold(key), hash(key)]

    def hold(self, value: Any) -> int:
        """Index of the object among those that the program owns."""
        identity = constant_identity(value) if is_constant(value) else ("id", id(value))
        if identity not in self._object_index:
            self._object_index[identity] = len(self.objects)
            self.objects.append(value)
        return self._object_index[identity]

    def to_bytes(self) -> bytes:
        signed = (word - (1 << 64) if word >= 1 << 63 else word for word in self.words)
        return struct.pack(f"{len(self.words)}q", *signed)
