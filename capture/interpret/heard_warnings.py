"""The warnings of a translated frame's operations.

In:  the operations, as they run on fake tensors.
Out: deferred calls that give the warnings again at each run, at the lines of the program.

    loss = F.mse_loss(x, y)    ->    behind the graph: "Using a target size ..." at train.py:12

`capture/graph/torch_warnings.py` hears and gives them. Those that filters of the frame itself drop are none
(`frame_warning_filters.py`). Where they can't wait, they come when the frame is translated, in each process.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from capture.graph.torch_warnings import Heard, give, give_again, give_once, hear, note_given
from capture.policy.text_receivers import read_by_warnings, warnings_are_plain
from capture.variables.core.makers import constant
from capture.variables.core.wrap import class_constant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from capture.interpret.output_graph import OutputGraph


class HeardWarnings:
    """The part of an `OutputGraph` that repeats warnings.

    present: those of the present operation. withheld: those of the present body, which may run more than
    once.
    """

    def __init__(self, output: OutputGraph) -> None:
        self.output = output
        self.present: list[Heard] = []
        self.withheld: list[Heard] | None = None

    def listen(self, call: Callable[[], Any]) -> Any:
        result, self.present = self._heard_from(call)
        return result

    def from_kernels(self, calls: Iterable[Callable[[], Any]]) -> None:
        """Calls on real tensors for which kernels warn."""
        for call in calls:
            _, heard = self._heard_from(call)
            self.repeat(heard)
            self.present = [*self.present, *heard]

    @contextlib.contextmanager
    def withholding(self) -> Iterator[list[Heard]]:
        """The warnings that the operations of the block give; `repeat` gives them."""
        outer, self.withheld = self.withheld, []
        try:
            yield self.withheld
        finally:
            self.withheld = outer

    def repeat(self, heard: list[Heard], *, at_each_run: bool = True) -> None:
        """The warnings come at each run, behind the graph; where that is not possible, they come now."""
        if not heard:
            return
        from capture.variables.callables import frame_warning_filters  # lazy: import time

        tx, deferred = self.output.translator, self.output.side_effects.deferred
        can_wait = at_each_run and deferred.allowed
        for warning in heard:
            if frame_warning_filters.drop(self.output.side_effects, warning.category, str(warning.message)):
                if warning.may_come_once():
                    note_given(warning)
                    self.output.granted.only_here("a warning that each process drops")
                continue
            if self.withheld is not None:
                self.withheld.append(warning)
                continue
            given = warning.again() if can_wait else None
            category = class_constant(self.output, warning.category)
            if tx is None or given is None or not deferred.require(warnings_are_plain, category):
                give(*warning)
                self.output.granted.only_here("a warning that each process gives")
                continue
            giver = give_once if warning.may_come_once() else give_again
            if giver is give_once:  # the frame may be left to Python, and torch does not give it again
                give_once(*given)
            deferred.add(tx, giver, [*map(constant, given)], reads=read_by_warnings(), raises=False)

    def _heard_from(self, call: Callable[[], Any]) -> tuple[Any, list[Heard]]:
        """The call may warn: it comes from a frame at its place in the program, and its warnings wait."""
        translator = self.output.translator
        return (call(), []) if translator is None else hear(call, translator.places_with_globals())
