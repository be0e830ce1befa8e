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

from collections.abc import Sequence
from types import CodeType
from typing import Any

import _capture

from guards.encoder import Encoder
from guards.guard_set import GuardSet
from guards.sources import Source
from guards.twin import PythonProgram


def encode(guard_set: GuardSet, slots: Sequence[Source], code: CodeType) -> Any:
    """The program that checks `guard_set` in its order and then loads `slots`.

    From now on the set watches the objects that name the slots. Raises ProgramTooLarge, and KeyError for a
    local that `code` lacks.
    """
    if not hasattr(_capture, "GuardProgram"):  # the extension is not built
        guard_set.watch(slots)
        return PythonProgram(guard_set, slots, code, _capture.NULL)
    _capture.calibrate()
    encoder = Encoder(code)
    for encoder.guard, guard in enumerate(guard_set):
        guard.encode(encoder)
    for slot, source in enumerate(slots):
        encoder.guard = len(guard_set) + slot
        encoder.store(source, slot)
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
