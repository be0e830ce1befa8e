"""Instructions of guard programs as words.

In:  instructions by name. The extension tells their numbers and operands, from the table in
     `native/guards/guard_instructions.h`.
Out: `ProgramAssembler`: the words, and the objects that they refer to.

    emit("CHECK_LENGTH", b=3, operands=[2], guard=7)   ->   head word, 2
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import _capture

from guards.values import ObjectRef

REGISTER_LIMIT = 1 << 16
GUARD_LIMIT = 1 << 23


class InstructionFormat(NamedTuple):
    """`operands`: one letter for each word, as the header explains them."""

    number: int
    operands: str


@cache
def instructions() -> dict[str, InstructionFormat]:
    """The instructions that the extension runs, by name."""
    rows = enumerate(_capture.guard_instructions)
    return {name: InstructionFormat(number, operands) for number, (name, _, operands) in rows}


class ProgramTooLarge(ValueError):
    """More guards or places than a program can number."""


class ProgramAssembler:
    """Collects words, and the objects that they refer to.

    Some words are other ones in each process: `addresses` has their places and the objects; `hashes` and
    `hashes_of_objects` have the hashes of constants, by their indices in `objects`, and of other keys.
    `answers` has the words that say what a function answered.
    """

    def __init__(self) -> None:
        self.words: list[int] = []
        self.objects: list[Any] = []
        self.addresses: list[tuple[int, ObjectRef]] = []
        self.hashes: list[tuple[int, int]] = []
        self.hashes_of_objects: list[tuple[int, ObjectRef]] = []
        self.answers: list[int] = []
        self._object_index: dict[int, int] = {}

    def emit(
        self, name: str, *, a: int = 0, b: int = 0, operands: Sequence[Any] = (), guard: int = 0
    ) -> None:
        """Append an instruction. Its row in the table says what `operands` are: an int for the letter i, an
        ObjectRef or 0 for a, any object for o, a constant or an ObjectRef for k. Counts and caches are not
        given.
        """
        if max(a, b) >= REGISTER_LIMIT or guard >= GUARD_LIMIT:
            limits = f"the limits are {GUARD_LIMIT} and {REGISTER_LIMIT}"
            raise ProgramTooLarge(f"guard {guard} of a program with {max(a, b)} places: {limits}")
        number, letters = instructions()[name]
        self.words.append(number | a << 8 | b << 24 | guard << 40)
        kinds = letters.replace(".", "")
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
            elif kind == "o":
                self.words.append(self.hold(next(remaining)))
            else:
                self._append_number(next(remaining))

    def _append_number(self, operand: Any) -> None:
        if type(operand) is ObjectRef:
            self.addresses.append((len(self.words), operand))
            self.words.append(operand.id)
        else:
            self.words.append(int(operand))

    def _append_key(self, key: Any) -> None:
        place = len(self.words)
        if type(key) is ObjectRef:
            self.addresses.append((place + 1, key))
            self.hashes_of_objects.append((place + 2, key))
            self.words += [1, key.id, key.hash_value or 0]
        else:
            index = self.hold(key)
            self.hashes.append((place + 2, index))
            self.words += [0, index, hash(key)]

    def hold(self, value: Any) -> int:
        """The index of the object among those that the program owns. Equal constants stay several objects:
        a guard may say that a place does not hold this one.
        """
        if id(value) not in self._object_index:
            self._object_index[id(value)] = len(self.objects)
            self.objects.append(value)
        return self._object_index[id(value)]

    def to_bytes(self) -> bytes:
        signed = (word - (1 << 64) if word >= 1 << 63 else word for word in self.words)
        return struct.pack(f"{len(self.words)}q", *signed)
