"""Settings: typed, checked, and each one also an environment variable.

In:  `CAPTURE_<NAME>` in the environment, assignments, `config.patch(...)`.
Out: `config.<name>`, read by the rest of the package where it is needed.

    CAPTURE_RECOMPILE_LIMIT=2 python train.py       config.recompile_limit == 2
    with config.patch(raise_on_error=True): ...     back to the old value afterwards, exceptions included

Settings are those of the process, not of a thread.
"""

from __future__ import annotations

import contextlib
import os
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from capture.report.errors import ConfigError, did_you_mean


@dataclass
class Config:
    """All settings with their defaults."""

    recompile_limit: int = 8
    """Cache entries of one code object; a frame that needs more runs eagerly (an error under
    fullgraph=True).
    """

    accumulated_recompile_limit: int = 256
    """Captures of one code object in all, those included whose entries are gone again."""

    error_on_recompile: bool = False
    """A frame whose entries all fail is an error (RecompileError), not captured again."""

    raise_on_error: bool = False
    """Raise where capture itself or a backend fails. Off: run eagerly and warn."""

    dynamic: bool | None = None
    """Sizes: None, static at first and symbolic where a recompile shows that they change; True, symbolic from
    the start; False, always static. What `enable(dynamic=...)` says goes before.
    """

    capture_scalar_outputs: bool = False
    """`x.item()`, `x.tolist()`, `int(x)`, `float(x)` and `bool(x)` of tensors stay in the graph, as numbers of which nothing is known at capture.
    Under fullgraph=True they always do.
    """

    capture_dynamic_output_shape_ops: bool = False
    """Operations whose results have sizes that depend on values (`x[mask]`, `nonzero`, `unique`) stay in the graph. Under fullgraph=True they
    always do.
    """

    inline_depth: int = 64
    """How deep calls are followed into the functions that they call."""

    max_instructions: int = 200_000
    """Bytecode instructions that one capture may interpret, unrolled loops and inlined calls included."""

    disk_cache: bool = True
    """Keep machine code in `cache_dir` for the next process."""

    cache_dir: str = ""
    """Folder of the disk cache. Empty: the user's cache folder."""

    keep_memory_mapped: bool = False
    """Have the C library keep freed memory, from the next `enable` or `compile` on, for the whole process and for good: large outputs (from some 100,000
    elements on) then cost a third. The price is memory that the process holds and does not use, up to 2 GiB at the heap's end."""

    huge_pages: bool = True
    """Ask the system for pages of 2 MiB where results of graphs are large (from 4 MiB on), from the next `enable` or `compile` on. New pages of that size are
    ready three times as fast. The memory that a process holds may grow by up to 2 MiB for each block. Other allocations are as before."""

    verbose: bool = False
    """Warnings about failures inside of capture show the whole traceback, not its last line."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _TYPES:
            raise ConfigError(f"config has no setting {name!r}: {did_you_mean(name, _TYPES)}")
        if not _fits(value, _TYPES[name]):
            raise ConfigError(f"config.{name} is {_describe_type(_TYPES[name])}, not {value!r}")
        if type(value) is int and value < 0:
            raise ConfigError(f"config.{name} can't be negative: {value}")
        super().__setattr__(name, value)

    @contextlib.contextmanager
    def patch(
        self, name: str | Mapping[str, Any] | None = None, value: Any = None, /, **settings: Any
    ) -> Iterator[Config]:
        """Other settings for a block, or (as a decorator) for each call of a function: by keywords, in a
        dict, or a name and a value.
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
        """Take every `CAPTURE_<NAME>` that is set. `CAPTURE_LOGS` belongs to `capture/report/log.py`."""
        for name, kind in _TYPES.items():
            text = environment.get(f"CAPTURE_{name.upper()}")
            if text is not None:
                setattr(self, name, _parse(name, text, kind))


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
