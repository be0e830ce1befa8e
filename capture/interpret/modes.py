"""Modes of the thread (grad mode, autocast, torch's function modes) that a frame changes.

In:  calls that change a mode; context managers that the frame enters.
Out: the same calls as nodes of the graph, and the list of them for the code behind the graph.

    with torch.no_grad(): y = x + 1   ->   _set_grad_enabled(False); add; _set_grad_enabled(True)
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch
import torch.fx
from torch.amp import autocast_mode
from torch.autograd import grad_mode

from capture.process.thread_state import read_modes
from capture.report.break_reasons import GraphBreak
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.wrap import wrap
from guards.kinds.constants import ConstantGuard
from guards.sources import FunctionModeSource, StateSource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from capture.interpret.output_graph import OutputGraph
    from capture.variables.core.base import Variable
    from capture.variables.core.protocols import Interpreter


class Modes:
    """The part of an `OutputGraph` that follows the thread's modes."""

    def __init__(self, output: OutputGraph) -> None:
        self.output = output
        self.at_entry = read_modes()
        self.changes: list[tuple[Any, list[Any]]] = []
        self.open_autocasts: list[tuple[Variable, torch.fx.Node]] = []
        self.open_inference: list[torch.fx.Node] = []
        self.function_modes: list[Variable] = []  # of torch, that see each operation; the innermost last
        self.around: list[Variable] = []  # those of them that were entered around the frame
        self._open_contexts: list[Any] = []  # entered by the translation itself
        self._handled_around = sys.exception()  # by the caller of the frame

    def handles_nothing_around(self) -> bool:
        """Whether the frame's caller handles no exception; if so, that is guarded."""
        if self._handled_around is not None:
            return False
        self.output.guards.add(ConstantGuard.of(StateSource(sys.exception), None))
        return True

    def change(self, tx: Interpreter, function: Any, args: list[Any]) -> Variable:
        """A function that changes the mode of the thread: done now, in the graph, and for the code behind the
        graph.
        """
        result = function(*args)
        node = self.state_node(function, tuple(args))
        node.meta["in_context"] = any(t.code.co_name == "__enter__" for t in tx.chain())
        self.changes.append((function, args))
        return ConstantVariable(result)

    def state_node(self, function: Any, args: tuple[Any, ...]) -> torch.fx.Node:
        """A call in the graph that changes the mode of the thread."""
        node = self.output.graph.call_function(function, args)
        node.meta["changes_state"] = True
        return node

    def enter_context(self, manager: Any) -> None:
        """`manager` was entered, to be left when the translation ends at the latest."""
        self._open_contexts.append(manager)

    def leave_context(self, manager: Any) -> None:
        if not self._open_contexts or self._open_contexts[-1] is not manager:
            raise GraphBreak("with_context", value=type(manager).__name__)
        self._open_contexts.pop().__exit__(None, None, None)

    def leave_all_contexts(self) -> None:
        while self._open_contexts:
            self._open_contexts.pop().__exit__(None, None, None)

    def are_as_at_entry(self) -> bool:
        unchanged = not self.changes or read_modes() == self.at_entry
        return unchanged and self.function_modes == self.around

    def surround_with(self, modes: Iterable[Any]) -> None:
        """Modes of torch that are entered around the frame, the innermost last."""
        self.function_modes = [wrap(self.output, m, FunctionModeSource(i)) for i, m in enumerate(modes)]
        self.around = list(self.function_modes)

    def leave(self) -> None:
        """The graph leaves the thread as it found it: what goes on behind it enters again."""
        for node in reversed(self.open_inference):
            self.state_node(grad_mode._exit_inference_mode, (node,))
        for _, node in reversed(self.open_autocasts):
            self.state_node(autocast_mode._exit_autocast, (node,))
        changes = [n for n in self.output.graph.nodes if n.target is torch._C._set_grad_enabled]
        before = self.at_entry["grad"]
        if (
            self.output.is_broken
            and changes
            and changes[-1].meta["in_context"]
            and changes[-1].args[0] != before
        ):
            self.state_node(torch._C._set_grad_enabled, (before,))
