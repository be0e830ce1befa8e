"""Rules for functions that write texts for people: `print`, warnings, logs, the streams of `sys`.

In:  a call of one of them.
Out: a deferred call (`capture/interpret/deferred_calls.py`) with the texts that the arguments have now. The
     graph breaks where code of the program may see the text, or where a text is not known.

    print("loss", loss.item())    ->    behind the graph: print("loss", out_0.item())
"""

from __future__ import annotations

import io
import logging
import sys
import types
import warnings
from typing import TYPE_CHECKING, Any

from capture.policy import text_receivers
from capture.report.break_reasons import GraphBreak
from capture.variables.callables import frame_warning_filters, logger_polyfills
from capture.variables.callables.builtin import describe_all
from capture.variables.core.base import NotConstant, Variable, realize
from capture.variables.core.class_lookup import lookup_type
from capture.variables.core.constant import NONE, ConstantVariable
from capture.variables.core.exception import ExceptionVariable
from capture.variables.core.rules import CALLS, rule
from capture.variables.numbers.late_values import LateVariable
from capture.variables.text.size_text import is_open, text_of
from capture.variables.text.strings import text_shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.protocols import Interpreter


def _left_to_python(name: str, args: list[Variable]) -> GraphBreak:
    return GraphBreak("builtin", name=name, value=describe_all(args))


def _as_text(tx: Interpreter, value: Variable) -> Variable:
    """`str(value)` as it is now."""
    value = realize(value)
    if value.python_type() is str and _is_frozen(tx, value):
        return value
    return text_of(tx, str, [value]) if is_open(tx, value) else text_shown(tx, value)


def _constants(kwargs: dict[str, Variable], known: tuple[str, ...], name: str) -> dict[str, Variable]:
    """The keywords. Breaks for one that is not among the known ones, or that is no constant."""
    for key, value in kwargs.items():
        if key not in known or not isinstance(realize(value), ConstantVariable):
            raise _left_to_python(name, [value])
    return kwargs


# --- print and the streams --------------------------------------------------------------------------------

#: stream of `sys` -> the condition under which a text for it may wait
STREAMS: dict[str, Callable[[], bool]] = {
    "stdout": text_receivers.output_is_plain,
    "stderr": text_receivers.errors_are_plain,
}


def _stream_of(value: Variable | None) -> str | None:
    """The name in `sys` of the stream that the program writes to. None for any other file."""
    if value is None or value.is_exactly(None):
        return "stdout"
    try:
        real = value.real_value() if value.source is not None else None
    except NotConstant:
        return None
    return next((name for name in STREAMS if real is not None and real is getattr(sys, name)), None)


@rule(print)
def _print(tx: Interpreter, *args: Variable, file: Variable | None = None, **kwargs: Variable) -> Variable:
    stream = _stream_of(None if file is None else realize(file))
    deferred = tx.output.side_effects.deferred
    if stream is None or not deferred.require(STREAMS[stream]):
        raise _left_to_python("print", list(args))
    keywords = _constants(kwargs, ("sep", "end", "flush"), "print")
    before = len(deferred)
    texts = [_as_text(tx, arg) for arg in args]
    if len(deferred) > before:  # a `__str__` has written too: in the midst of this text
        raise _left_to_python("print", list(args))
    given = {} if file is None else {"file": file}
    deferred.add(tx, print, texts, {**keywords, **given}, reads=text_receivers.read_by_streams())
    return NONE


def _write(descriptor: Any) -> Callable[..., Variable]:
    """The rule of a stream's method in C. `write` returns the number of characters."""

    def call(tx: Interpreter, stream: Variable, *args: Variable) -> Variable:
        name = _stream_of(stream)
        deferred = tx.output.side_effects.deferred
        texts = [realize(arg) for arg in args]
        are_texts = [text.python_type() for text in texts] == [str] * WRITERS[descriptor]
        if name is None or not are_texts or not deferred.require(STREAMS[name]):
            raise _left_to_python(descriptor.__qualname__, [stream])
        deferred.add(tx, descriptor, [stream, *texts], reads=text_receivers.read_by_streams())
        return text_of(tx, len, texts) if texts else NONE  # type: ignore[arg-type]

    return call


#: method -> the number of its arguments
WRITERS: dict[Any, int] = {
    io.TextIOWrapper.write: 1, io.TextIOWrapper.flush: 0, io.StringIO.write: 1, io.StringIO.flush: 0,
}  # fmt: skip


# --- warnings ---------------------------------------------------------------------------------------------


@rule(warnings.warn)
def _warn(
    tx: Interpreter, message: Variable, category: Variable = NONE, *rest: Variable, **kwargs: Variable
) -> Variable:
    deferred = tx.output.side_effects.deferred
    plain = all(isinstance(realize(value), ConstantVariable) for value in (*rest, *kwargs.values()))
    if not plain or "source" in kwargs or len(rest) > 1 or not _is_plain_warning(category):
        raise _left_to_python("warnings.warn", [message])
    if message.python_type() is not str or isinstance(message, ExceptionVariable):
        raise _left_to_python("warnings.warn", [message])
    text = message.value if type(message) is ConstantVariable else None
    if frame_warning_filters.drop(tx.output.side_effects, category.as_class(), text):
        return NONE
    if not deferred.require(text_receivers.warnings_are_plain, category):
        raise _left_to_python("warnings.warn", [message])
    reads = text_receivers.read_by_warnings()
    deferred.add(tx, warnings.warn, [message, category, *rest], kwargs, reads=reads)
    return NONE


@rule(warnings._filters_mutated)  # type: ignore[attr-defined]
def _filters_mutated(tx: Interpreter) -> Variable:
    """Warnings that were shown once may be shown again."""
    mutated = warnings._filters_mutated  # type: ignore[attr-defined]
    tx.output.side_effects.deferred.add(tx, mutated, [], raises=False)
    return NONE


def _is_plain_warning(category: Variable) -> bool:
    """Whether no code of the program runs when the warning is made and shown."""
    if category.is_exactly(None):
        return True
    cls = category.as_class()
    if cls is None:
        return False
    written = [lookup_type(cls, name) for name in ("__init__", "__new__", "__str__")]
    return not any(isinstance(method, types.FunctionType) for method in written)


# --- logs -------------------------------------------------------------------------------------------------


@rule(logging.getLogger)
def _get_logger(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    return tx.wrap_function(logger_polyfills.get_logger).call(tx, list(args), kwargs)


LEVELS = ("debug", "info", "warning", "warn", "error", "critical", "fatal", "log")
LOGGERS = tuple(getattr(logging.Logger, name) for name in LEVELS)
OF_ROOT = tuple(getattr(logging, name) for name in LEVELS)
#: methods of loggers that do nothing but make a record of one level
OF_LEVEL: dict[Any, int] = {
    logging.Logger.debug: logging.DEBUG,
    logging.Logger.info: logging.INFO,
    logging.Logger.warning: logging.WARNING,
    logging.Logger.error: logging.ERROR,
    logging.Logger.exception: logging.ERROR,
    logging.Logger.critical: logging.CRITICAL,
}


def _log(function: Any) -> Callable[..., Variable]:
    of_root = function in OF_ROOT

    def call(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
        given = list(args)
        logger: Variable = tx.wrap_constant(None) if of_root else given.pop(0)
        deferred = tx.output.side_effects.deferred
        if not of_root and _is_silent(tx, logger, _level(function, given)):
            return NONE
        if of_root:
            plain = deferred.require(text_receivers.root_is_plain)
        else:
            plain = logger.source is not None and deferred.require(text_receivers.logger_is_plain, logger)
        if not plain or not all(_is_frozen(tx, value) for value in given):
            raise _left_to_python(function.__qualname__, given)
        _constants(kwargs, ("stacklevel",), function.__qualname__)
        values = given if of_root else [logger, *given]
        reads = text_receivers.read_by_logs(logging.root if of_root else logger.real_value())
        deferred.add(tx, function, values, kwargs, reads=reads)
        return NONE

    return call


def _level(function: Any, given: list[Variable]) -> Any:
    """The level of the record; None if it is not known."""
    if function is not logging.Logger.log:
        return OF_LEVEL.get(function)
    level = realize(given[0]) if given else NONE
    return level.value if type(level) is ConstantVariable else None


def _is_silent(tx: Interpreter, logger: Variable, level: Any) -> bool:
    """Whether the logger drops the records of this level, now and whenever the graph runs. Then nothing is
    written, so the arguments may be anything, and no exception comes of them.
    """
    effects = tx.output.side_effects
    if type(level) is not int or level not in text_receivers.SILENT:
        return False
    if logger.source is None:
        return False
    read = text_receivers.read_by_logs(logger.real_value())
    if any(map(effects.has_changed, read)):
        return False
    return effects.deferred.require(text_receivers.SILENT[level], logger)


def _is_enabled(tx: Interpreter, logger: Variable, level: Variable) -> Variable:
    if _is_silent(tx, logger, _level(logging.Logger.log, [level])):
        return tx.wrap_constant(False)
    raise _left_to_python("Logger.isEnabledFor", [logger, level])


def _exception(tx: Interpreter, logger: Variable, *args: Variable, **kwargs: Variable) -> Variable:
    if _is_silent(tx, logger, logging.ERROR):
        return NONE
    raise _left_to_python("Logger.exception", [logger, *args])


def _is_frozen(tx: Interpreter, value: Variable) -> bool:
    """Whether nothing changes the value. The logger makes the text, if it makes one."""
    value = realize(value)
    return isinstance(value, (ConstantVariable, LateVariable)) or is_open(tx, value)


for _descriptor in WRITERS:
    CALLS[_descriptor] = _write(_descriptor)
for _function in (*LOGGERS, *OF_ROOT):
    CALLS[_function] = _log(_function)
CALLS[logging.Logger.isEnabledFor] = _is_enabled
CALLS[logging.Logger.exception] = _exception
