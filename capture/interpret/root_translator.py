"""The translator of the captured frame. It can stop before a given instruction.

In:  a `Frame` of the hook; its locals are the arguments.
Out: `run_to_break(n)`: the variable that the frame returns, or None when the translator stands after n
     instructions.
"""

from __future__ import annotations

import collections
import itertools
import types
from typing import TYPE_CHECKING, Any, NamedTuple

import _capture
import numpy as np
import torch

from capture.bytecode.dialects import dialect
from capture.bytecode.resume import is_resume, left_heads, point_of
from capture.interpret.output_graph import OutputGraph
from capture.interpret.scope import Scope
from capture.interpret.translator import Translator
from capture.process import function_modes
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import LazyVariable, ObservedException, Variable
from capture.variables.core.makers import make
from guards.sources import CellSource, FreeCellSource, LocalSource

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction


class RootTranslator(Translator):
    def __init__(self, output: OutputGraph, frame: Any) -> None:
        code = frame.code
        output.modes.surround_with(function_modes.at_entry())
        values = dict(zip(_local_names(code), frame.locals))
        local_variables: dict[str, Variable] = {
            name: LazyVariable(output, value, LocalSource(name))
            for name, value in values.items()
            if value is not _capture.NULL
        }
        cells = _free_cells(output, frame)
        super().__init__(output, code, Scope(frame.globals), local_variables, cells)
        self.turn_heads = left_heads(code) if output.budget.has_to_pay else frozenset()
        self.prologue = point_of(code).prologue
        self.ends_turn = False  # it stands at the end of a turn that is captured alone
        self.stopped_by: GraphBreak | None = None  # it stands at the instruction that has raised this
        self.left_until: int | None = None  # behind a break, Python runs the frame up to this instruction
        self.entry_values = {id(value) for value in values.values()}
        #: whether the arguments or the closure hold anything of torch
        held = [
            *values.values(),
            *(c.contents.value for c in cells.values() if isinstance(c.contents, LazyVariable)),
        ]
        self.has_torch_arguments = is_resume(code) or any(map(holds_torch, held))

    @property
    def saw_torch(self) -> bool:
        return self.has_torch_arguments or bool(self.output.inputs.tensors())

    @property
    def is_straight(self) -> bool:
        """Whether the frame has no jumps and inlines nothing: only the values differ between its calls."""
        return self.output.budget.instructions == self.steps and not any(
            i.target is not None for i in self.instructions
        )

    def run_to_break(self, break_at: int | None) -> Variable | None:
        """Run until the frame returns, or until `break_at` instructions are done, or a turn of its loop, or
        (without `break_at`) until an instruction breaks the graph that has done nothing yet: `stopped_by`.

        Raises GraphBreak where another instruction can't be captured. Then `steps` stands at that one.
        """
        watch = self.output.changing_items
        while self.returned is None and self.stopped_by is None:
            if watch is not None:
                watch.before_step(self)
            self.ends_turn = self.index in self.turn_heads and self.steps > self.prologue
            if self.steps == break_at or self.ends_turn:
                break
            before = self._place() if break_at is None and self._may_stop() else None
            try:
                self.step()
            except GraphBreak as reached:
                if before is not None and self._goes_back(reached, before):
                    self.stopped_by = reached.without_frames()
                    continue
                if watch is not None:
                    watch.at_end()
                raise
            except ObservedException as raised:
                signal = GraphBreak("raised", error=raised.variable.describe())
                signal.stack.append(self.frame_summary())
                signal.born = raised.variable.born
                raised.__traceback__ = None  # its frames hold objects of the program
                raise signal from None
            self.steps += 1
            self.output.root_step = self.steps
        if watch is not None:
            watch.at_end()
        self.output.is_at_end = True
        return self.returned

    def _may_stop(self) -> bool:
        """Whether the next instruction is of a kind whose rules may break at once."""
        instruction = self.instructions[self.index]
        return instruction.target is not None or instruction.name in dialect.COUNTED

    def _place(self) -> _Place:
        output = self.output
        done = output.budget.instructions, output.progress()
        return _Place(self.index, self.current, [*self.stack], self.keyword_names, *done)

    def _goes_back(self, signal: GraphBreak, place: _Place) -> bool:
        """Stand in front of the instruction again, if it has done nothing. False: another attempt has to."""
        called_nothing = self.output.budget.instructions == place.instructions + 1 and len(signal.frames) == 1
        if not (signal.is_at_once and called_nothing and self.output.progress() == place.progress):
            return False
        self.index, self.current = place.next_index, place.current
        self.stack, self.keyword_names = place.stack, place.keyword_names
        return True


class _Place(NamedTuple):
    """The state of a frame in front of an instruction, and what the translation has done by then."""

    next_index: int
    current: Instruction
    stack: list[Variable]
    keyword_names: tuple[str, ...]
    instructions: int
    progress: tuple[int, ...]


def holds_torch(value: Any, depth: int = 3) -> bool:
    """Whether the value is a tensor, a module or an array, or a container of them.

    This looks only at the first 20 items, and runs no code of the program.
    """
    if issubclass(type(value), (torch.Tensor, torch.nn.Module, np.ndarray)):
        return True
    if (
        depth == 0 or type(value).__iter__ not in PLAIN_ITERATION
        if hasattr(type(value), "__iter__")
        else True
    ):
        return False
    items = dict.values(value) if isinstance(value, dict) else value
    return any(holds_torch(item, depth - 1) for item in itertools.islice(items, 20))


PLAIN_ITERATION = (list.__iter__, tuple.__iter__, dict.__iter__, collections.OrderedDict.__iter__)


def _local_names(code: Any) -> tuple[str, ...]:
    """The names of the frame's slots: the locals, then the other cells. Free variables have no slot."""
    return (*code.co_varnames, *(n for n in code.co_cellvars if n not in code.co_varnames))


def _free_cells(output: OutputGraph, frame: Any) -> dict[str, Any]:
    cells = {}
    for name, cell in zip(frame.code.co_freevars, frame.function.__closure__ or ()):
        try:
            contents: Variable | None = LazyVariable(output, cell.cell_contents, CellSource(name))
        except ValueError:
            contents = None
        cells[name] = make(types.CellType, contents, FreeCellSource(name))
        output.objects.remember(cell, cells[name])
    return cells
