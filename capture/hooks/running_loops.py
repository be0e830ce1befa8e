"""Frames that ran before their block began: what is left of one goes on as a function in the block.

In:  the frame in which a block begins, of a function or of a script.
Out: where a loop that turns in the block begins a turn, the frame returns the value of its resume function
     (`capture.bytecode.resume`) for that place. This has begun in the block, so it can be captured, and
     leaves its loops as others do (`capture.bytecode.turns`).

    def main():
        model, data = load()                ->     def main():
        with capture.enable():                         model, data = load()
            for x, y in data:                          with capture.enable():
                step(model, x, y)                          for x, y in data:
        save(model)                                            step(model, x, y)     # one turn
                                                               return resume_at_for(exit, iterator, model)

The resume function does all the rest: other turns, what leaves the `with` block, `save`, the `return`. So
nothing is handed back, whatever the loop does. native/frame/running_loops.c tells how a frame that runs can
end so. A script's variables are the items of a dict, which its resume function shares.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from inspect import CO_OPTIMIZED
from types import CellType, CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, NamedTuple

import _capture

from capture.bytecode import resume
from capture.bytecode.by_code import cached
from capture.bytecode.dialects import dialect
from capture.bytecode.instructions import decode
from capture.bytecode.liveness import reached
from capture.bytecode.loop_iterators import Head, heads
from capture.bytecode.stack_items import VALUE
from capture.bytecode.top_level import as_function, is_top_level
from capture.hooks import switch
from capture.policy import frame_filter
from capture.process import collection
from capture.report import log
from capture.report.config import config

if TYPE_CHECKING:
    from capture.hooks.switch import HookState

#: a function, the places in the frame of its arguments, the offset of a return
Rest = tuple[FunctionType, Sequence[int], int]
#: what a block has to take until its frame ends: some 50 times of what that costs
LEAST_NS = 1_000_000
#: an exit stack may begin a block for the frame that called it
EXIT_STACKS = (contextlib.ExitStack.enter_context.__code__,)


class Block(NamedTuple):
    """The frame in which a block begins, and the offsets at which it may end."""

    frame: FrameType
    offsets: frozenset[int]


def block_in(frame: FrameType | None, inside: HookState) -> Block | None:
    """A block begins in the frame, or in the one that called our own there. None: it runs as it is. A frame
    that is in a block already is captured in that one.

    `inside`: the state of the hook in the block, which is not set yet: nothing of ours runs under it.
    """
    if switch.native_callback()[0] is not None or not hasattr(_capture, "Patience"):
        return None
    while frame is not None and _begins_for_others(frame.f_code):
        frame = frame.f_back
    if frame is None or not isinstance(inside.converter, _capture.Patience):
        return None
    found = _heads(frame.f_code)
    if all(head.start <= frame.f_lasti for head in found.values()) or not _shares_variables(frame):
        return None
    return Block(frame, frozenset(found))


def follow(block: Block) -> bool:
    """The block has begun. Whether its frame is followed now."""
    return _capture.follow_frame(block.frame, _rest_of, block.offsets, LEAST_NS)


def leave() -> None:
    """The block ends."""
    _capture.follow_nothing()


def _begins_for_others(code: CodeType) -> bool:
    return frame_filter.origin_of(code.co_filename) == "capture" or code in EXIT_STACKS


def _shares_variables(frame: FrameType) -> bool:
    """Whether a function can have the variables of the frame: not those of a class, nor of a script with two
    dicts.
    """
    if frame.f_code.co_flags & CO_OPTIMIZED:
        return True
    names = frame.f_locals
    return is_top_level(frame.f_code) and type(names) is dict and names is frame.f_globals


@cached(maxsize=256)
def _heads(code: CodeType) -> dict[int, Head]:
    """By the offsets at which a frame may stand that begins a turn. Empty: no frame may go on elsewhere."""
    found: dict[int, Head] = {}
    if not frame_filter.may_go_on_elsewhere(code):
        return found
    by_index = {head.index: head for head in heads(code)}
    end = 0
    for index, item in enumerate(dialect.bare_instructions(code)):
        if index in by_index:  # what extends the operand stands in front
            found.update(dict.fromkeys(range(end, item.offset + 1, dialect.CODE_UNIT), by_index[index]))
        end = item.places.stop
    return found


@collection.settled()
def _rest_of(frame: FrameType) -> Rest | None:
    """What is called where the frame begins a turn. None: it goes on."""
    try:
        return _made(frame, _heads(frame.f_code)[frame.f_lasti])
    except Exception as error:
        if config.raise_on_error:
            raise
        text = f"the loops of this frame are not captured while they run: {log.failure_text(error)}"
        log.warn_once(frame.f_code, "failure", text)
        return None


def _made(frame: FrameType, head: Head) -> Rest | None:
    code = frame.f_code
    found = _place_in_function(code, head)
    end = _end_of(code)
    if found is None or end is None:
        return None
    original, target = found
    places = dialect.places_of_variables(code)
    cells = {name: _capture.local_item(frame, places[name]) for name in resume.cell_names(original)}
    if _errors_differ(original, target, cells):
        return None
    names = [name for name in original.co_varnames if name in places and name not in cells]
    names = [name for name in names if _capture.local_item(frame, places[name]) is not _capture.NULL]
    depth = head.depth - head.steps
    resumed = resume.resume_code(original, target, (VALUE,) * depth, tuple(names), target)
    function = FunctionType(resumed, frame.f_globals, original.co_name, None, tuple(cells.values()) or None)
    owner = resume.owner_name(original)
    first = () if owner is None else (places.get(resume.OWNER, places[owner]),)
    rest = (places[name] for name in names if name != owner)
    return function, (*first, *range(len(places), len(places) + depth), *rest), end


def _place_in_function(code: CodeType, head: Head) -> tuple[CodeType, int] | None:
    """The function whose code the frame runs, and the number of its instruction that begins the turn."""
    if not is_top_level(code):
        point = resume.point_of(code)
        return point.original, head.index - point.prologue
    function = as_function(code, head.index)
    if function is None:
        return None
    number = list(dict.fromkeys(_heads(code).values())).index(head)  # the same loops, in the same order
    return function, heads(function)[number].index


@cached(maxsize=256)
def _end_of(code: CodeType) -> int | None:
    """The offset of a return: the stack has nothing but the value there. None: the code has none, since it
    always raises, or goes on for ever.
    """
    items = dialect.bare_instructions(code)
    return next((item.offset for item in items if item.name in dialect.RETURNS), None)


def _errors_differ(original: CodeType, target: int, cells: dict[str, CellType]) -> bool:
    """Whether an own cell may be read while it is empty: the error is another one for what it is in a resume
    function, a free variable.
    """
    own = original.co_cellvars
    if not own:
        return False
    empty = (name for name in own if _is_empty(cells[name]))
    return _deletes_cells(original) or any(_reads_first(original, target, name) for name in empty)


def _is_empty(cell: CellType) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return True
    return False


@cached(maxsize=256)
def _deletes_cells(code: CodeType) -> bool:
    return any(step.name in dialect.DELETES_CELL for step in decode(code).instructions)


@cached(maxsize=256)
def _reads_first(code: CodeType, begin: int, name: str) -> bool:
    """Whether a way from the instruction `begin` on reads the cell before it is written."""
    steps = reached(decode(code), begin, lambda step: step.name in dialect.WRITES_CELL and step.value == name)
    return any(step.name in dialect.READS_CELL and step.value == name for step in steps)
