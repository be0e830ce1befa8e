"""The modes of the thread that a frame changes: grad mode, autocast, torch's function modes.

In:  calls that change a mode; context managers that the frame enters.
Out: the same calls as nodes of the graph, and a list of them for the code after the graph.

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
        self.grad_mode_counts = False  # something has asked for it, or does what depends on it
        self.open_autocasts: list[tuple[Variable, torch.fx.Node]] = []
        self.open_inference: list[torch.fx.Node] = []
        self.function_modes: list[
            Variable
        ] = []  # torch's modes that see each operation; the innermost is last
        self.around: list[Variable] = []  # the function modes that the frame's callers entered
        self._open_contexts: list[Any] = []  # the translation itself entered them
        self._caller_handles = sys.exception() is not None  # not the exception itself: it holds frames

    def handles_nothing_around(self) -> bool:
        """Whether the frame's caller handles no exception. If so, a guard says it."""
        if self._caller_handles:
            return False
        self.output.guards.add(ConstantGuard.of(StateSource(sys.exception), None))
        return True

    def change(self, tx: Interpreter, function: Any, args: list[Any]) -> Variable:
        """Call a function that changes the mode of the thread: now, in the graph, and after the graph."""
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
        """The translation has entered `manager`, and leaves it at its end at the latest."""
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
        """The function modes that the frame's callers entered, the innermost last."""
        self.function_modes = [wrap(self.output, m, FunctionModeSource(i)) for i, m in enumerate(modes)]
        self.around = list(self.function_modes)

    def leave(self) -> None:
        """End the graph in the modes in which it began. The code after the graph enters the modes again."""
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
