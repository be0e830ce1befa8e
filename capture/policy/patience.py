"""When a frame is worth a capture: at its first call, or once it is hot.

In:  the converter of a block, `config.when`.
Out: the converter itself, or a `_capture.Patience` around it.

    with enable(): train()     what runs once is left to Python; what runs again and again is captured
    compile(model)             captured at the first call: the user says that it pays

A capture costs as much as hundreds of calls of a small model. `_capture.Patience` compares the time that
Python has spent in frames of a code object with the cost of their capture, which grows with their bytecode.
It needs the kind of each code object. It also compares the first runs of an entry with those of Python, and
asks `judge` what to do.
"""

from __future__ import annotations

import functools
import inspect
import sys
from enum import IntEnum
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Protocol

import _capture
import torch

import cache
from capture.bytecode import top_level
from capture.bytecode.dialects import dialect
from capture.policy import foresight, frame_filter, gains
from capture.process import collection
from capture.report import log, observe
from capture.report.config import config

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from capture.bytecode.turns import Plan
    from capture.policy.settings import CaptureSettings

#: What it costs to interpret a code unit and to compile what comes of it. Measured on the captures of
#: `benchmarks/programs` without a store: 6 to 12 us for a unit of a model, 9 to 25 us for a unit of an
#: optimizer, whose code loops over the parameters. Each capture costs some 20 ms more, the first one of a
#: process some 120 ms. What a process measures itself corrects this estimate.
#:
#: Who captures after a share `s` of the cost `C`, and gains `g` of each step, is even after `s * C + C / g`
#: of Python. With g = 0.5: 2.1 C for s = 0.1, 3 C for s = 1. A program that ends just behind the capture has
#: then taken 11 times the time of Python for s = 0.1, and twice for s = 1. So the share is 1.
UNIT_NS = 10_000
#: What each capture costs, whatever the code.
LEAST_NS = 20_000_000
#: What the first one costs beside: it imports the compiler. Of `x * 2 + 1` the first capture of a process
#: takes 140 ms, and the next one of such a function 14 ms.
FIRST_NS = 120_000_000
#: What a turn of a loop takes in the frame itself, from which on the loop is left for its resume function, if
#: that is an eighth of the turn. A turn of the resume function takes 30 us beside its graphs. 0: no least.
TURN_NS = 50_000
#: The time of an entry beside that of Python up to which it stays, in means and in least times: of frames, of
#: frames whose backward is not seen, of steps with their backward.
PAYS, PAYS_WITH_BACKWARD, STEPS_PAY = 1.1, 1.5, 1.03
#: What seems to take no more than that beside the frames before it is not compared once more. Those before it
#: were the first ones of the process, which are slow.
CLEARLY_PAYS = 0.8

#: functions that compute gradients: a program that calls them trains
BACKWARDS = tuple(f.__code__ for f in (torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad))
#: It only lets gradients go: alone it is no graph, however often it runs.
ZERO_GRAD = inspect.unwrap(torch.optim.Optimizer.zero_grad).__code__
#: functions whose operations for each step are one loop in a graph (`codegen.kernel.recurrent`)
NATIVE_LOOPS = tuple(layer.forward.__code__ for layer in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN))
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
    LEFT = 7
    STORED = 8
    DOUBTED = 9
    BACKWARD = 10
    IMPORT = 11
    BRIEF = 12


class Compared(IntEnum):
    """`enum Compared` of native/frame/entry.h: what an entry was compared with, or has to be."""

    EARLIER = 0
    FITTING = -1
    STEPS = -2


class Learned(Protocol):
    """What earlier processes have learned of the program."""

    def kind_of(self, code: CodeType) -> Kind | None: ...

    def spent_in(self, code: CodeType) -> tuple[int, int] | None: ...

    def note(self, code: CodeType, kind: Kind) -> None: ...

    def is_kept(self) -> bool: ...

    def left_loops(self, code: CodeType) -> Collection[int]: ...

    def note_left(self, code: CodeType, number: int) -> None: ...

    def twin_plan(self, code: CodeType) -> Plan | None: ...


@collection.settled()  # what is noted of a code object lives as long
def kind(code: CodeType, learned: Learned | None = None) -> Kind:
    """What a frame of this code probably is. A wrong guess costs time and nothing else."""
    if frame_filter.reads_other_locals(code) and not _is_of_the_library(code):
        _capture.mark_reader(code)
    if code.co_filename == IMPORTS:
        return Kind.IMPORT
    if is_backward(code):
        return Kind.BACKWARD
    if frame_filter.why_not_captured(code) is not None:
        return Kind.ASK  # the converter marks it
    is_init = code.co_name == "__init__" and not frame_filter.makes_distributions(code)
    if is_init or code is ZERO_GRAD:
        return Kind.NEVER
    spent, known = (None, None) if learned is None else (learned.spent_in(code), learned.kind_of(code))
    if spent is not None:
        _capture.spent_earlier(code, *spent)
    if learned is not None and learned.left_loops(code):
        _capture.leaves_loops(code)
    if known is not None:
        return known
    if code.co_name == "forward":
        return Kind.BRIEF if any(code is loop for loop in NATIVE_LOOPS) else Kind.FORWARD
    return Kind.LOOP if has_loop(code) else Kind.STRAIGHT


def _is_of_the_library(code: CodeType) -> bool:
    """The standard library reads the variables of callers where a debugger or a traceback shows them."""
    return frame_filter.origin_of(code.co_filename) == "standard library"


def is_backward(code: CodeType) -> bool:
    """Whether it is the code of a function that computes gradients."""
    return any(code is backward for backward in BACKWARDS)


def has_loop(code: CodeType) -> bool:
    """Whether it has a loop."""
    return dialect.jumps_back(code) or any(map(has_loop, comprehensions(code)))


def comprehensions(code: CodeType) -> Iterator[CodeType]:
    """Those of the function. Before Python 3.12 each is a function of its own."""
    for const in code.co_consts:
        if isinstance(const, CodeType) and const.co_name in frame_filter.COMPREHENSIONS:
            yield const


def waits(settings: CaptureSettings) -> bool:
    """Only native code has to pay: other backends get all graphs at once. So does `explain`, whose settings
    have a tag.
    """
    return not settings.fullgraph and settings.backend_name == "llvm" and settings.tag is None


def patient(converter: Any, settings: CaptureSettings) -> Any:
    """The callback of a block."""
    if config.when == "first" or not waits(settings):
        return converter
    learned = converter.learned
    return _capture.Patience(
        converter,
        functools.partial(kind, learned=learned),
        unit_ns=UNIT_NS,
        least_ns=LEAST_NS,
        first_ns=FIRST_NS,
        turn_ns=TURN_NS,
        judge=functools.partial(judge, learned=learned),
        glance=converter.glance,
        foresee=functools.partial(outlook, learned=learned),
        surcharge=converter.surcharge,
        twin=functools.partial(twin, learned=learned),
        judge_turns=judge_turns,
    )


def judge_turns(code: CodeType, entry: Any, python: int, own: tuple[int, int], records: bool) -> bool:
    """Whether a loop that Python has left pays, by the nanoseconds of a turn with all that it calls: the mean
    in Python; the mean and the least of the entry. records: its backward is no part of the turn.
    """
    pays = min(own) <= (PAYS_WITH_BACKWARD if records else PAYS) * python
    observe.tell("trial", entry=entry, python=(python, python), own=own)
    if not pays:
        took = f"a turn of its loop took {own[0] / 1e6:.3f} ms, in Python {python / 1e6:.3f} ms"
        observe.tell("dropped", code=code, entry=entry, reason=took)
    return pays


def twin(code: CodeType, learned: Learned | None = None) -> CodeType | None:
    """What runs in place of a function of the program that may be called once, or of a script: it can leave
    its loops.
    """
    if not frame_filter.may_go_on_elsewhere(code):
        return None
    try:
        return _twin(code, learned)
    except Exception as error:
        if config.raise_on_error:
            raise
        text = f"the loops of {code.co_qualname} are not captured while they run: {log.failure_text(error)}"
        log.warn_once(code, "failure", text)
        return None


@collection.settled()
def _twin(code: CodeType, learned: Learned | None) -> CodeType | None:
    from capture.bytecode import turns  # lazy: import time

    if top_level.is_top_level(code):
        function = top_level.as_function(code)
        if function is None:
            return None
        code = function
    if learned is None or _capture.is_resume(code):
        return turns.twin_of(code)
    return turns.twin_of(code, learned.left_loops(code), learned.note_left, learned.twin_plan)


def outlook(learned: Learned | None = None) -> tuple[float, float, bool] | None:
    """For a capture of the frame that begins now: the share of the loops around it that is done, the share of
    Python's time that the capture is expected to save, and whether another process has the entry from its
    first frame on. None: of no loop is known when it ends.

    Where entries stay on disk, a second run of the program counts.
    """
    with collection.settled():  # it notes of the code objects around the frame which loops they have
        done = foresight.share_done(sys._getframe().f_back)
    return None if done is None else (done, gains.expected(), learned is not None and learned.is_kept())


def has_to_pay() -> bool:
    """Whether a capture on this thread waited until it was worth its cost. Only the hook in C waits."""
    return hasattr(_capture, "Patience") and isinstance(_capture.get_callback()[0], _capture.Patience)


def forget_prices() -> None:
    """What captures have cost says nothing of the next ones."""
    if hasattr(_capture, "Patience"):
        _capture.forget_prices()


def was_in_vain(capture: observe.FrameCapture) -> None:
    """A capture ends that has found nothing."""
    if has_to_pay():
        _capture.count_waste(int(capture.seconds * 1e9))


def waited(code: CodeType) -> str:
    """What Python had spent in frames of this code, if they waited for their capture."""
    if not has_to_pay():
        return ""
    _, runs, spent, _, _ = _capture.cold_runs(code)
    return f", after {runs} runs of {spent / 1e6:.1f} ms in all"


def note_entry(code: CodeType, entry: Any, inlined: Iterable[FunctionType]) -> None:
    """A frame of this code has been captured. What Python has spent in the functions that it inlines was a
    part of the frame: they wait anew. Where it is left to Python because of a break, the next frame would be,
    too.
    """
    if not has_to_pay():
        return
    if entry.code is not None or entry.graph is not None:
        for function in inlined:
            _capture.count_anew(function.__code__)
    elif entry.breaks and not cache.has_captured(code):
        _capture.leave_code(code)


def is_looked_up(code: CodeType) -> bool:
    """Whether the frame is not hot: it is here because an earlier process has made its entry."""
    return has_to_pay() and _capture.cold_runs(code)[0] in (Kind.STORED, Kind.DOUBTED)


def judge(
    code: CodeType,
    entry: Any,
    python: tuple[int, int],
    own: tuple[int, int],
    compared: Compared = Compared.FITTING,
    steps: int = 0,
    learned: Learned | None = None,
) -> Kind | Compared | None:
    """Whether an entry pays, after its trial. None: it stays. Compared: Python has to run some frames that
    fit it before that is known. Else it goes, and frames of this kind are left.

    The times are nanoseconds of a run, or of a step with its backward: the mean, and the least. steps: the
    backwards that the thread has run.
    """
    ratios = [ours / max(1, theirs) for ours, theirs in zip(own, python)]
    pays = min(ratios) <= _bound(entry, compared)
    more = _more_to_compare(ratios, pays, compared, has_steps=entry.trains and steps > 0)
    if compared != Compared.STEPS and more != Compared.FITTING:
        observe.tell("trial", entry=entry, python=python, own=own)
    if more is not None:
        if learned is not None and pays:
            learned.note(code, Kind.STORED)  # the process may end before it knows
        return more
    if not entry.trains:
        gains.note(python[0], own[0])
    if not entry.has_graph:
        missing = 1 - min(1.0, gains.saved(python[0], own[0]) / gains.GAIN)
        _capture.count_waste(int(entry.compile_time * missing * 1e9))
    if learned is not None:
        learned.note(code, Kind.STORED if pays else Kind.DOUBTED)
    if pays:
        return None
    what = "a step with its backward took" if compared == Compared.STEPS else "its entry took"
    took = f"{what} {own[0] / 1e6:.3f} ms, in Python {python[0] / 1e6:.3f} ms"
    observe.tell("dropped", code=code, entry=entry, reason=took)
    _capture.remove_entry(code, entry)
    return Kind.LEFT if entry.breaks else Kind.ONCE


def _bound(entry: Any, compared: Compared) -> float:
    """The time beside that of Python up to which it pays."""
    if compared == Compared.STEPS:
        return STEPS_PAY
    return PAYS_WITH_BACKWARD if entry.trains else PAYS


def _more_to_compare(ratios: list[float], pays: bool, compared: Compared, has_steps: bool) -> Compared | None:
    """What Python ran before the entry were its first frames, which are slow, and may have been others. Of
    what trains the backward is not seen yet.
    """
    is_known = pays if has_steps else max(ratios) <= CLEARLY_PAYS
    if compared == Compared.EARLIER and not is_known:
        return Compared.FITTING
    return Compared.STEPS if has_steps and pays and compared != Compared.STEPS else None
