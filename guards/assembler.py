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
    """Collects words, and the objects that they refer to."""

    def __init__(self) -> None:
        self.words: list[int] = []
        self.objects: list[Any] = []
        self._object_index: dict[int, int] = {}

    def emit(
        self, name: str, *, a: int = 0, b: int = 0, operands: Sequence[Any] = (), guard: int = 0
    ) -> None:
        """Append an instruction. Its row in the table says what `operands` are: an int for the letters i and
        a, any object for o, a constant or an ObjectRef for k. Counts and caches are not given.
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
            else:
                operand = next(remaining)
                self.words.append(self.hold(operand) if kind == "o" else int(operand))

    def _append_key(self, key: Any) -> None:
        if isinstance(key, ObjectRef):
            self.words += [1, key.id, key.hash_value or 0]
        else:
            self.words += [0, self.hold(key), hash(key)]

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
