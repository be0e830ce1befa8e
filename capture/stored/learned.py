"""What the last run of this program learned of its functions: which have entries, and which of these pay.

In:  frames that were captured or left to Python, and the verdicts on entries that were on trial
     (`capture.policy.patience`).
Out: `Learned.kind_of(code)`, in the next process: STORED where an entry is to be looked up at the first
     frame, DOUBTED where it did not pay, or was not tried, and has to be tried; None where nothing is known.

    run 1: forward gets hot, is captured and is faster     run 2: its first frame runs the stored entry

There is one file for each program (the file of its main module) under its settings. A row is the name of a
function and a checksum of its bytecode: it costs next to nothing, and a wrong one costs time alone. Two
processes that write at once may lose a row: then that function has to get hot once more.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from typing import TYPE_CHECKING, Any

from cache.code_table import CodeTable
from capture.backends.llvm import kernel_store
from capture.policy.patience import Kind
from capture.report import log
from capture.stored.store import is_used, settings_digest
from codegen.stored.state import versions

if TYPE_CHECKING:
    from types import CodeType

    from capture.policy.settings import CaptureSettings

KIND = "program"
SCHEMA = 1
MOST = 4096  # rows in one file; the oldest goes first
#: what a row may say
KINDS = frozenset((Kind.STORED, Kind.DOUBTED))


class Learned:
    """The rows of the program under `settings`. They are read when the first function is asked about."""

    def __init__(self, settings: CaptureSettings) -> None:
        self._settings = settings
        self._rows: dict[str, Kind] | None = None
        self._names: set[str] = set()
        self._missed: CodeTable[bool] = CodeTable()

    def kind_of(self, code: CodeType) -> Kind | None:
        if self._rows is None:
            self._take(self._read())
        if code.co_qualname not in self._names or not is_used(self._settings):
            return None
        assert self._rows is not None
        kind = self._rows.get(_row(code))
        return None if code in self._missed else kind

    def missed(self, code: CodeType) -> None:
        """The store has no entry that fits: what the frame waits for depends on its code. The hook looks
        again, in another state of the thread or after a while (`native/frame/look_ups.c`).
        """
        self._missed[code] = True

    def made(self, code: CodeType, kind: Kind) -> None:
        """What the next process does with frames of `code`, until there is a verdict: DOUBTED for an entry
        without a trial, STORED for what is left to Python.
        """
        if _row(code) not in (self._rows or {}):
            self.note(code, kind)

    def note(self, code: CodeType, kind: Kind) -> None:
        """An entry of `code` has been tried. The next process knows the verdict."""
        store = kernel_store() if is_used(self._settings) else None
        row = _row(code)
        if store is None or (self._rows or {}).get(row) is kind:
            return
        rows = self._read()
        rows.pop(row, None)
        rows[row] = kind
        self._take(dict(list(rows.items())[-MOST:]))
        store.put(self._parts(), json.dumps(self._rows).encode(), KIND)

    def forget(self) -> None:
        """The next question reads the file again."""
        self._rows = None
        self._missed.clear()

    def _take(self, rows: dict[str, Kind]) -> None:
        self._rows = rows
        self._names = {row.rpartition(":")[0] for row in rows}

    def _parts(self) -> tuple[str, ...]:
        return ("program", str(SCHEMA), _program(), settings_digest(self._settings), versions(kernel_store()))

    def _read(self) -> dict[str, Kind]:
        store = kernel_store() if is_used(self._settings) else None
        data = None if store is None else store.get(self._parts(), KIND)
        if data is None:
            return {}
        try:
            return {str(row): Kind(kind) for row, kind in json.loads(data).items() if kind in KINDS}
        except (ValueError, RecursionError, AttributeError, TypeError) as damage:
            text = "what earlier runs learned of this program is not used: %s: %s"
            log.get("cache").logger.warning(text, type(damage).__name__, damage)
            return {}


def _row(code: CodeType) -> str:
    return f"{code.co_qualname}:{zlib.crc32(code.co_code):x}"


def _program() -> str:
    """The file of the main module; empty where there is none (`python -c`, an interactive session)."""
    file: Any = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.abspath(file) if isinstance(file, str) else ""
