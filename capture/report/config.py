"""The settings: they have types and are checked. Each one is also an environment variable.

In:  `CAPTURE_<NAME>` in the environment, assignments, `config.patch(...)`.
Out: `config.<name>`.

    CAPTURE_RECOMPILE_LIMIT=2 python train.py       config.recompile_limit == 2
    with config.patch(raise_on_error=True): ...     the old value is back after the block, also after an error

All threads of the process share the settings.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from capture.report.errors import CaptureWarning, ConfigError, did_you_mean
from capture_records import dataclass


@dataclass
class Config:
    """All settings with their defaults."""

    recompile_limit: int = 8
    """How many cache entries one code object may have. A frame that needs more runs eagerly.
    Under fullgraph=True it is an error.
    """

    accumulated_recompile_limit: int = 256
    """How often one code object may be captured in all. Captures count even if their entries are removed."""

    error_on_recompile: bool = False
    """Raise RecompileError, in place of a new capture, if no entry of a code object fits a frame."""

    raise_on_error: bool = False
    """Raise if capture itself or a backend fails. Off: run eagerly and warn."""

    dynamic: bool | None = None
    """None: a size is static at first, and symbolic after a recompile shows that it changes. True: sizes are
    symbolic from the start. False: sizes are always static. `enable(dynamic=...)` overrides this setting.
    """

    capture_scalar_outputs: bool = False
    """`x.item()`, `x.tolist()`, `int(x)`, `float(x)` and `bool(x)` of tensors stay in the graph. Their
    results are numbers that are not known at capture. Under fullgraph=True they always stay in the graph.
    """

    capture_dynamic_output_shape_ops: bool = False
    """Operations stay in the graph even if the sizes of their results depend on values (`x[mask]`,
    `nonzero`, `unique`). Under fullgraph=True they always stay in the graph.
    """

    when: str = "hot"
    """When frames in a block of `enable()` are captured. "hot": once Python has spent in them what the
    capture is expected to cost. Entries that turn out slower than Python are dropped. "first": at the first
    call. What `compile`, `explain`, `fullgraph=True` and other backends than "llvm" capture, they capture at
    the first call.
    """

    inline_depth: int = 64
    """How deep calls are inlined."""

    max_instructions: int = 200_000
    """How many bytecode instructions one capture may interpret, with unrolled loops and inlined calls."""

    disk_cache: bool = True
    """Keep machine code in `cache_dir` for the next process."""

    store_entries: bool = True
    """Keep entries of frames in the disk cache too: guards, code, and which frames are left to Python. The
    next process then translates nothing of what it finds there (docs/stored_entries.md).
    """

    cache_dir: str = ""
    """Folder of the disk cache. Empty: the user's cache folder."""

    large_heap: bool = True
    """Blocks of up to 32 MiB come from the heap of the C library from the start, and up to 64 MiB of its
    freed end stay with the process. glibc learns the same limits when a program frees a block of 32 MiB.
    Without this, a training step may get all its memory from the system anew. Settings of the allocator in
    the environment (`MALLOC_TRIM_THRESHOLD_`, `GLIBC_TUNABLES`) come first. The setting starts at the next
    `enable` or `compile`, holds for the whole process and can't be undone.
    """

    keep_memory_mapped: bool = False
    """The C library keeps freed memory. Large outputs (from about 100,000 elements on) then cost a third.
    The process may hold up to 2 GiB at the heap's end that it does not use. The setting starts at the next
    `enable` or `compile`, holds for the whole process and can't be undone.
    """

    huge_pages: bool = True
    """Ask the system for pages of 2 MiB for large results of graphs (from 4 MiB on). New pages of this size
    are ready three times as fast. Each block may make the memory of the process grow by up to 2 MiB. Other
    allocations do not change. The setting starts at the next `enable` or `compile`.
    """

    check: bool = False
    """Compare each new graph with eager and with float64, forward and backward, on copies of its inputs. The
    log "check" tells what is wrong, and a line at the end of the process sums it up (docs/command_line.md).
    The program's own results stay as they are. A capture then takes some times as long.
    """

    profile_kernels: bool = False
    """torch.profiler shows each kernel and call of a graph, not only the graph. It counts for what is
    compiled while the setting is on.
    """

    perf_map: bool = False
    """Tell Linux's `perf` the names of kernels, in /tmp/perf-PID.map. It counts for what is compiled while
    the setting is on; `perf record` and `perf report` then show them.
    """

    verbose: bool = False
    """Warnings about failures inside capture show the whole traceback, not only its last line."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _TYPES:
            raise ConfigError(f"config has no setting {name!r}: {did_you_mean(name, _TYPES)}")
        if not _fits(value, _TYPES[name]):
            raise ConfigError(f"config.{name} is {_describe_type(_TYPES[name])}, not {value!r}")
        if name in CHOICES and value not in CHOICES[name]:
            raise ConfigError(f"config.{name} is {' or '.join(map(repr, CHOICES[name]))}, not {value!r}")
        if type(value) is int and value < 0:
            raise ConfigError(f"config.{name} can't be negative: {value}")
        super().__setattr__(name, value)

    @contextlib.contextmanager
    def patch(
        self, name: str | Mapping[str, Any] | None = None, value: Any = None, /, **settings: Any
    ) -> Iterator[Config]:
        """Change settings for a block, or (as a decorator) for each call of a function.

        The settings are keywords, one dict, or a name and a value.
        """
        if name is not None:
            settings |= {name: value} if isinstance(name, str) else name
        old = {name: getattr(self, name) for name in settings if name in _TYPES}
        try:
            for name, value in settings.items():
                setattr(self, name, value)
            yield self
        finally:
            for name, value in old.items():
                setattr(self, name, value)

    def load_environment(self, environment: Mapping[str, str] = os.environ) -> None:
        """Read each `CAPTURE_<NAME>` that is set, and warn of a name that is nearly one of ours."""
        known = [f"CAPTURE_{name.upper()}" for name in _TYPES] + list(OTHER_VARIABLES)
        for variable in environment:
            if not variable.startswith("CAPTURE_") or variable in known:
                continue
            near = difflib.get_close_matches(variable, known, n=1, cutoff=0.85)
            if near:
                told = f"nothing reads the environment variable {variable}: did you mean {near[0]}?"
                warnings.warn(told, CaptureWarning, stacklevel=2)
        for name, kind in _TYPES.items():
            text = environment.get(f"CAPTURE_{name.upper()}")
            if text is not None:
                setattr(self, name, _parse(name, text, kind))


#: variables that are no settings, and who reads them
OTHER_VARIABLES = {
    "CAPTURE_LOGS": "capture/report/log.py",
    "CAPTURE_CPU": "codegen/launch/levels.py",
    "CAPTURE_TRACE": "capture/tracing/trace.py",
    "CAPTURE_TRACE_SHOW": "capture/tracing/trace.py",
}

#: the values of settings that have few
CHOICES = {"when": ("hot", "first")}

_TYPES: dict[str, Any] = {}  # filled below: name -> the types that a value may have
_TYPES.update(
    {name: typing.get_args(hint) or (hint,) for name, hint in typing.get_type_hints(Config).items()}
)

_WORDS: dict[str, bool] = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


def _fits(value: Any, kinds: tuple[type, ...]) -> bool:
    return type(value) in kinds  # not isinstance: True is no limit


def _describe_type(kinds: tuple[type, ...]) -> str:
    return " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)


def _parse_bool(text: str) -> bool:
    return _WORDS[text.lower()]


_PARSERS: dict[type, Callable[[str], Any]] = {bool: _parse_bool, int: int, str: str}


def _parse(name: str, text: str, kinds: tuple[type, ...]) -> Any:
    if type(None) in kinds and text.lower() in ("", "none"):
        return None
    try:
        return _PARSERS[kinds[0]](text)
    except (KeyError, ValueError):
        raise ConfigError(f"CAPTURE_{name.upper()}={text!r}: expected {_describe_type(kinds)}") from None


config = Config()
config.load_environment()
