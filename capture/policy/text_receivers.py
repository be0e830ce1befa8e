"""Who gets the texts that a program prints, logs or warns of: code of the program, or of libraries only.

In:  the streams of `sys`, the filters of `warnings`, the handlers of a logger, at the time of a call.
Out: whether the call may wait until the graph has run. Code of the program might look at objects that the
     captured frame changes. And the objects that such a call reads: the frame may change none of them.
"""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any

from capture.policy.frame_filter import is_of_the_program

_RECORDS = logging.getLogRecordFactory()


def _is_foreign(function: Any) -> bool:
    """Whether the function is not one of the program."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code is None or not is_of_the_program(code)


def _is_plain(stream: Any) -> bool:
    """Whether no code of the program runs when a text is written to the stream."""
    return stream is None or all(_is_foreign(getattr(stream, name, None)) for name in ("write", "flush"))


def output_is_plain() -> bool:
    return _is_plain(sys.stdout)


def errors_are_plain() -> bool:
    return _is_plain(sys.stderr)


def warnings_are_plain(category: type[Warning] | None) -> bool:
    """Whether a warning of this category only writes a text: no filter makes an error of it."""
    for action, message, wanted, module, line in warnings.filters:
        if not issubclass(category or UserWarning, wanted):
            continue
        if action == "error":
            return False
        if message is None and module is None and line == 0:
            break
    return _is_foreign(warnings.showwarning) and errors_are_plain()


def read_by_warnings() -> list[Any]:
    return [vars(warnings), vars(sys), warnings.filters, sys.stderr]


def read_by_streams() -> list[Any]:
    return [vars(sys), sys.stdout, sys.stderr]


def read_by_logs(logger: logging.Logger) -> list[Any]:
    """All that a record of the logger passes."""
    found: list[Any] = [vars(logging), *read_by_streams(), logger.manager]
    place: logging.Logger | None = logger
    while place is not None:
        found += [place, place.filters, place.handlers]
        for handler in place.handlers:
            found += [handler, handler.filters, handler.formatter, getattr(handler, "stream", None)]
        place = place.parent
    return found


def logger_is_plain(logger: logging.Logger) -> bool:
    """Whether all parts that a record of the logger passes are those of libraries."""
    if logging.getLogRecordFactory() is not _RECORDS or logger.filters:
        return False
    place: logging.Logger | None = logger
    while place is not None:
        if not all(map(_handler_is_plain, place.handlers)):
            return False
        place = place.parent if place.propagate else None
    return bool(logger.hasHandlers()) or errors_are_plain()


# Whether a logger drops the records of a level. Functions with a name, because stored code names them.


def debug_is_silent(logger: logging.Logger) -> bool:
    return not logger.isEnabledFor(logging.DEBUG)


def info_is_silent(logger: logging.Logger) -> bool:
    return not logger.isEnabledFor(logging.INFO)


def warning_is_silent(logger: logging.Logger) -> bool:
    return not logger.isEnabledFor(logging.WARNING)


def error_is_silent(logger: logging.Logger) -> bool:
    return not logger.isEnabledFor(logging.ERROR)


def critical_is_silent(logger: logging.Logger) -> bool:
    return not logger.isEnabledFor(logging.CRITICAL)


SILENT = {
    logging.DEBUG: debug_is_silent,
    logging.INFO: info_is_silent,
    logging.WARNING: warning_is_silent,
    logging.ERROR: error_is_silent,
    logging.CRITICAL: critical_is_silent,
}


def _handler_is_plain(handler: logging.Handler) -> bool:
    methods = [getattr(handler, name) for name in ("handle", "emit", "format", "handleError")]
    formatter = handler.formatter
    if formatter is not None:
        methods += [getattr(formatter, name) for name in ("format", "formatTime", "formatMessage")]
    stream = getattr(handler, "stream", None)
    return not handler.filters and all(map(_is_foreign, methods)) and _is_plain(stream)


def root_is_plain() -> bool:
    return logger_is_plain(logging.root)
