"""What happens when the graph of an entry raises.

In:  the exception of the graph, and the inputs of the graph.
Out: None: Python runs the frame from its start, and raises the error of the program.
     Or a Continuation that raises the error at its place, if the graph has written to an input.
     Or an exception, which becomes that of the frame.
     What a signal has raised is raised where the frame begins, which has its handlers around that.

    x[i] in native code: index 7 is out of range    ->    Python raises the same at the user's line
    the callable of a foreign backend raises        ->    BackendError
    native code raises, for no reason of torch      ->    one warning; Python's result

Whose error it is: the captured graph runs once more, call by call. If it raises, the error is the program's.
A graph with writes does so on copies. They show whether something was written before the error.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import _capture
import torch

from capture.backends.registry import is_own
from capture.graph.program_places import FailedNode, at_its_place, failed_node, open_autocasts
from capture.hooks.switch import OFF, switch
from capture.policy import frame_filter
from capture.process.thread_state import ThreadState, put_back
from capture.report import log
from capture.report.config import config
from capture.report.counters import counters
from capture.report.errors import BackendError, CaptureError, InternalError
from capture_records import dataclass
from codegen.kernel.graph_module import GraphModule

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


@dataclass(frozen=True)
class Replay:
    """How a graph ended that ran once more: the node that failed; whether it changed an input before."""

    failed: FailedNode | None
    wrote: bool
    raised: bool = True


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

    def leave_grad_mode(self) -> None:
        """The graph does the same in each grad mode: that of the call is another one than at its capture."""
        self.modes = {name: mode for name, mode in self.modes.items() if name != "grad"}

    def __call__(self, error: BaseException, inputs: Sequence[Any]) -> Any:
        """The modes of the thread are again those of the call. The error is raised as it is where the backend
        broke its contract, or where a hook may have raised it. What a signal has raised is none of the graph.
        """
        failed = failed_node(error) if self.mutates else None  # first: `put_back` clears the frames
        put_back(self.modes, error, open_autocasts(error))
        if not isinstance(error, Exception) or _capture.raised_by_handler(error):
            if _capture.raise_later(error):
                return None
            raise error
        refused = isinstance(error, getattr(_capture, "CheckFailed", ()))  # before the graph did anything
        # The hooks of checkpoint raise an error in order to stop.
        from_hook = not refused and frame_filter.saves_through_hooks()
        if from_hook or isinstance(error, CaptureError):
            raise error
        if not refused and self._has_written(failed, self._find_fault(error, failed, inputs)):
            if failed is None or not failed.places:
                raise error
            return at_its_place(error, failed)
        counters["graphs"]["failed_calls"] += 1
        log.get("graph")("a graph raised %s: %s; Python runs the frame", type(error).__name__, error)
        return None

    def _has_written(self, failed: FailedNode | None, replay: Replay) -> bool:
        """Whether the graph may have changed an input: known where the replay has failed in the same node."""
        if not self.mutates:
            return False
        return failed is None or not failed.is_same(replay.failed) or replay.wrote

    def _find_fault(self, error: Exception, failed: FailedNode | None, inputs: Sequence[Any]) -> Replay:
        """Raises or warns if the error is not the program's.

        It is where our backend ran the captured graph in eager, up to a node: the replay begins with what
        this had written by then, and may pass.
        """
        before = switch(OFF)
        try:
            replay = self._replayed(inputs)
            in_eager = self.backend.own and failed is not None and bool(failed.places)
            if replay.raised or in_eager:
                return replay
            if not self.backend.own:
                text = f"its callable raised {log.failure_text(error)}"
                raise BackendError(self.backend.name, text) from error
            text = f"the graph of {self.name} failed in backend {self.backend.name!r}"
            if config.raise_on_error or self.backend.fullgraph or self.mutates:
                raise InternalError(f"{text}: {log.failure_text(error)}") from error
            log.warn_once_at(self.place, text, f"{text}; it runs eagerly: {log.failure_text(error)}")
            return replay
        finally:
            switch(before)

    def _replayed(self, inputs: Sequence[Any]) -> Replay:
        """The captured graph, once more. It runs on copies where it writes to inputs."""
        assert self.forward is not None
        copies = Copies(inputs) if self.mutates else None
        with ThreadState():
            try:
                self.forward(*(inputs if copies is None else copies.values))
            except Exception as error:
                failed = failed_node(error)
                put_back(self.modes, error, open_autocasts(error))
                return Replay(failed, copies is not None and copies.are_changed())
        return Replay(None, False, raised=False)


class Copies:
    """`values`: the inputs, whose tensors share and overlap in copied memory as the inputs do: eager refuses
    some writes to them.
    """

    def __init__(self, inputs: Sequence[Any]) -> None:
        self._memory: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}  # copy, original
        self.values = [self._copied(value) for value in inputs]
        self._versions = [value._version for value in self._counted()]

    def _copied(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if value.layout is not torch.strided:
            return value.clone()
        storage = value.untyped_storage()
        own, _ = self._memory.setdefault(storage._cdata, (storage.clone(), storage))
        view = torch.empty(0, dtype=value.dtype, device=value.device)
        view.set_(own, value.storage_offset(), value.size(), value.stride())
        return view.requires_grad_(value.requires_grad)

    def _counted(self) -> list[torch.Tensor]:
        """The tensors that count the writes to them."""
        return [t for t in self.values if isinstance(t, torch.Tensor) and not t.is_inference()]

    def are_changed(self) -> bool:
        """Whether an operation has written to one of them, in whole or in part, or left a hook on it."""
        tensors = [value for value in self.values if isinstance(value, torch.Tensor)]
        counted = self._counted()
        if len(counted) < len(tensors) or self._versions != [tensor._version for tensor in counted]:
            return True
        if any(tensor._backward_hooks or tensor.retains_grad for tensor in tensors):
            return True
        return not all(torch.equal(_bytes(one), _bytes(other)) for one, other in self._memory.values())


def _bytes(storage: torch.UntypedStorage) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def call_by_call(gm: GraphModule) -> Callable[..., Any]:
    """The function of a graph module. If its source is written already: without the nodes."""
    if not gm.is_written:
        return lambda *args: gm.forward(*args)
    holder = torch.nn.Module()
    holder.__dict__.update(
        {name: value for name, value in vars(gm).items() if name not in ("_graph", "_code")}
    )
    return types.MethodType(type(gm).forward, holder)
