"""Items of containers that are of another kind in each call.

In:  the guards of entries that did not fit a frame.
Out: `Seen.kinds`: the places of such items, each with the number of changes; `among(kinds)`: whether a source
     is one of them.

    batch[9].next_state: was [None], now [a Tensor]     ->     batch[*].next_state

A batch that is drawn from a buffer has its None somewhere else each time, so no capture serves the next call:
n items of two kinds have 2**n arrangements. A short list may keep to a few of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from guards.kinds.constants import ConstantGuard
from guards.kinds.containers import raw_length
from guards.kinds.identity import ExactTypeGuard
from guards.kinds.tensors import TensorGuard
from guards.lookup import Unresolved
from guards.namespace import STACK_ITEM
from guards.sources import DequeItemSource, FreeCellSource, ItemSource, LocalSource

if TYPE_CHECKING:
    from guards.guard import Guard
    from guards.namespace import FrameNamespace
    from guards.sources import Source

#: A container with more items has others to come after one change, a shorter one after this many.
FEW_ITEMS = 8
CHANGES_OF_FEW = 2
ANY = "[*]"


def note_changes(kinds: dict[str, int], guards: Iterable[Guard | None], frame: FrameNamespace) -> None:
    """Note the places whose kind is not what the guards expect. Runs no code of the program."""
    changed = {}
    for guard in guards:
        found = None if guard is None else _changed_place(guard, frame)
        if found is not None:
            place, length = found
            changed[place] = CHANGES_OF_FEW if length > FEW_ITEMS else 1
    for place, count in changed.items():
        kinds[place] = kinds.get(place, 0) + count


def note_records(kinds: dict[str, int], frame: Any) -> None:
    """Note the fields that only some records of a long list have, the others have None. A call gave the list
    that was left to Python, in front of this resume function: the next call may well give other records.
    """
    for name, value in zip(frame.code.co_varnames, frame.locals):
        if name.startswith(STACK_ITEM) and type(value) in (list, tuple) and len(value) > FEW_ITEMS:
            for index in _fields_with_gaps(value):
                kinds.setdefault(f"{LocalSource(name).text}{ANY}[{index}]", CHANGES_OF_FEW)


def _fields_with_gaps(records: Sequence[Any]) -> list[int]:
    kind = type(records[0])
    if not issubclass(kind, tuple) or any(type(record) is not kind for record in records):
        return []
    lengths = {tuple.__len__(record) for record in records}
    missing = (
        sum(tuple.__getitem__(record, index) is None for record in records)
        for index in range(lengths.pop() if len(lengths) == 1 else 0)
    )
    return [index for index, count in enumerate(missing) if 0 < count < len(records)]


def among(kinds: dict[str, int]) -> Callable[[Source], bool] | None:
    """Says of a source whether its kind differs from call to call. None: no place is known to."""
    places = [re.escape(place) for place, count in kinds.items() if count >= CHANGES_OF_FEW]
    if not places:
        return None
    pattern = re.compile("|".join(place.replace(re.escape(ANY), r"\[\d+\]") for place in places))
    return lambda source: pattern.fullmatch(source.text) is not None


def _changed_place(guard: Guard, frame: FrameNamespace) -> tuple[str, int] | None:
    """The place of an item of another kind, and the number of items there."""
    if not isinstance(guard.source.root, (LocalSource, FreeCellSource)):
        return None
    try:
        if not _is_of_another_kind(guard, guard.source.resolve(frame)):
            return None
        lengths = [
            (raw_length(step.parent.resolve(frame)), -depth, step)
            for depth, step in enumerate(guard.source.chain())
            if isinstance(step, (ItemSource, DequeItemSource))
        ]
    except Unresolved:
        return None
    if not lengths:
        return None
    length, _, step = max(lengths, key=lambda found: found[:2])
    return step.parent.text + ANY + guard.source.text.removeprefix(step.text), length


def _is_of_another_kind(guard: Guard, value: Any) -> bool:
    """A number or a text that changes has rules of its own (`capture/sizes/policy.py`)."""
    if isinstance(guard, TensorGuard):
        return not issubclass(type(value), torch.Tensor)
    if isinstance(guard, ConstantGuard):
        return type(guard.payload) is bool or type(value) is not type(guard.payload)
    return isinstance(guard, ExactTypeGuard)
