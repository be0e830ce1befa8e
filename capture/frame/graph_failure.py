"""What happens when the graph of an entry raises.

In:  the exception of the graph, and the inputs of the graph.
Out: None: Python runs the frame from its start, and raises the error of the program.
     Or a Continuation that raises the error at its place, if the graph may have written to an input.
     Or an exception, which becomes that of the frame.

    x[i] in native code: index 7 is out of range    ->    Python raises the same at the user's line
    the callable of a foreign backend raises        ->    BackendError
    native code raises, for no reason of torch      ->    one warning; Python's result

Whose error it is: the captured graph runs once more, call by call. If it raises, the error is the program's.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import _capture
import torch

from capture.backends.registry import is_own
from capture.graph.program_places import at_its_place
from capture.hooks.switch import OFF, switch
from capture.policy import frame_filter
from capture.process.thread_state import ThreadState, put_back
from capture.report import log
from capture.report.config import config
from capture.report.counters import counters
from capture.report.errors import BackendError, CaptureError, InternalError
from codegen.kernel.graph_module import GraphModule
from codegen.kernel.records import dataclass

if TYPE_CHECKING:
    from capture.policy.settings import CaptureSettings


@dataclass(frozen=True)
class BackendFacts:
    """What a failure of its callable depends on. Entries keep no backend alive."""

    name: str
    own: bool
    fullgraph: bool


def failure_handler_of(
    code: types.CodeType,
    settings: CaptureSettings,
    forward: Callable[..., Any] | None,
    mutates: bool,
    modes: dict[str, Any],
) -> FailureHandler:
    facts = BackendFacts(settings.backend_name, is_own(settings.backend), settings.fullgraph)
    place = (code.co_filename, code.co_firstlineno)
    return FailureHandler(code.co_qualname, place, facts, forward, mutates, modes)


@dataclass
class FailureHandler:
    """Takes the exception of a graph, and its inputs. It holds no code object: the frame's own has the entry.

    name, place: of the frame's function; place is its file and first line.
    forward: the captured graph, call by call. None if there is no graph.
    mutates: the graph writes to inputs.
    modes: those of the thread at the call.
    """

    name: str
    place: tuple[str, int]
    backend: BackendFacts
    forward: Callable[..., Any] | None
    mutates: bool
    modes: dict[str, Any]

    def __call__(self, error: BaseException, inputs: Sequence[Any]) -> Any:
        """The modes of the thread are again those of the call. The error is raised as it is where the backend
        broke its contract, or where a hook may have raised it.
        """
        put_back(self.modes, error)
        refused = isinstance(error, getattr(_capture, "CheckFailed", ()))  # before the graph did anything
        # The hooks of checkpoint raise an error in order to stop.
        from_hook = not refused and frame_filter.saves_through_hooks()
        if from_hook or isinstance(error, CaptureError) or not isinstance(error, Exception):
            raise error
        if not refused:
            self._find_fault(error, inputs)
            if self.mutates:
                continuation = at_its_place(error)
                if continuation is None:
                    raise error
                return continuation
        counters["graphs"]["failed_calls"] += 1
        log.get("graph")("a graph raised %s: %s; Python runs the frame", type(error).__name__, error)
        return None

    def _find_fault(self, error: Exception, inputs: Sequence[Any]) -> None:
        """Raises or warns if the error is not the program's."""
        before = switch(OFF)
        try:
            if self._program_raises(inputs):
                return
            if not self.backend.own:
                text = f"its callable raised {log.failure_text(error)}"
                raise BackendError(self.backend.name, text) from error
            text = f"the graph of {self.name} failed in backend {self.backend.name!r}"
            if config.raise_on_error or self.backend.fullgraph or self.mutates:
                raise InternalError(f"{text}: {log.failure_text(error)}") from error
            log.warn_once_at(self.place, text, f"{text}; it runs eagerly: {log.failure_text(error)}")
        finally:
            switch(before)

    def _program_raises(self, inputs: Sequence[Any]) -> bool:
        """Whether the captured graph raises too. It runs on copies where it writes to inputs."""
        assert self.forward is not None
        if self.mutates:
            inputs = _copies(inputs)
        with ThreadState():
            try:
                self.forward(*inputs)
            except Exception as error:
                put_back(self.modes, error)
                return True
        return False


def _copies(inputs: Sequence[Any]) -> list[Any]:
    """Tensors that share and overlap in copied memory as the inputs do: eager refuses some writes to them."""
    memory: dict[int, torch.UntypedStorage] = {}

    def copied(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if value.layout is not torch.strided:
            return value.clone()
        storage = value.untyped_storage()
        own = memory.setdefault(storage._cdata, storage.clone())
        view = torch.empty(0, dtype=value.dtype, device=value.device)
        view.set_(own, value.storage_offset(), value.size(), value.stride())
        return view.requires_grad_(value.requires_grad)

    return [copied(value) for value in inputs]


def call_by_call(gm: GraphModule) -> Callable[..., Any]:
    """The function of a graph module. If its source is written already: without the nodes."""
    if not gm.is_written:
        return lambda *args: gm.forward(*args)
    holder = torch.nn.Module()
    holder.__dict__.update(
        {name: value for name, value in vars(gm).items() if name not in ("_graph", "_code")}
    )
    return types.MethodType(type(gm).forward, holder)
