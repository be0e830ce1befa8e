"""What a frame hands on to its next call, or to the next turn of its loop.

In:  the root translator, which stands at the end of the frame or at its break.
Out: the variables that will be there, by the texts of their sources; the sizes of the tensors among them.

    self.cache = torch.cat([self.cache, x])            "self.cache": float32[8], where it has read float32[7]
    for _ in range(n): tokens = torch.cat([tokens, t]) "tokens", where turns are captured alone
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.bytecode import resume
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.tensors.tensor import TensorVariable
from guards.sources import LocalSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from capture.interpret.root_translator import RootTranslator
    from capture.variables.core.base import Variable


def stores(tx: RootTranslator) -> dict[str, Variable]:
    """What the frame puts into attributes, items, globals and cells, with the items of tuples and lists."""
    of_this_call = resume.point_of(tx.code).original.co_cellvars
    return dict(
        held
        for place, value in tx.output.side_effects.stores().items()
        if place not in of_this_call  # the next call has new cells
        for held in _with_items(place, value)
    )


def to_next_turn(tx: RootTranslator) -> dict[str, Variable]:
    """The locals with which the next turn begins, where the frame is a part of a loop."""
    if tx.returned is not None or not _is_in_a_loop(tx):
        return {}
    from capture.output.break_code import live_locals  # lazy: import time

    return {LocalSource(name).text: tx.locals[name] for name in live_locals(tx)}


def _is_in_a_loop(tx: RootTranslator) -> bool:
    """Whether turns of a loop are captured alone, or the frame goes on in front of where it began."""
    if not resume.is_resume(tx.code):
        return False
    if tx.turn_heads:
        return True
    from capture.output.break_code import places_to_go_on  # lazy: import time

    begins_at = resume.point_of(tx.code).prologue + resume.made_of(tx.code).target
    return any(place <= begins_at for place in places_to_go_on(tx))


def _with_items(place: str, value: Variable) -> Iterator[tuple[str, Variable]]:
    yield place, value
    if type(value) in (TupleVariable, ListVariable):
        for index, item in enumerate(value.items):  # type: ignore[attr-defined]
            yield from _with_items(f"{place}[{index}]", item)


def sizes(values: Mapping[str, Variable]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Those of the tensors. Some are symbols."""
    for place, value in values.items():
        if isinstance(value, TensorVariable):
            yield place, value.fake.shape
