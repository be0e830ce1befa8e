"""The entries of a frame on disk: one file for each code object under its settings.

In:  a frame and its settings.
Out: `Shelf`: the entries that earlier processes made for such frames, the newest first. `put` adds one.

    shelf_of(frame, settings).entries()    ->   [{"kind": "recipe", ...}, ...]

The name of the file is a digest of all that decides a translation and has no guard: the code, the settings,
the versions. Files are written as a whole (`cache.store`). Two processes that write at once keep one of their
entries: the other one is made again.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import numpy

from capture.backends.llvm import kernel_store
from capture.policy import frame_filter, stance, torch_compile_marks
from capture.report import log, observe
from capture.report.config import config
from capture.stored.digest import code_digest, digest
from codegen.stored.state import versions
from guards.plain_values import NotPlain, Plain

if TYPE_CHECKING:
    from types import CodeType

    from capture.policy.settings import CaptureSettings

KIND = "entry"
SCHEMA = 5
MOST = 8  # entries in one file; the oldest goes first
#: settings that change no translation
NEUTRAL = frozenset(
    ("recompile_limit", "accumulated_recompile_limit", "error_on_recompile", "raise_on_error", "when")
    + ("disk_cache", "store_entries", "cache_dir", "verbose")
    + ("large_heap", "keep_memory_mapped", "huge_pages")
)


#: Logs that show how frames are captured. While one is on, every frame is.
SHOWN = ("graph", "graph_breaks", "bytecode", "guards", "recompiles")


def is_used(settings: CaptureSettings) -> bool:
    """Whether entries of these settings are stored. Who watches captures, as `explain` does, gets all."""
    own = settings.backend_name == "llvm" and settings.tag is None
    watched = observe.is_watched() or any(log.get(name).enabled for name in SHOWN)
    stored = config.disk_cache and config.store_entries
    return own and stored and not watched and stance.current() == stance.DEFAULT


class Shelf:
    """The file of one code object. `content` is read once."""

    def __init__(self, store: Any, key: str, name: str) -> None:
        self.store = store
        self.name = name
        self.parts = ("entries", str(SCHEMA), key, versions(store))
        self._content: dict[str, Plain] | None = None

    @property
    def content(self) -> dict[str, Plain]:
        if self._content is None:
            self._content = self._read()
        return self._content

    def _read(self) -> dict[str, Plain]:
        empty: dict[str, Plain] = {"entries": [], "seen": {}}
        data = self.store.get(self.parts, KIND)
        if data is None:
            return empty
        try:
            content = json.loads(data)
        except (ValueError, RecursionError) as damage:
            self.report(damage)
            return empty
        if type(content) is not dict or any(
            type(content.get(name)) is not type(empty[name]) for name in empty
        ):
            self.report(TypeError("it is no list of entries"))
            return empty
        return content

    def report(self, damage: Exception) -> None:
        log.get("cache").logger.warning(
            "the stored entries of %s are not used: %s: %s", self.name, type(damage).__name__, damage
        )

    @property
    def seen(self) -> Plain:
        """The sizes and numbers that the code saw in earlier runs of this program."""
        return self.content["seen"].get(program_file(), {})

    def put(self, entry: dict[str, Plain], seen: dict[str, Plain]) -> bool:
        """Add an entry in front of the others. Other processes may have added theirs. False where the store
        can't be written.

        Programs share entries, but not what changed: a function of a library (the step of an optimizer) has
        other sizes in each of them, and no sizes that change.
        """
        self._content = None
        program = program_file()
        others = [other for other in self.content["entries"] if other != entry]
        programs = [item for item in self.content["seen"].items() if item[0] != program]
        self._content = {
            "entries": [entry, *others][:MOST],
            "seen": dict([(program, seen), *programs][:MOST]),
        }
        data = json.dumps(self._content, separators=(",", ":")).encode()
        return bool(self.store.put(self.parts, data, KIND))


def program_file() -> str:
    """The file of the main module; empty where there is none (`python -c`, an interactive session)."""
    file: Any = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.abspath(file) if isinstance(file, str) else ""


def store_of(settings: CaptureSettings) -> Any:
    """None where nothing is stored."""
    return kernel_store() if is_used(settings) else None


def shelf_of(code: CodeType, settings: CaptureSettings) -> Shelf | None:
    """None where there is no store, or where the code has no digest."""
    store = store_of(settings)
    if store is None:
        return None
    try:
        key = _key(code, settings)
    except NotPlain:
        return None
    return Shelf(store, key, code.co_qualname)


def _key(code: CodeType, settings: CaptureSettings) -> str:
    return digest(code_digest(code), frame_filter.origin_of(code.co_filename), settings_digest(settings))


def settings_digest(settings: CaptureSettings) -> str:
    """All settings that change a translation."""
    chosen = {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(config)
        if field.name not in NEUTRAL
    }
    return digest(
        (settings.fullgraph, settings.dynamic, settings.options),
        sorted(chosen.items()),
        torch_compile_marks.substituted(),
        numpy.__version__,
    )
