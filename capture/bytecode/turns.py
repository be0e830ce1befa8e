"""Loops that can be left at a turn: a frame that is called once, or has a long loop, moves to its resume
function.

In:  a code object with loops.
Out: a code object that does the same in its place. At the begin of each turn it asks a `_capture.Turns`,
     next to nothing beside a turn. Where that says so, the frame returns the rest of the loop as a
     `Continuation`.

    for x in xs:              for x in xs:
        step(x)        ->         if turns: return Continuation(resume_in_the_loop, (iterator, x, ...))
                                  step(x)

CPython keeps the instruction pointer and the stack of a running frame in variables of its evaluator. A frame
that expects it can go on elsewhere at next to no cost, and this one does; one that began before its block
goes there once, as if by a debugger (`capture/hooks/running_loops.py`). The resume function is the one that a
graph break at the begin of the turn makes, and the loops that were left so end each of their turns with such
a break (`resume.left_heads`). So one turn is one capture, for all turns.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType
from typing import Any, NamedTuple

import _capture
import torch

from cache.code_table import CodeTable
from capture.bytecode import library, resume
from capture.bytecode.dialects import Assembler, dialect
from capture.bytecode.eager_twin import argument_names
from capture.bytecode.emit import bytecode_like, release_constants
from capture.bytecode.line_places import cut_far_places, fill_places
from capture.bytecode.liveness import instances_end_noticed, live_names
from capture.bytecode.loop_iterators import heads
from capture.bytecode.stack_items import VALUE
from guards.namespace import STACK_ITEM
from guards.sources import HEAP_TYPE

MOST_LOOPS = 16  # of one function: that of native/frame/turns.h

#: the local of a twin that holds the stack when it leaves a loop
ITEMS = "___items"
TO_LEAVE = 6  # the items that leaving a loop needs on the stack, beside the cells


class Loop(NamedTuple):
    """`head`, `steps`, `depth`: see `capture.bytecode.loop_iterators.Head`. `outer`: the number of the loop
    around it, or -1. `units`: the code units of a turn.
    """

    head: int
    steps: bool
    depth: int
    outer: int
    units: int


class Question:
    """Stands in a plan for the `_capture.Turns` of the loop with this number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Plan(NamedTuple):
    """The code of a twin, with a `Question` for each of its loops. It is the same in each process."""

    loops: tuple[Loop, ...]
    code: CodeType


class _Twin(NamedTuple):
    """What a twin was made of: the code that it stands for, its loops, and what it asks in each."""

    code: weakref.ref[CodeType]
    loops: tuple[Loop, ...]
    asked: tuple[_capture.Turns, ...]
    on_left: Callable[[CodeType, int], None]


_twins: CodeTable[_Twin] = CodeTable()


def loops_of(code: CodeType) -> tuple[Loop, ...]:
    """The loops that a frame can leave. A resume function has those of its original."""
    point = resume.point_of(code)
    found: list[Loop] = []
    ends: list[int] = []
    for head in heads(point.original):
        around = [number for number, end in enumerate(ends) if head.start < end]
        units = (head.end - head.start) // dialect.CODE_UNIT
        outer = around[-1] if around else -1
        found.append(Loop(head.index + point.prologue, head.steps, head.depth, outer, units))
        ends.append(head.end)
    return tuple(found[:MOST_LOOPS])


def plan_of(code: CodeType) -> Plan | None:
    """None: it has no loop that a frame can leave."""
    loops = loops_of(code)
    if not loops:
        return None
    result = bytecode_like(
        code,
        _with_questions(code, loops),
        [*argument_names(code)],
        code.co_flags & ~(CO_VARARGS | CO_VARKEYWORDS),
    )
    result.freevars, result.cellvars = list(code.co_freevars), list(code.co_cellvars)
    fill_places(result, code.co_firstlineno)
    cut_far_places(result)
    made = result.to_code(
        stacksize=code.co_stacksize + len(resume.cell_names(code)) + TO_LEAVE,
        compute_exception_stack_depths=False,
        check_pre_and_post=False,
    )
    return Plan(loops, release_constants(made))


def twin_of(
    code: CodeType,
    left: Collection[int] = (),
    on_left: Callable[[CodeType, int], None] = lambda code, number: None,
    planned: Callable[[CodeType], Plan | None] = plan_of,
) -> CodeType | None:
    """The code that can leave its loops. None: it has no such loop.

    `left`: the numbers of loops that are left without a price, as earlier processes have left them.
    `on_left` hears of the code and the number of a loop that is left for the first time. `planned` gives what
    `plan_of` does.
    """
    plan = planned(code)
    if plan is None:
        return None
    asked = tuple(
        _capture.Turns(n, loop.outer, loop.units, always=_last_turn(code, loop), left=n in left)
        for n, loop in enumerate(plan.loops)
    )
    constants = tuple(asked[c.number] if type(c) is Question else c for c in plan.code.co_consts)
    twin = plan.code.replace(co_consts=constants)
    _twins[twin] = _Twin(weakref.ref(code), plan.loops, asked, on_left)
    return twin


def _last_turn(code: CodeType, loop: Loop) -> int:
    """At which turn of the loop a resume function ends that is one turn of it. 0: it is none."""
    if not resume.is_resume(code) or loop.head not in resume.left_heads(code):
        return 0
    begins_there = resume.made_of(code).target == loop.head - resume.point_of(code).prologue
    return 1 + begins_there


def _with_questions(code: CodeType, loops: Sequence[Loop]) -> list[Any]:
    """The instructions of the code with a question in each turn, and what a frame does that leaves a loop."""
    by_head = {loop.head: number for number, loop in enumerate(loops)}
    body: list[Any] = []
    ends: list[Any] = []
    for item, index in resume.numbered(code):
        number = None if index is None else by_head.get(index)
        if number is None:
            body.append(item)
            continue
        question: list[Any] = []
        label = library.Label()
        ask = Assembler(item.location, question)
        ask.load_constant(Question(number))
        ask.jump_if_true(label)
        body += [item, *question] if loops[number].steps else [*question, item]
        ends.append(label)
        _leave(Assembler(item.location, ends), code, number, loops[number].depth)
    return [*body, *ends]


def _leave(end: Assembler, code: CodeType, number: int, depth: int) -> None:
    end.build_tuple(depth)
    end.store_local(ITEMS)
    end.load_callable(continued)
    end.load_constant(number)
    end.load_local(ITEMS)
    for name in resume.cell_names(code):
        end.load_cell(name, own=name in code.co_cellvars)
    end.build_tuple(len(resume.cell_names(code)))
    end.call(3)
    end.return_value()


def continued(number: int, items: tuple[Any, ...], cells: tuple[types.CellType, ...]) -> Any:
    """The rest of the frame that calls this: it leaves its loop with this number, at the begin of a turn."""
    frame = sys._getframe(1)
    twin = _twins.get(frame.f_code)
    code = None if twin is None else twin.code()
    assert twin is not None and code is not None
    if not twin.asked[number].left:
        twin.asked[number].left = True
        twin.on_left(code, number)
    point, loop = resume.point_of(code), twin.loops[number]
    head = loop.head - point.prologue
    resume.note_left(point.original, head)
    cell_of = dict(zip(resume.cell_names(code), cells, strict=True))
    # the dict of a script's variables is no copy: it would get our own local
    held = frame.f_locals if point.original.co_varnames else {}
    values = {name: value for name, value in held.items() if name not in cell_of}
    owner = resume.owner_name(point.original)
    names = _names_to_pass(point.original, head + loop.steps, values, owner)
    resumed = resume.resume_code(point.original, head + loop.steps, (VALUE,) * loop.depth, names, head)
    if loop.steps:
        resume.note_open_locals(resumed, {f"{STACK_ITEM}{loop.depth - 1}": frozenset()})
    _capture.mark_resume(resumed)
    _capture.turns_begin(twin.asked[number], resumed)
    closure = tuple(cell_of[name] for name in resume.cell_names(point.original))
    function = types.FunctionType(resumed, frame.f_globals, code.co_name, None, closure or None)
    owners = [] if owner is None else [frame.f_locals.get(owner)]
    return _capture.Continuation(function, (*owners, *items, *(values[n] for n in names if n != owner)))


def _names_to_pass(
    original: CodeType, target: int, values: Mapping[str, Any], owner: str | None
) -> tuple[str, ...]:
    """The locals of the resume function: those that `capture.output.break_code` passes, in its order."""
    live = {*live_names(original, target), owner}
    bound = [name for name in original.co_varnames if name in values]
    return tuple(name for name in bound if name in live or _end_is_noticed(values[name]))


def _end_is_noticed(value: Any) -> bool:
    """As `capture.output.lifetimes` has it at the end of a turn, whose tensors nobody holds."""
    if isinstance(value, type):
        return bool(value.__flags__ & HEAP_TYPE)
    return not isinstance(value, torch.Tensor) and instances_end_noticed(type(value))
