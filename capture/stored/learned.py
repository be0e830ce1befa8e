"""What earlier runs of this program learned of its functions: which have entries, which of these pay, what
Python has spent in the others, and which loops were left.

In:  frames that were captured or left to Python, and the verdicts on entries that were on trial
     (`capture.policy.patience`). At the end of the process: the time of all functions that did not get hot.
Out: `Learned.kind_of(code)`, in the next process: STORED where an entry is to be looked up at the first
     frame, DOUBTED where it did not pay, or was not tried, and has to be tried; None where nothing is known.
     `Learned.spent_in(code)`: the nanoseconds of all processes since its last capture, and of the longest.

    run 1: forward gets hot, is captured and is faster     run 2: its first frame runs the stored entry
    runs 1 to 9: some time of Python in each, too little   run 10: it is captured after a few frames

A capture is for all processes to come. So the time of all processes so far counts, too: short ones capture in
the end what they run again and again. But a process that is no longer than the one before captures nothing
that this one has left to Python: it would be too late once more.

There is one file for each program (the file of its main module) under its settings. A row is the name of a
function and a checksum of its bytecode: it costs next to nothing, and a wrong one costs time alone. Two
processes that write at once may lose a row: then that function has to get hot once more.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import weakref
import zlib
from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, Any

import _capture

import cache
from cache.code_table import CodeTable
from capture.backends.llvm import kernel_store
from capture.policy.patience import Kind
from capture.report import log
from capture.stored.codes import is_stored_rest
from capture.stored.store import is_used, program_file, settings_digest, store_of
from capture_records import dataclass
from codegen.stored.state import versions

if TYPE_CHECKING:
    from types import CodeType

    from capture.bytecode.turns import Plan
    from capture.policy.settings import CaptureSettings
    from capture.stored.twins import Twins

KIND = "program"
SCHEMA = 4
MOST = 4096  # rows of each sort in one file; the oldest goes first
#: what a row may say
KINDS = frozenset((Kind.STORED, Kind.DOUBTED))
#: functions that may get hot
COLD = frozenset((Kind.STRAIGHT, Kind.LOOP, Kind.FORWARD, Kind.BRIEF))
#: An entry that was taken so often again, because the one before knew other objects, has to serve so many
#: frames each time: it costs as much as these save in a small model.
OFTEN, FRAMES = 3, 32
#: Nanoseconds: what takes less in a process is not noted. `spent_earlier` knows no more than a day.
LEAST_NOTED, MOST_NOTED = 1_000_000, 86_400 * 10**9


@dataclass
class _Rows:
    """By the names of functions: what is known of their entries, and what Python has spent in frames without
    one since the last capture: all processes, and the longest of them.
    """

    kinds: dict[str, Kind] = field(default_factory=dict)
    spent: dict[str, tuple[int, int]] = field(default_factory=dict)
    #: the loops that their frames have left, by their numbers
    left: dict[str, list[int]] = field(default_factory=dict)

    def names(self) -> set[str]:
        return {row.rpartition(":")[0] for row in (*self.kinds, *self.spent, *self.left)}

    def as_data(self) -> Any:
        return {name: dict([*rows.items()][-MOST:]) for name, rows in vars(self).items()}


class Learned:
    """The rows of the program under `settings`. They are read when the first function is asked about."""

    def __init__(self, settings: CaptureSettings) -> None:
        self._settings = settings
        self._rows: _Rows | None = None
        self._names: set[str] = set()
        self._missed: CodeTable[bool] = CodeTable()
        #: how often each entry of the store was taken, by its place
        self._taken: CodeTable[Counter[int]] = CodeTable()
        self._twins: Twins | None = None

    def kind_of(self, code: CodeType) -> Kind | None:
        if code in self._missed:
            return None
        known = self._known().kinds.get(_row(code)) if self._may_know(code) else None
        return Kind.STORED if known is None and is_stored_rest(code) else known

    def spent_in(self, code: CodeType) -> tuple[int, int] | None:
        """What Python has spent in it in earlier processes since its last capture: in all, and the most."""
        return self._known().spent.get(_row(code)) if self._may_know(code) else None

    def _may_know(self, code: CodeType) -> bool:
        self._known()
        return code.co_qualname in self._names and is_used(self._settings)

    def _known(self) -> _Rows:
        if self._rows is None:
            self._take(self._read())
            _at_exit(self)
        assert self._rows is not None
        return self._rows

    def missed(self, code: CodeType) -> None:
        """The store has no entry that fits: what the frame waits for depends on its code. The hook looks
        again, in another state of the thread or after a while (`native/frame/look_ups.c`).
        """
        self._missed[code] = True

    def took(self, code: CodeType, place: int) -> None:
        """The entry at that place of the store was taken for a frame."""
        self._taken[code] = (self._taken.get(code) or Counter()) + Counter([place])

    def is_taken_in_vain(self, code: CodeType) -> bool:
        """Whether the same entries are taken again and again for a few frames each: of a class that each step
        makes anew, say. Then its frames wait, as those of code without stored entries do.
        """
        taken = self._taken.get(code)
        again = 0 if taken is None else taken.total() - len(taken)
        return taken is not None and again >= OFTEN and cache.served(code) < FRAMES * taken.total()

    def made(self, code: CodeType, kind: Kind) -> None:
        """What the next process does with frames of `code`, until there is a verdict: DOUBTED for an entry
        without a trial, STORED for what is left to Python.
        """
        if self._rows is None or _row(code) not in self._rows.kinds:
            self.note(code, kind)

    def note(self, code: CodeType, kind: Kind) -> None:
        """An entry of `code` has been tried. The next process knows the verdict."""
        row = _row(code)
        if self._rows is not None and self._rows.kinds.get(row) is kind:
            return
        rows = self._read()
        rows.kinds.pop(row, None)
        rows.kinds[row] = kind
        rows.spent.pop(row, None)
        self._put(rows)

    def note_spent(self) -> None:
        """The process ends: the next one knows what Python has spent in functions that did not get hot."""
        spent = _spent_here() if is_used(self._settings) else {}
        if not spent:
            return
        rows = self._read()
        for row, ns in spent.items():
            before, most = rows.spent.pop(row, (0, 0))
            rows.spent[row] = min(MOST_NOTED, before + ns), min(MOST_NOTED, max(most, ns))
        self._put(rows)

    def left_loops(self, code: CodeType) -> list[int]:
        """The loops of the function that its frames have left (`capture.bytecode.turns`)."""
        return self._known().left.get(_row(code), []) if self._may_know(code) else []

    def note_left(self, code: CodeType, number: int) -> None:
        """A frame has left this loop. In the next process it does so after a few turns."""
        if number in self.left_loops(code):
            return
        rows = self._read()
        row = _row(code)
        rows.left[row] = [*rows.left.pop(row, []), number]
        self._put(rows)

    def twin_plan(self, code: CodeType) -> Plan | None:
        """What `capture.bytecode.turns.plan_of` gives for the code."""
        from capture.stored.twins import Twins  # lazy: import time

        if self._twins is None:
            self._twins = Twins(self._settings)
        return self._twins.plan_of(code)

    def note_twins(self) -> None:
        """The process ends: the next one has the plans of this one."""
        if self._twins is not None:
            self._twins.write()

    def is_kept(self) -> bool:
        """Whether the next run of the program has what this one captures."""
        return store_of(self._settings) is not None

    def forget(self) -> None:
        """The next question reads the file again."""
        self._rows = None
        self._missed.clear()
        self._taken.clear()
        self._twins = None

    def _take(self, rows: _Rows) -> None:
        self._rows = rows
        self._names = rows.names()

    def _put(self, rows: _Rows) -> None:
        store = store_of(self._settings)
        if store is not None:
            self._take(rows)
            store.put(self._parts(), json.dumps(rows.as_data()).encode(), KIND)

    @functools.cached_property
    def _program(self) -> str:
        """Asked for while the program runs: Python forgets the file of a script before the process ends."""
        return program_file()

    def _parts(self) -> tuple[str, ...]:
        return (
            "program",
            str(SCHEMA),
            self._program,
            settings_digest(self._settings),
            versions(kernel_store()),
        )

    def _read(self) -> _Rows:
        store = store_of(self._settings)
        data = None if store is None else store.get(self._parts(), KIND)
        if data is None:
            return _Rows()
        try:
            content = json.loads(data)
            kinds = {str(row): Kind(kind) for row, kind in content["kinds"].items() if kind in KINDS}
            spent = {str(row): _times(*times) for row, times in content["spent"].items()}
            left = {str(row): [int(number) for number in numbers] for row, numbers in content["left"].items()}
            return _Rows(kinds, spent, left)
        except (ValueError, RecursionError, AttributeError, TypeError, KeyError, OverflowError) as damage:
            text = "what earlier runs learned of this program is not used: %s: %s"
            log.get("cache").logger.warning(text, type(damage).__name__, damage)
            return _Rows()


def _times(total: Any, most: Any) -> tuple[int, int]:
    total = min(MOST_NOTED, abs(int(total)))
    return total, min(total, abs(int(most)))


def _row(code: CodeType) -> str:
    return f"{code.co_qualname}:{zlib.crc32(code.co_code):x}"


# --- the end of the process -------------------------------------------------------------------------------


def _spent_here() -> dict[str, int]:
    """The time of all functions that ran more than once in this process without an entry."""
    spent: dict[str, int] = {}
    for code in _capture.all_codes():
        kind, runs, ns, _, _ = _capture.cold_runs(code)
        if kind in COLD and runs > 1 and ns >= LEAST_NOTED:
            spent[_row(code)] = spent.get(_row(code), 0) + ns
    return spent


_asked: weakref.WeakSet[Learned] = weakref.WeakSet()


def _at_exit(learned: Learned) -> None:
    """Note what this process has spent when it ends. A fork of it has spent most of that in its parent."""
    if not _asked:
        atexit.register(_note_all, os.getpid())
    _asked.add(learned)


def _note_all(process: int) -> None:
    if os.getpid() == process:
        for learned in list(_asked):
            learned.note_spent()
            learned.note_twins()
