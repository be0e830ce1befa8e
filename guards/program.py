"""Guard programs: a guard set as a straight line of instructions.

In:  a GuardSet, the sources of the graph's inputs (slots), the code object of the frame.
Out: `encode` -> `_capture.GuardProgram`, run by native code. `guards.twin.PythonProgram` is the same in
     Python, where the extension is not built.

    guards  type(x) is list, len(x) == 2; slots (x[0],)
    program LOAD_LOCAL r0 0; CHECK_TYPE r0 list; CHECK_LENGTH r0 2; LOAD_ITEM r1 r0 0; STORE_SLOT r1 0

Every source is loaded once, into a register of its own. `check` gives (-1, slots), or the index of the first
guard that fails and None; an index past the guards means that the slot of that number (counted from there)
could not be loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any

import _capture

from guards.encoders import check, load
from guards.guard_set import GuardSet
from guards.instructions import Assembler
from guards.namespace import localsplus_names
from guards.sources import Source
from guards.twin import PythonProgram


class Encoder:
    """Writes one program: registers by source."""

    def __init__(self, code: CodeType) -> None:
        self.code: CodeType = code
        self.assembler = Assembler()
        self.emit = self.assembler.emit
        self.places = 0  # of the widest aliasing guard
        self.registers = 0
        self.ints = 0
        self._register_of: dict[Source, int] = {}
        self._int_register_of: dict[Source, int] = {}
        self._names = {name: index for index, name in enumerate(localsplus_names(code))}

    def local_index(self, name: str) -> int:
        """Position among the frame's fast locals. Raises KeyError for a name that the code does not have."""
        return self._names[name]

    def new_register(self) -> int:
        self.registers += 1
        return self.registers - 1

    def register_of(self, source: Source, guard: int) -> int:
        """The register with the value of `source`, loaded now if it is not yet; a failing load counts as
        failure of `guard`.
        """
        if source not in self._register_of:
            if source.is_int:
                raise TypeError(f"{source.text} is an integer, not an object: guard it with shape_expression")
            base = self.register_of(source.base, guard) if source.base is not None else 0
            target = self.new_register()
            load(self, source, target, base, guard)
            self._register_of[source] = target
        return self._register_of[source]

    def int_register_of(self, source: Source, guard: int) -> int:
        """The integer register with the value of a size, stride, or int object."""
        if source not in self._int_register_of:
            target = self.ints
            self.ints += 1
            if source.is_int:
                assert source.base is not None
                load(self, source, target, self.register_of(source.base, guard), guard)
            else:
                self.emit("LOAD_INT", a=target, b=self.register_of(source, guard), guard=guard)
            self._int_register_of[source] = target
        return self._int_register_of[source]

    def store(self, source: Source, slot: int, guard: int) -> None:
        if source.is_int:
            self.emit("STORE_INT_SLOT", b=self.int_register_of(source, guard), operands=[slot], guard=guard)
        else:
            self.emit("STORE_SLOT", b=self.register_of(source, guard), operands=[slot], guard=guard)


def encode(guard_set: GuardSet, slots: Sequence[Source], code: CodeType) -> Any:
    """The program that checks `guard_set` (in its order) and loads `slots`; from now on the set watches what
    those are named by. Raises ProgramTooLarge, and KeyError for a local that `code` lacks.
    """
    if not hasattr(_capture, "GuardProgram"):  # the extension is not built
        guard_set.watch(slots)
        return PythonProgram(guard_set, slots, code, _capture.NULL)
    _capture.calibrate()
    encoder = Encoder(code)
    for index, guard in enumerate(guard_set):
        check(encoder, guard, index)
    for slot, source in enumerate(slots):
        encoder.store(source, slot, len(guard_set) + slot)
    guard_set.watch(slots)
    objects = (*encoder.assembler.objects, *guard_set.strong_objects())
    return _capture.GuardProgram(
        encoder.assembler.to_bytes(),
        objects,
        encoder.registers,
        encoder.ints,
        len(slots),
        places=encoder.places,
    )
