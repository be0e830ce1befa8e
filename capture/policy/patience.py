"""When a frame is worth a capture: at its first call, or once it is hot.

In:  the converter of a block, `config.when`.
Out: the converter itself, or a `_capture.Patience` around it.

    with enable(): train()     what runs once is left to Python; what runs again and again is captured
    compile(model)             captured at the first call: the user says that it pays

A capture costs as much as hundreds of calls of a small model. `_capture.Patience` compares the time that
Python has spent in frames of a code object with the cost of their capture, which grows with their bytecode.
It needs the kind of each code object.
"""

from __future__ import annotations

from enum import IntEnum
from types import CodeType
from typing import TYPE_CHECKING, Any

import _capture

from capture.bytecode.dialects import dialect
from capture.policy import frame_filter
from capture.report.config import config

if TYPE_CHECKING:
    from capture.policy.settings import CaptureSettings

#: Estimated: a quarter of what it costs to interpret a code unit and to compile what comes of it. Programs
#: that have repeated a step go on, as a rule, for much longer. `benchmarks/programs` shows what it gives.
UNIT_NS = 7_500
#: The least time that Python has to spend: each capture has costs that do not depend on the code.
LEAST_NS = 2_000_000

#: the file name of the functions that import modules
IMPORTS = "<frozen importlib._bootstrap>"


class Kind(IntEnum):
    """`enum CodeKind` of native/frame/code_entries.h."""

    STRAIGHT = 1
    LOOP = 2
    FORWARD = 3
    NEVER = 4
    ASK = 5
    ONCE = 6


def kind(code: CodeType) -> Kind:
    """What a frame of this code probably is. A wrong guess costs time and nothing else."""
    if code.co_filename == IMPORTS:
        return Kind.ONCE
    if frame_filter.why_not_captured(code) is not None:
        return Kind.ASK  # the converter marks it
    if code.co_name == "__init__":
        return Kind.NEVER
    if code.co_name == "forward":
        return Kind.FORWARD
    return Kind.LOOP if _has_loop(code) else Kind.STRAIGHT


def _has_loop(code: CodeType) -> bool:
    """Whether it has a loop. Before Python 3.12 a comprehension is a function of its own."""
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    comprehensions = (const for const in inner if const.co_name in frame_filter.COMPREHENSIONS)
    return dialect.jumps_back(code) or any(map(_has_loop, comprehensions))


def patient(converter: Any, settings: CaptureSettings) -> Any:
    """The callback of a block. Only native code has to pay: other backends get all graphs at once. So does
    `explain`, whose settings have a tag.
    """
    asked_for = settings.fullgraph or settings.backend_name != "llvm" or settings.tag is not None
    if config.when == "first" or asked_for:
        return converter
    return _capture.Patience(converter, kind, unit_ns=UNIT_NS, least_ns=LEAST_NS)
