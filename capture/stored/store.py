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
import sys
from typing import TYPE_CHECKING, Any

import numpy

from capture.backends.llvm import kernel_store
from capture.policy import frame_filter, stance
from capture.report import log
from capture.report.config import config
from capture.stored.digest import code_digest, digest
from codegen.stored.state import versions
from guards.plain_values import NotPlain, Plain

if TYPE_CHECKING:
    from types import CodeType

    from capture.policy.settings import CaptureSettings

KIND = "entry"
SCHEMA = 1
MOST = 8  # entries in one file; the oldest goes first
#: settings that change no translation
NEUTRAL = frozenset(
    ("recompile_limit", "accumulated_recompile_limit", "error_on_recompile", "raise_on_error", "when")
    + ("disk_cache", "store_entries", "cache_dir", "keep_memory_mapped", "huge_pages", "verbose")
)
#: modules of torch.compile whose marks and polyfills the interpreter obeys if they are there
OBEYED = ("torch._dynamo.trace_rules", "torch._dynamo.variables.functions")


def is_used(settings: CaptureSettings) -> bool:
    """Whether entries of these settings are stored. `explain` has none: it shows how they are made."""
    own = settings.backend_name == "llvm" and settings.tag is None
    return own and config.disk_cache and config.store_entries and stance.current() == stance.DEFAULT


class Shelf:
    """The file of one code object. `content` is read once."""

    def __init__(self, store: Any, key: str, name: str) -> None:
        self.store = store
        self.name = name
        self.parts = ("entries", str(SCHEMA), key, versions())
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

    def put(self, entry: dict[str, Plain], seen: dict[str, Plain]) -> None:
        """Add an entry in front of the others. Other processes may have added theirs."""
        self._content = None
        others = [other for other in self.content["entries"] if other != entry]
        self._content = {"entries": [entry, *others][:MOST], "seen": seen}
        self.store.put(self.parts, json.dumps(self._content, separators=(",", ":")).encode(), KIND)


def shelf_of(code: CodeType, settings: CaptureSettings) -> Shelf | None:
    """None where there is no store, or where the code has no digest."""
    store = kernel_store() if is_used(settings) else None
    if store is None:
        return None
    try:
        key = _key(code, settings)
    except NotPlain:
        return None
    return Shelf(store, key, code.co_qualname)


def _key(code: CodeType, settings: CaptureSettings) -> str:
    chosen = {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(config)
        if field.name not in NEUTRAL
    }
    return digest(
        code_digest(code),
        frame_filter.origin_of(code.co_filename),
        (settings.fullgraph, settings.dynamic, settings.options),
        sorted(chosen.items()),
        [name in sys.modules for name in OBEYED],
        numpy.__version__,
    )
