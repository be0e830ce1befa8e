"""Entries that an earlier process has made, for a frame that this process sees for the first time.

In:  a frame; or an entry that was made for it now.
Out: `find`: an entry whose guards hold for the frame, or None. `keep`: the entry is in the store, if it can
     be.

    keep(frame, capture, entry, ...)     first process
    find(frame, settings)                second process: nothing is translated
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import _capture

import cache
from capture.backends.llvm import kernel_store, restored_graph
from capture.frame.graph_failure import FailureHandler, call_by_call, failure_handler_of
from capture.graph.converted_inputs import converted_inputs
from capture.graph.program_places import PLACES
from capture.policy import frame_filter
from capture.process import function_modes
from capture.process.thread_state import read_modes
from capture.report import log, observe
from capture.report.config import config
from capture.report.counters import counters
from capture.sizes.policy import Seen
from capture.stored.entries import (
    DAMAGES,
    Misfit,
    Parts,
    Surroundings,
    from_data,
    skip_data,
    still_skipped,
    to_data,
)
from capture.stored.objects import TENSORS, Changed, Ways, is_found_by_identity
from capture.stored.store import Shelf, shelf_of, store_of
from capture.variables.core.granted import Granted
from codegen.stored import layout_of_tensors
from codegen.stored.compile_graph import captured_data, key_of
from codegen.stored.modules import module_of
from codegen.stored.state import versions
from guards.lookup import Unresolved
from guards.plain_values import NotPlain

if TYPE_CHECKING:
    from capture.frame.translation import Capture
    from capture.interpret.output_graph import OutputGraph
    from capture.policy.settings import CaptureSettings
    from capture.report.break_reasons import SkipFrame
    from codegen.kernel.graph_module import GraphModule

#: Python runs the frame and all its callees
UNHOOKED = _capture.Entry(None, None, unhooked=True)


class GraphGone(Exception):
    """The store has the entry, and not its graph."""


class Found(NamedTuple):
    """`now`: what the hook runs for this frame: an entry, or None for Python. `place`: that of the entry in
    the store.
    """

    now: Any
    place: int = 0


def find(frame: Any, settings: CaptureSettings, seen: Seen) -> Found | None:
    """What an earlier process found for such a frame. It is installed for the next frames too."""
    shelf = shelf_of(frame.code, settings)
    if shelf is None:
        return None
    started = time.perf_counter()
    restore_layout(settings)
    unfit: list[str] = []
    for place, data in enumerate(shelf.content["entries"]):
        found = _found(data, frame, settings, shelf, unfit)
        if found is not None:
            _tell(frame, data, time.perf_counter() - started)
            return found._replace(place=place)
    if unfit and set(unfit) == {"left"}:
        _capture.left_earlier(frame.code)
    observe.tell("store", kind="frame", found=False)
    _learn(seen, shelf)
    return None


def restore_layout(settings: CaptureSettings) -> None:
    """From now on, native code knows where tensors have their properties."""
    store = store_of(settings)
    if store is None:
        _capture.calibrate()
    else:
        layout_of_tensors.restore(store, versions())


def knows_layout(settings: CaptureSettings) -> bool:
    """Whether native code knows that; now it finds out, if it may.

    A search makes tensors. Hooks and modes of the program must not see them.
    """
    if hasattr(_capture, "is_calibrated") and not _capture.is_calibrated():
        if frame_filter.why_not_now() is not None:
            return False
        with function_modes.paused():
            restore_layout(settings)
    return True


def _tell(frame: Any, data: Any, seconds: float) -> None:
    observe.tell(
        "store",
        kind="frame",
        found=True,
        graph=data.get("graph"),
        operations=data.get("operations", 0),
        reason=data.get("break"),
        again=bool(frame.failures),
        code=frame.code,
    )
    for name in ("cache", "hot"):
        log.get(name)(
            "an entry of %s comes from the store, in %.1f ms", frame.code.co_qualname, seconds * 1e3
        )


def _learn(seen: Seen, shelf: Shelf) -> None:
    """The translation that follows knows which sizes changed in earlier runs of the program. Those of the
    first owner of a method say nothing of another one.
    """
    try:
        seen.learn(shelf.seen if seen.alone else {**shelf.seen, "sizes": {}, "strides": {}})
    except DAMAGES as damage:
        shelf.report(damage)


def _found(data: Any, frame: Any, settings: CaptureSettings, shelf: Shelf, unfit: list[str]) -> Found | None:
    """`unfit` gets the kind of an entry that is for other frames of the same program."""

    def holds(program: Any) -> bool:
        with function_modes.resumed():
            return bool(program.check(frame.locals, frame.globals, frame.builtins, frame.function)[0] == -1)

    around = Surroundings(frame, settings, _graphs(frame, settings))
    try:
        if still_skipped(data, around):
            _capture.skip_code(frame.code)
            return Found(UNHOOKED if data["unhooked"] else None)
        entry = from_data(data, around, holds)
        _capture.inlined_earlier(frame.code, data.get("units", 0))
    except (Misfit, Unresolved):
        unfit.append(data["kind"])
        return None
    except GraphGone:
        return None
    except (Changed, NotPlain) as reason:
        log.get("cache")("a stored entry of %s does not fit: %s", frame.code.co_qualname, reason)
        return None
    except DAMAGES as damage:
        shelf.report(damage)
        return None
    return _installed(entry, frame)


def _installed(entry: Any, frame: Any) -> Found | None:
    if entry.code is not None:
        frame_filter.hide_from_torch_compile(entry.code)
    if not cache.install(frame.code, entry):
        return None
    if entry.code is None and entry.graph is None:
        return Found(UNHOOKED if entry.unhooked else None)
    return Found(entry)


def _graphs(frame: Any, settings: CaptureSettings) -> Callable[..., tuple[Any, FailureHandler]]:
    """`capture.stored.entries.Surroundings.graph` for this frame."""
    code = frame.code

    def graph(
        key: str | None,
        conversions: Sequence[tuple[int, Any]],
        writes: bool,
        draws_in_vain: bool,
        places: Callable[[], Sequence[Any]],
    ) -> tuple[Any, FailureHandler]:
        if key is None:
            return None, failure_handler_of(code, settings, None, writes, read_modes())
        captured = _Captured(key, places)
        found = restored_graph(key, captured.made)
        if found is None:
            raise GraphGone(key)
        forward = _Forward(captured, conversions)
        failure = failure_handler_of(code, settings, forward, writes, read_modes())
        direct = getattr(found, "direct_call", found)
        return _converted(_retried(direct) if draws_in_vain else direct, conversions), failure

    return graph


def _retried(direct: Any) -> Any:
    from capture.sizes.likely import Retried  # lazy: import time

    return Retried(direct, None, draws=True)


def _converted(direct: Any, conversions: Sequence[tuple[int, Any]]) -> Any:
    return converted_inputs(direct, tuple(conversions)) if conversions else direct


class _Captured:
    """The captured graph of a key, with the places of the program. It is made when it is first needed.

    A graph seldom fails.
    """

    def __init__(self, key: str, places: Callable[[], Sequence[Any]]) -> None:
        self.key = key
        self.places = places

    @functools.cached_property
    def module(self) -> GraphModule:
        data = captured_data(self.key, kernel_store())
        if data is None:
            raise GraphGone(self.key)
        return self.made(data)

    def made(self, data: Any) -> GraphModule:
        module, places = module_of(data), self.places()
        if len(places) == len(module.graph.nodes):
            vars(module)[PLACES] = places
        return module


class _Forward:
    """The captured graph, call by call."""

    def __init__(self, captured: _Captured, conversions: Sequence[tuple[int, Any]]) -> None:
        self.captured = captured
        self.conversions = conversions

    def __call__(self, *inputs: Any) -> Any:
        return self.graph(*inputs)

    @functools.cached_property
    def graph(self) -> Any:
        return _converted(call_by_call(self.captured.module), self.conversions)


# --- keeping ----------------------------------------------------------------------------------------------


def keep(frame: Any, capture: Capture, entry: Any, settings: CaptureSettings, seen: Seen) -> None:
    """Put a new entry into the store, if another process can read it."""
    _put(frame, settings, seen, lambda: to_data(entry, _parts_of(frame, capture, entry)))


def keep_left(frame: Any, entry: Any, settings: CaptureSettings, seen: Seen) -> None:
    """The same for an entry that leaves the frame to Python while its guards hold."""
    _put(frame, settings, seen, lambda: to_data(entry, Parts(frame.code, entry.guard_set, Granted())))


def keep_skipped(frame: Any, skip: SkipFrame, settings: CaptureSettings, seen: Seen) -> None:
    """The same for a frame that Python always runs."""
    if skip.granted is not None:
        _put(frame, settings, seen, lambda: skip_data(skip.idle, skip.granted.inlined.values()))


def _put(frame: Any, settings: CaptureSettings, seen: Seen, written: Callable[[], Any]) -> None:
    shelf = shelf_of(frame.code, settings)
    if shelf is None:
        return
    try:
        kept = shelf.put(written(), seen.as_data())
        counters["entries"]["stored" if kept else "not stored"] += 1
    except NotPlain as reason:
        counters["entries"]["not stored"] += 1
        counters["not_stored"][str(reason)] += 1
        log.get("cache")("an entry of %s is not stored: %s", frame.code.co_qualname, reason)
    except Exception as error:
        if config.raise_on_error:
            raise
        text = f"an entry of {frame.code.co_qualname} is not stored: {log.failure_text(error)}"
        log.warn_once(frame.code, "store", text)


def _parts_of(frame: Any, capture: Capture, entry: Any) -> Parts:
    output, marker = capture.output, object()
    converted = [(place, i.convert) for place, i in enumerate(output.inputs.used()) if i.convert is not None]
    return Parts(
        frame.code,
        entry.guard_set,
        output.granted,
        slots=capture.slots,
        assembled=capture.assembled,
        graph=capture.graph,
        graph_key=None if capture.compiled is None else key_of(capture.compiled),
        conversions=converted,
        failure=None if capture.code is None else capture.code.on_failure,
        writes=output.inputs.are_written(),
        draws_in_vain=capture.draws_in_vain,
        places=capture.places,
        function_modes=len(function_modes.at_entry()),
        places_of_objects=_places_of_objects(output),
        operations=output.operation_count(),
        break_id=None if capture.reason is None else capture.reason.id,
        unbacked=output.unbacked.around(marker) is not marker,  # type: ignore[arg-type]
    )


def _places_of_objects(output: OutputGraph) -> Ways:
    known = output.objects.with_variables()
    return {
        id(value): (value, variable.source)
        for value, variable in known
        if variable.source is not None and (type(value) in TENSORS or is_found_by_identity(value))
    }
