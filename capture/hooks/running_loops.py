"""Loops of a script that ran before its block began: what is left of them runs as a function in the block.

In:  the frame in which a block begins.
Out: at the second turn of each `for` loop that this frame enters, the rest of the loop is a call of a
     function (`capture.bytecode.top_level.rest_of_loop`). It has begun in the block, so it can be captured.

    with capture.enable():
        for x, y in loader:         ->     the first turn as it is, then rest_of_loop(iterator)
            step(x, y)

A script's variables are the items of a dict, which the function shares. Those of a function's frame are not.
"""

from __future__ import annotations

import types
from types import CodeType, FrameType
from typing import TYPE_CHECKING

import _capture

from capture.bytecode.loop_iterators import Head, heads, iterator_places
from capture.bytecode.top_level import is_top_level, rest_of_loop
from capture.policy import frame_filter
from capture.process import collection
from capture.report import log
from capture.report.config import config

if TYPE_CHECKING:
    from capture.hooks.switch import HookState


def follow(frame: FrameType | None, inside: HookState) -> bool:
    """A block begins in the frame, or in the one that called our own there. Whether it is followed now."""
    if not hasattr(_capture, "Patience") or not isinstance(inside.converter, _capture.Patience):
        return False
    while frame is not None and frame_filter.origin_of(frame.f_code.co_filename) == "capture":
        frame = frame.f_back
    if frame is None or not is_top_level(frame.f_code) or not _shares_variables(frame):
        return False
    if all(head.start <= frame.f_lasti for head in heads(frame.f_code)):
        return False
    return _capture.follow_loops(frame, _at_line)


def leave() -> None:
    """The block ends."""
    _capture.follow_loops(None, None)


def _shares_variables(frame: FrameType) -> bool:
    """Whether a function with the same globals has its variables, and nothing looks for them in the frame."""
    names = frame.f_locals
    is_shared = type(names) is dict and names is frame.f_globals
    return is_shared and frame_filter.may_go_on_elsewhere(frame.f_code)


@collection.settled()
def _at_line(frame: FrameType) -> None:
    try:
        for place in iterator_places(frame.f_code).get(frame.f_lasti, ()):
            _take(frame, place)
    except Exception as error:
        if config.raise_on_error:
            raise
        text = f"the loops of this script are not captured while they run: {log.failure_text(error)}"
        log.warn_once(frame.f_code, "failure", text)


def _take(frame: FrameType, place: int) -> None:
    iterator = _capture.stack_item(frame, place)
    if type(iterator) is _capture.RestOfLoop:
        return
    code = frame.f_code
    head = _loop_with(code, frame.f_lasti, place)
    made = None if head is None else rest_of_loop(code, head)
    if made is not None:
        function = types.FunctionType(made, frame.f_globals)
        _capture.take_iterator(frame, place, _capture.RestOfLoop(function, iterator, place))


def _loop_with(code: CodeType, offset: int, place: int) -> Head | None:
    """The loop around the instruction whose iterator lies at that place of the stack."""
    around = (head for head in heads(code) if head.steps and head.start < offset <= head.end)
    return next((head for head in around if head.depth - 2 == place), None)
