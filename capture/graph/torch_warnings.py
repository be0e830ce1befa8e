"""Warnings that torch's functions give while they run on fake tensors.

In:  the call, and the places in the program of the operation that it carries out.
Out: its result, and the warnings: each with the line that it is about, which is the program's or torch's own.
     `give` gives such a warning where the operation would, and the filters count it there.

    loss = F.mse_loss(x, y)     ->     train.py:12: UserWarning: Using a target size (torch.Size([8])) ...
"""

from __future__ import annotations

import builtins
import sys
import threading
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import _capture
import torch

from capture.graph.program_places import Place
from capture.policy.frame_filter import OUR_PACKAGES

#: behind the text of a warning of torch's code in C++. Many of these come once in a process.
IN_CPP = "(Triggered internally at"
REGISTRY = "__warningregistry__"  # in the globals of a module: the warnings that it has given


def call_from(place: Place, namespace: dict[str, Any], call: Callable[[], Any]) -> Any:
    """Its caller is a frame with the names, the line and the globals of the program's.

    (`calls_at_places.caller_at` has the columns, too. It takes 190 us where this takes 1, too much for each
    operation.)
    """
    code = _calling.__code__.replace(
        co_filename=place.co_filename,
        co_name=place.co_name,
        co_qualname=place.co_qualname,
        co_firstlineno=place.line - 1,
    )
    _capture.skip_code(code)
    return types.FunctionType(code, namespace)(call)


class Heard(NamedTuple):
    """A warning. `module`: the name of the one with the line that it is about."""

    message: Any
    category: type[Warning]
    filename: str
    line: int
    module: str

    def may_come_once(self) -> bool:
        return IN_CPP in str(self.message) and not torch.is_warn_always_enabled()

    def again(self) -> tuple[str, str, str, int, str] | None:
        """The arguments that give it again. None: its class is not one of Python's."""
        if vars(builtins).get(self.category.__name__) is not self.category:
            return None
        return str(self.message), self.category.__name__, self.filename, self.line, self.module


def hear(call: Callable[[], Any], places: Sequence[tuple[Place, dict[str, Any]]]) -> tuple[Any, list[Heard]]:
    """`places`: of the operation, and of the callers of its frame, outermost first. No filter is asked, and
    it does not count what was shown before.
    """
    heard: list[Heard] = []
    elsewhere: list[Heard] = []  # of other threads
    thread = threading.get_ident()

    def take(message: warnings.WarningMessage) -> None:
        about = message.message, message.category, message.filename, message.lineno
        if threading.get_ident() != thread:
            elsewhere.append(Heard(*about, ""))
        else:
            heard.append(_heard(about, places))

    namespaces = {id(namespace): namespace for _, namespace in places}.values()
    shown = [(namespace, namespace.pop(REGISTRY)) for namespace in namespaces if REGISTRY in namespace]
    kept = warnings.filters, warnings._showwarnmsg  # type: ignore[attr-defined]
    warnings.filters, warnings._showwarnmsg = [ALWAYS], take  # type: ignore[attr-defined]
    try:
        result = call_from(*places[-1], call)
    finally:
        warnings.filters, warnings._showwarnmsg = kept  # type: ignore[attr-defined]
        for namespace, registry in shown:
            namespace[REGISTRY] = registry
        for warning in elsewhere:
            give(*warning)
    line = places[-1][0].co_filename, places[-1][0].line
    for warning in heard:
        if warning.may_come_once():
            _once.setdefault(line, []).append(warning)
    return result, [*heard, *(warning for warning in _once.get(line, ()) if warning not in heard)]


#: by file and line: the warnings that torch may not give again. An operation may be translated anew.
_once: dict[tuple[str, int], list[Heard]] = {}


ALWAYS: Any = ("always", None, Warning, None, 0)


def _heard(about: tuple[Any, Any, str, int], places: Sequence[tuple[Place, dict[str, Any]]]) -> Heard:
    """The frame that the warning is about may be one of ours: it stands for the operation, or for a caller in
    the program.
    """
    frame: Any = sys._getframe(1)
    outside = 0  # frames of ours up to here
    while frame is not None:
        outside += outside > 0 or frame.f_code is call_from.__code__
        if (frame.f_code.co_filename, frame.f_lineno) == about[2:]:
            break
        frame = frame.f_back
    module = "" if frame is None else str(frame.f_globals.get("__name__"))
    if outside or about[2].startswith(OUR_PACKAGES):
        place, namespace = places[max(len(places) - 1 - outside, 0)]
        return Heard(*about[:2], place.co_filename, place.line, str(namespace.get("__name__")))
    return Heard(*about, module)


def give(message: Any, category: type[Warning], filename: str, line: int, module: str) -> None:
    """Gives the warning. `module`: the name of the one whose registry says what has been shown."""
    namespace = vars(sys.modules[module]) if module in sys.modules else {}
    registry = namespace.setdefault(REGISTRY, {})
    warnings.warn_explicit(message, category, filename, line, module or None, registry)


def give_again(text: str, category: str, filename: str, line: int, module: str) -> None:
    """As `give`, for a class of Python's by name."""
    give(text, vars(builtins)[category], filename, line, module)


def give_once(text: str, category: str, filename: str, line: int, module: str) -> None:
    """For a warning that may come once in a process."""
    if (text, line, filename) not in _given:
        _given.add((text, line, filename))
        give_again(text, category, filename, line, module)


def note_given(warning: Heard) -> None:
    """`give_once` does not give it any more."""
    _given.add((str(warning.message), warning.line, warning.filename))


_given: set[tuple[str, int, str]] = set()


def _calling(call: Callable[[], Any]) -> Any:
    return call()
