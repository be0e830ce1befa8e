"""The steps that make an entry of a frame that the hook sees for the first time.

In:  a `Frame` of the hook (code, function, globals, builtins, locals, failures).
Out: a cache entry that runs in its place. None: Python runs the frame.

    filter -> recompile limit -> translate (once more after a signal) -> backend -> guards -> cache
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import _capture
import torch

import cache
from capture.frame import stored_entries
from capture.frame.expected_breaks import ExpectedBreaks
from capture.frame.left_to_python import (
    forget_frames,
    give_up,
    leave_alone,
    leave_disabled,
    leave_once,
    leave_wrapper,
)
from capture.frame.recompiles import check_all_entries, check_limit
from capture.hooks.converters import makes_converters
from capture.policy import frame_filter, patience, torch_compile_marks
from capture.policy.first_steps import FirstSteps
from capture.process import collection, dispatch_modes, function_modes, replaced_builtins
from capture.report import observe
from capture.report.break_reasons import SkipFrame
from capture.report.errors import CaptureError, CaptureWarning
from capture.report.retry import FirstStep
from capture.sizes import glances
from capture.sizes.policy import SizeHistory
from capture.stored.learned import Learned
from codegen.kernel import forks
from guards.assembler import ProgramTooLarge

if TYPE_CHECKING:
    from types import CodeType

    from capture.policy.settings import CaptureSettings

#: Functions that run once, with all that they call: the hook that gives a lazy module its parameters, and
#: what finds and executes a module (functions of a half imported module may not even be interpreted).
RUN_ONCE = (
    torch.nn.modules.lazy.LazyModuleMixin._infer_parameters.__code__,
    importlib._bootstrap._find_and_load.__code__,  # type: ignore[attr-defined]
)

#: Threads share code objects, so only one capture runs at a time
_lock = forks.held_by_forks(threading.RLock(), forks.CAPTURE)


class Memory:
    """What the converters of equal settings know together. It keeps no backend alive."""

    def __init__(self, settings: CaptureSettings) -> None:
        self.history = SizeHistory()
        self.expected = ExpectedBreaks()
        self.first_steps = FirstSteps()
        self.learned = Learned(dataclasses.replace(settings, backend=None, key=None))


@makes_converters
class Converter:
    """The hook's callback for one group of settings."""

    def __init__(self, settings: CaptureSettings) -> None:
        self.settings = settings
        key = settings.key
        key.memory = key.memory or Memory(settings)
        self.history, self.expected = key.memory.history, key.memory.expected
        self.learned, self.first_steps = key.memory.learned, key.memory.first_steps

    def __call__(self, frame: Any) -> Any:
        if replaced_builtins.are_replaced():
            return None
        original = torch_compile_marks.disabled_original(frame.function)
        if original is not None:
            return leave_disabled(frame, original, self.settings)
        if any(frame.code is code for code in RUN_ONCE):
            return stored_entries.UNHOOKED
        why = frame_filter.why_not_captured(frame.code)
        if why is not None:
            if torch_compile_marks.is_wrapper(frame.function):
                leave_wrapper(frame, self.settings)
            else:
                _capture.skip_code(frame.code)
            if patience.is_backward(frame.code) and patience.has_to_pay():
                self._see_gradients(frame)
            return None
        if frame_filter.why_not_now() is not None:
            return None
        with (
            _lock,
            collection.settled(),
            function_modes.paused(),
            dispatch_modes.all_left(),
        ):
            return self._looked_up(frame) if patience.is_looked_up(frame.code) else self._convert(frame)

    def _looked_up(self, frame: Any) -> Any:
        """The entry of an earlier process. Without one, the frame waits until it is hot."""
        if not (_names_are_plain(frame) and self._may_have_entries(frame)):
            return None
        found = None
        if not self.learned.is_taken_in_vain(frame.code):
            found = stored_entries.find(frame, self.settings, self.history.of(frame))
        if found is None:
            self.learned.missed(frame.code)
            return None
        self.learned.took(frame.code, found.place)
        with observe.capturing(frame.code, settings=self.settings) as capture:
            capture.outcome = "stored"
        return found.now

    def glance(self, frame: Any) -> None:
        """See a frame that Python runs because it is not worth a capture yet. The program sees no failure."""
        try:
            with function_modes.paused():  # they would see each look at a tensor
                glances.note(self.history, frame, self.settings.dynamic_sizes)
        except Exception as error:
            give_up(frame, error, self.settings)

    def _see_gradients(self, frame: Any) -> None:
        """The program trains: the time of a frame whose result has a gradient counts with its backward. Also
        before the first capture, native code has to know which tensors have one.
        """
        try:
            stored_entries.knows_layout(self.settings)
        except Exception as error:
            give_up(frame, error, self.settings)

    def surcharge(self, code: CodeType) -> int:
        return glances.surcharge(self.history, code, self.settings.dynamic_sizes)

    def _convert(self, frame: Any) -> Any:
        with observe.capturing(frame.code, settings=self.settings) as capture:
            now = self._converted(frame, capture)
            if capture.outcome not in ("entry", "stored"):
                patience.was_in_vain(capture)
            return now

    def _converted(self, frame: Any, capture: observe.FrameCapture) -> Any:
        if not _names_are_plain(frame):
            return leave_alone(frame, SkipFrame(frame_filter.NAMES_OF_A_CLASS), self.settings)
        handled, seen = sys.exc_info()[1], self.history.of(frame)
        glances.tell(self.history, frame)
        try:
            if not self._may_have_entries(frame):
                capture.outcome = "refused"
                return None
            found = stored_entries.find(frame, self.settings, seen)
            if found is not None:
                capture.outcome = "stored"
                return found.now
            if not self._may_recompile(frame):
                capture.outcome = "refused"
                return None
            entry = self._new_entry(frame, handled)
        except FirstStep as signal:
            forget_frames(signal, handled)
            self.first_steps.wait(frame.code)
            return leave_once()
        except SkipFrame as skip:
            forget_frames(skip, handled)
            self._made(frame.code, patience.Kind.STORED)
            return leave_alone(frame, skip, self.settings, seen)
        except RecursionError:
            return leave_alone(frame, SkipFrame("values are nested deeper than the stack"), self.settings)
        except ProgramTooLarge as error:
            return leave_alone(frame, SkipFrame(str(error)), self.settings)
        except (CaptureError, CaptureWarning, KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:
            return give_up(frame, error, self.settings)
        capture.outcome, capture.entry = "entry", entry
        capture.waited = patience.waited(frame.code)
        entry.compile_time = capture.seconds
        entry.number = capture.number
        cache.install(frame.code, entry)
        self._made(frame.code, patience.Kind.DOUBTED)
        return entry

    def _made(self, code: CodeType, kind: patience.Kind) -> None:
        """Frames of this code have waited for what the next process can look up."""
        if patience.has_to_pay() and not _capture.is_resume(code):
            self.learned.made(code, kind)

    def _may_have_entries(self, frame: Any) -> bool:
        """Also entries of the store end: a class that each step makes anew lets one die with each step."""
        with function_modes.resumed():
            return check_all_entries(frame, self.settings)

    def _may_recompile(self, frame: Any) -> bool:
        """Log why the existing entries did not fit. False after the limit: one warning says so, or an error
        under fullgraph.
        """
        with function_modes.resumed():
            return check_limit(frame, self.settings, self.history.of(frame))

    def _new_entry(self, frame: Any, handled: BaseException | None) -> Any:
        may_wait = self.first_steps.may_wait(frame.code, self.settings)
        seen = self.history.of(frame)
        return _interpreter()(frame, self.settings, seen, self.expected, handled=handled, may_wait=may_wait)


def _names_are_plain(frame: Any) -> bool:
    return frame_filter.names_are_plain(frame.globals, frame.builtins)


@functools.cache
def _interpreter() -> Callable[..., Any]:
    """Imported by the first frame that it translates: all may have entries in the store."""
    with collection.settled():
        from capture.frame.new_entry import entry_of_last_attempt  # lazy: import time

    return entry_of_last_attempt


frame_filter.hide_from_torch_compile(Converter.__call__.__code__)
