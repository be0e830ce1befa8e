"""The logs: each has a name and can be switched on.

In:  CAPTURE_LOGS=graph_breaks,recompiles in the environment, or `log.set_logs("graph_breaks", "recompiles")`.
Out: records of the standard logger `capture.<name>` at level DEBUG. They go to stderr, unless the program has
     its own handlers.

    recompiles = log.get("recompiles")
    if recompiles.enabled:                       # cheap: texts are made only for a log that is on
        recompiles("%s: %s", code.co_name, text)

The packages codegen, guards and cache do not import this one. They get the same log by
`logging.getLogger("capture.<name>")`.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
import types
import warnings
from typing import Any, TextIO

from cache.code_table import CodeTable
from capture.report import observe
from capture.report.config import config
from capture.report.errors import CaptureWarning, ConfigError, did_you_mean

LOGS: dict[str, str] = {
    "graph_breaks": "each graph break: reason, hint, the user's line",
    "hot": 'under `config.when = "hot"`: what each capture waited for and cost; entries that do not pay',
    "recompiles": "each capture of a code object that was captured before, and the guard that failed",
    "guards": "the guards of each entry",
    "graph": "the torch.fx graph of each capture",
    "bytecode": "the bytecode of a frame, before and after",
    "codegen": "graphs that run through eager, operator by operator, or are compiled for each size, and why",
    "passes": "each pass of the compiler, with its result",
    "loops": "loop IR of each kernel",
    "llvm": "LLVM IR of each kernel",
    "asm": "machine code of each kernel, as assembler text",
    "check": "under `config.check`: each graph that is as exact as eager (wrong ones are always told)",
    "cache": "new and removed entries, and the disk cache",
    "kernels": "time, bytes and operations of each kernel and call: a table at the end of the process",
}


class Log:
    """One log. A call of it writes a record."""

    def __init__(self, name: str) -> None:
        self.logger = logging.getLogger(f"capture.{name}")

    @property
    def enabled(self) -> bool:
        return self.logger.isEnabledFor(logging.DEBUG)

    def __call__(self, message: str, *args: Any) -> None:
        self.logger.debug(message, *args)


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to the present sys.stderr, but only if the program has not configured logging itself."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter("[%(name)s] %(message)s"))

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            super().emit(record)


# A program whose root logger shows everything has not asked for our logs: only their names switch them on.
logging.getLogger("capture").setLevel(logging.WARNING)
_logs = {name: Log(name) for name in LOGS}


def get(name: str) -> Log:
    """The log with this name."""
    if name not in _logs:
        raise ConfigError(f"no log is named {name!r}: {did_you_mean(name, LOGS)}")
    return _logs[name]


def set_logs(*names: str) -> None:
    """Switch on these logs, and switch off all others. "all" is every log."""
    chosen = set(LOGS) if "all" in names else {name for name in names if get(name)}
    for name, entry in _logs.items():
        level = logging.DEBUG if name in chosen else logging.NOTSET
        if entry.logger.level != level:  # a new level makes `logging` visit all loggers of the process
            entry.logger.setLevel(level)
    root = logging.getLogger("capture")
    if chosen and not any(isinstance(handler, _StderrHandler) for handler in root.handlers):
        root.addHandler(_StderrHandler())


def load_environment(text: str) -> None:
    """Switch on the logs in `CAPTURE_LOGS`, a list with commas."""
    try:
        set_logs(*(name.strip() for name in text.split(",") if name.strip()))
    except ConfigError as error:
        raise ConfigError(f"CAPTURE_LOGS={text!r}: {error}") from None


# --- warnings ---------------------------------------------------------------------------------------------

_warned: CodeTable[set[str]] = CodeTable()
_warned_places: set[tuple[tuple[str, int], str]] = set()


def warn_once(code: types.CodeType | None, kind: str, message: str) -> None:
    """Give a `CaptureWarning` at the user's function, once for each code object and kind.

    `capture.reset()` allows it again. It may raise (`_warn`), so the caller has changed all that it changes.
    """
    if code is None:
        warn_once_at(("capture", 0), kind, message)
        return
    kinds = _warned.get(code) or set()
    _warned[code] = kinds
    if kind not in kinds:
        kinds.add(kind)
        _warn(message, code.co_filename, code.co_firstlineno)


def warn_once_at(place: tuple[str, int], kind: str, message: str) -> None:
    """The same for one who knows a function only by its file and first line."""
    if (place, kind) not in _warned_places:
        _warned_places.add((place, kind))
        _warn(message, *place)


def _warn(message: str, file: str, line: int) -> None:
    """Under a filter that makes errors of all warnings (`-W error`) the warning is shown all the same: the
    program does what it does without capture. A filter for `CaptureWarning` itself asks for the error.
    """
    observe.tell("warning", text=message, file=file, line=line)
    try:
        warnings.warn_explicit(message, CaptureWarning, file, line)
    except CaptureWarning as raised:
        if ("error", CaptureWarning) in [(row[0], row[2]) for row in warnings.filters]:
            raise
        warnings.showwarning(raised, CaptureWarning, file, line)


def forget_warnings() -> None:
    """Allow every warning again."""
    _warned.clear()
    _warned_places.clear()


def failure_text(error: BaseException) -> str:
    """The text of an exception for a warning; under config.verbose its whole traceback."""
    if config.verbose:
        return "".join(traceback.format_exception(error)).rstrip()
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" ({os.path.basename(last[0].filename)}:{last[0].lineno})" if last else ""
    return f"{type(error).__name__}: {error}{where}"


load_environment(os.environ.get("CAPTURE_LOGS", ""))
