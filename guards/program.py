"""Guard programs: a guard set as a straight line of instructions.

In:  a GuardSet, the sources of the graph's inputs (slots), the code object of the frame.
Out: `encode` gives a `_capture.GuardProgram`, which native code runs. Where the extension is not built it
     gives a `guards.twin.PythonProgram`.

    guards  type(x) is list, len(x) == 2; slots (x[0],)
    program LOAD_LOCAL r0 0; CHECK_TYPE r0 list; CHECK_LENGTH r0 2; LOAD_ITEM r1 r0 0; STORE_SLOT r1 0

`check` gives (-1, slots) where all guards hold, else (index of the first guard that fails, None). An index
past the guards means a slot that could not be loaded: `index - len(guards)` is its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

import _capture

from capture_records import dataclass
from guards.assembler import ProgramAssembler
from guards.encoder import Encoder
from guards.guard import Guard
from guards.guard_set import GuardSet
from guards.sources import Source
from guards.twin import PythonProgram
from guards.values import ObjectRef


@dataclass
class Assembled:
    """The text of a program, and what it needs. It checks `guards`, and then loads `slots`."""

    guards: GuardSet
    slots: Sequence[Source]
    text: ProgramAssembler
    registers: int
    ints: int
    places: int

    def program(self) -> Any:
        objects = (*self.text.objects, *self.guards.strong_objects())
        counts = (self.registers, self.ints, len(self.slots))
        return _capture.GuardProgram(self.text.to_bytes(), objects, *counts, places=self.places)

    def references(self) -> Iterator[ObjectRef]:
        """Every object that the guards and the sources of the slots name."""
        for named in (*self.guards, *self.slots):
            yield from named.references() if isinstance(named, Guard) else named.references


@dataclass
class InPython:
    """The same where the extension is not built."""

    guards: GuardSet
    slots: Sequence[Source]
    code: CodeType

    def program(self) -> Any:
        return PythonProgram(self.guards, self.slots, self.code, _capture.NULL)


def encode(guard_set: GuardSet, slots: Sequence[Source], code: CodeType) -> Any:
    """The program that checks `guard_set` in its order and then loads `slots`."""
    return assemble(guard_set, slots, code).program()


def assemble(guard_set: GuardSet, slots: Sequence[Source], code: CodeType) -> Assembled | InPython:
    """The same as instructions.

    From now on the set watches the objects that name the slots. Raises ProgramTooLarge, and KeyError for a
    local that `code` lacks.
    """
    if not hasattr(_capture, "GuardProgram"):
        guard_set.watch(slots)
        return InPython(guard_set, slots, code)
    _capture.calibrate()
    encoder = Encoder(code)
    for encoder.guard, guard in enumerate(guard_set):
        guard.encode(encoder)
    for slot, source in enumerate(slots):
        encoder.guard = len(guard_set) + slot
        encoder.store(source, slot)
    guard_set.watch(slots)
    return Assembled(guard_set, slots, encoder.assembler, encoder.registers, encoder.ints, encoder.places)
