"""The statements of the captured frame that read items of another kind in each call.

In:  the places of such items, the steps of the root translator, and what it reads.
Out: a `ChangingItems` signal: in the next attempt Python runs these statements, and the graph begins behind
     them.

    mask = torch.tensor([s is not None for s in batch])        Python
    following = torch.cat([s for s in batch if s is not None]) Python
    values = net(states)                                       the graph of a resume function

Several such statements in a row are one. They have no jumps: then what is bound behind them is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from capture.bytecode.dialects import dialect
from capture.bytecode.resume import point_of
from capture.report.retry import ChangingItems
from capture.sizes import item_kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.interpret.output_graph import OutputGraph
    from capture.interpret.root_translator import RootTranslator
    from guards.sources import Source


def changing_items(output: OutputGraph) -> ItemWatch | None:
    policy = output.symbols.policy
    is_changing = item_kinds.among(policy.seen.kinds) if policy.may_break else None
    return None if is_changing is None else ItemWatch(output, is_changing)


class ItemWatch:
    """Sees the statements of one attempt. A statement ends where nothing is on the stack."""

    def __init__(self, output: OutputGraph, is_changing: Callable[[Source], bool]) -> None:
        self._output = output
        self._is_changing = is_changing
        self._place: str | None = None  # that the present statement has read
        self._begin: _Begin | None = None  # of the present statement
        self._first: _Begin | None = None  # of the statements that Python may run with the present one
        self._found: ChangingItems | None = None

    def covers(self, source: Source | None) -> bool:
        return source is not None and self._is_changing(source)

    def note(self, source: Source | None) -> None:
        if source is not None and self._is_changing(source):
            self._place = source.text

    def before_step(self, tx: RootTranslator) -> None:
        """Raises ChangingItems behind the first statement that has operations and reads no such item."""
        if self._begin is not None and (tx.stack or tx.index == self._begin.place):
            return
        if tx.index < point_of(tx.code).prologue or tx.instructions[tx.index].name in dialect.BEGINS_FRAME:
            return
        here = _Begin(tx.steps, tx.index, self._output.operation_count())
        if self._place is not None:
            self._take_in(tx)
        elif self._found is not None and self._begin is not None and here.operations > self._begin.operations:
            raise self._found
        if self._first is None or (self._found is None and here.operations > self._first.operations):
            self._first = here
        self._begin = here

    def at_end(self) -> None:
        if self._found is not None:
            raise self._found

    def _take_in(self, tx: RootTranslator) -> None:
        """Python has to run the present statement. It may as well run those in front that have no operations,
        and has to run those between two such statements.
        """
        assert self._place is not None
        for begin in (self._first, self._begin if self._found is None else None):
            if begin is not None and _is_straight(tx, begin.place, tx.index):
                self._found, self._first = ChangingItems(self._place, begin.steps, tx.index), begin
                break
        self._place = None


class _Begin(NamedTuple):
    """Where a statement begins: the instructions that are done, the next one, and the operations so far."""

    steps: int
    place: int
    operations: int


def _is_straight(tx: RootTranslator, begin: int, end: int) -> bool:
    """Whether the instructions run one behind the other, and each can be a part of new code."""
    if any(tx.handlers[i] is not None or not _runs_through(tx, i) for i in range(begin, end)):
        return False
    targets = [i.target for i in tx.instructions] + [h.target for h in tx.handlers if h is not None]
    return not any(target is not None and begin < target < end for target in targets)


def _runs_through(tx: RootTranslator, index: int) -> bool:
    instruction = tx.instructions[index]
    return instruction.target is None and instruction.name not in _NOT_COPIED


#: Instructions that end the frame, or change a cell or a local in ways that the copy would have to follow.
_NOT_COPIED = dialect.ENDS | dialect.CHANGES_CELL | dialect.DELETES_LOCAL
