"""How much of the program's loops is over.

In:  the frames that run now.
Out: the share of their turns that is done; what is to come of a frame's runs, native/frame/pace.c tells.

    for epoch in range(10):
        for batch in batches:      # a list of 100, the fourth turn
            step(batch)            # 4 of 1,000 runs are done: 0.004

Known are the lengths of ranges, lists and tuples, also below `enumerate`, `zip` and generators, which have
loops of their own, and so those of a `DataLoader`, whose batches come from such an iterator. Loops that
compare a counter with its limit (`while step < steps`, `if step >= steps: break`) have taken a share of that
limit. Of other loops (`while True`, streams of data) no turn is expected but this one. Nothing here runs code
of the program, and a wrong guess costs time and nothing else.
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable
from types import CellType, FrameType, GeneratorType
from typing import Any

import _capture
from torch.utils.data import dataloader

from capture.bytecode.dialects import dialect
from capture.bytecode.loop_iterators import iterator_places
from capture.bytecode.loop_limits import LimitedLoop, limited_loops


def share_done(frame: FrameType | None) -> float | None:
    """Of all turns of the loops of this frame and its callers, the share that is done, the present one
    included: above 0, up to 1. None: of no loop is known when it ends.
    """
    done = None
    while frame is not None:
        done = _done_in(frame, done)
        frame = frame.f_back
    return done


#: the share of the loops so far inside that is done, with the present turn; None: they are unknown
_Share = float | None


def _done_in(frame: FrameType, share: _Share) -> _Share:
    """The share that is done of the loops of one frame; `share` is done of the present turn."""
    places = iterator_places(frame.f_code).get(frame.f_lasti, ())
    limited = [loop for loop in limited_loops(frame.f_code) if loop.start <= frame.f_lasti <= loop.end]
    by_place = {loop.height: loop for loop in limited if loop.steps}
    whiles = [(loop.height, loop) for loop in limited if not loop.steps]
    for place in (*reversed(places), -1):
        while whiles and whiles[-1][0] > place:
            share = _up_to_a_limit(frame, whiles.pop()[1], share)
        if place >= 0:
            share = _stepped(frame, place, by_place.get(place), share)
    return share


def _stepped(frame: FrameType, place: int, loop: LimitedLoop | None, share: _Share) -> _Share:
    """What is done of a `for` loop."""
    iterator = _capture.stack_item(frame, place)
    if loop is not None and _done_of(iterator, None) is None:
        return _up_to_a_limit(frame, loop, share)
    return _done_of(iterator, share)


def _up_to_a_limit(frame: FrameType, loop: LimitedLoop, share: _Share) -> _Share:
    """What is done of a loop with tests. If there are several, one of them may be for an early end (so many
    epochs without progress): the farthest limit counts.
    """
    found = [_reached(_value(frame, test.counter), _value(frame, test.limit), share) for test in loop.tests]
    return min((done for done in found if done is not None), default=share)


def _reached(counter: Any, limit: Any, share: _Share) -> float | None:
    """The share of its limit that a counter has reached. The present turn counts as one for whole numbers."""
    if type(counter) not in _NUMBERS or type(limit) not in _NUMBERS or not (counter >= 0 and limit > 0):
        return None
    turn = (1.0 if share is None else share) if type(counter) is int else 0.0
    done = min((counter + turn) / limit, 1.0)
    return done if done > 0 else None


def _value(frame: FrameType, number: dialect.Number) -> Any:
    """What the frame would read; None: nothing, or something that only code of the program knows."""
    value = _ROOTS[number.where](frame, number.what)
    for name in number.attributes:
        value = inspect.getattr_static(value, name, None)
    return value


def _local(frame: FrameType, place: int) -> Any:
    return _capture.local_item(frame, place)


def _in_a_cell(frame: FrameType, place: int) -> Any:
    cell = _local(frame, place)
    try:
        return cell.cell_contents if type(cell) is CellType else None
    except ValueError:  # it is empty
        return None


_NUMBERS = (int, float)
_ROOTS: dict[str, Callable[[FrameType, Any], Any]] = {
    "local": _local,
    "cell": _in_a_cell,
    "global": lambda frame, name: frame.f_globals.get(name),
    "constant": lambda frame, value: value,
}


def _done_of(iterator: Any, share: _Share) -> _Share:
    turns = _TURNS.get(type(iterator))
    return share if turns is None else turns(iterator, share)


def _counted(iterator: Any, share: _Share) -> _Share:
    """Iterators over a sequence say which one, and the place of the next item."""
    _, (sequence, *_), *index = iterator.__reduce__()
    if type(sequence) not in _SEQUENCE_TYPES:
        return share  # the length of a class of the program is a method of the program
    length = _turns_in_all(sequence)
    if not index or not 0 < index[0] <= length:
        return share  # the sequence has shrunk, or somebody has moved the iterator
    return float((index[0] - (0 if share is None else 1 - share)) / length)


def _turns_in_all(sequence: Any) -> int:
    if type(sequence) is range:  # `len` knows no numbers above those of C
        return (sequence[-1] - sequence.start) // sequence.step + 1 if sequence else 0
    return len(sequence)


def _enumerated(iterator: Any, share: _Share) -> _Share:
    _, (inner, _) = iterator.__reduce__()
    return _done_of(inner, share)


def _zipped(iterator: Any, share: _Share) -> _Share:
    """The zip ends with its shortest iterator: the one of which the largest share is done. The present turn
    is one item of a sequence, and any part of what a generator gives.
    """
    inner = [(item, share if type(item) in _OVER_SEQUENCES else None) for item in iterator.__reduce__()[1]]
    shares = [_done_of(item, of_item) for item, of_item in inner if type(item) in _TURNS]
    return max((done for done in shares if done is not None), default=share)


def _generated(generator: Any, share: _Share) -> _Share:
    """A generator is as far as the iterator that it delegates to, and its own loops are. One without such
    loops asks an iterator for items itself, as the batches of a `DataLoader` ask for numbers of samples.
    """
    frame, delegate = generator.gi_frame, generator.gi_yieldfrom
    if frame is None:
        return share
    if type(delegate) in _TURNS or _done_in(frame, None) is not None:
        return _done_in(frame, _done_of(delegate, share))
    held = [item for item in gc.get_referents(generator) if type(item) in _TURNS]
    done = _done_of(held[0], None) if len(held) == 1 else None
    return share if done is None else done


def _loaded(iterator: Any, share: _Share) -> _Share:
    return _done_of(vars(iterator).get("_sampler_iter"), share)


_SEQUENCES: tuple[Any, ...] = (range(0), range(2**80), [], ())
_SEQUENCE_TYPES = frozenset(map(type, _SEQUENCES))
_OVER_SEQUENCES = tuple(type(iter(sequence)) for sequence in _SEQUENCES)
_TURNS: dict[type, Callable[[Any, _Share], _Share]] = {
    **dict.fromkeys(_OVER_SEQUENCES, _counted),
    enumerate: _enumerated,
    zip: _zipped,
    GeneratorType: _generated,
}
for _name in ("_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"):  # torch's private names
    if (_class := getattr(dataloader, _name, None)) is not None:
        _TURNS[_class] = _loaded
