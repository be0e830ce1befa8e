"""The Python twin of a guard program.

In:  the same guard set and slots as `guards.program.encode`, and a frame's names.
Out: `check` gives what `GuardProgram.check` gives. The settrace hook and the tests use it.

    PythonProgram(guards, slots, code).check_namespace(frame)   ->   (-1, (tensor,))
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType, FunctionType
from typing import Any

from guards.guard_set import GuardSet
from guards.lookup import Unresolved
from guards.namespace import UNBOUND, FrameNamespace
from guards.sources import Source


class PythonProgram:
    """The twin of `_capture.GuardProgram`: resolves sources and checks guards one by one."""

    def __init__(
        self, guard_set: GuardSet, slots: Sequence[Source], code: CodeType, null: Any = UNBOUND
    ) -> None:
        self.guard_set = guard_set
        self.slots = tuple(slots)
        self.code = code
        self.null = null

    @property
    def nslots(self) -> int:
        return len(self.slots)

    def check(
        self,
        localsplus: tuple[Any, ...],
        globals_: dict[str, Any],
        builtins: dict[str, Any],
        function: FunctionType,
    ) -> tuple[int, tuple[Any, ...] | None]:
        """As `_capture.GuardProgram.check`. The constructor's `null` marks unbound locals."""
        frame = FrameNamespace.from_localsplus(
            self.code, localsplus, self.null, (globals_, builtins), function
        )
        return self.check_namespace(frame)

    def check_namespace(self, frame: FrameNamespace) -> tuple[int, tuple[Any, ...] | None]:
        """As `check`, for a frame whose names are known."""
        for index, guard in enumerate(self.guard_set):
            if not guard.holds_in(frame):
                return index, None
        values: list[Any] = []
        for slot, source in enumerate(self.slots):
            try:
                values.append(source.resolve(frame))
            except Unresolved:
                return len(self.guard_set) + slot, None
        return -1, tuple(values)
