"""Resume functions: code that continues in the middle of another code object.

In:  the original code, the instruction to continue at, the kinds of the stack items there, the bound locals.
Out: a code object that takes the stack items and locals as arguments, restores the stack and jumps to the
     instruction.

    def f(x): save(x); return x + 1     with a graph break at save   ->
    def f(x): <x on entry; jump>; [save(x);] return x + 1

The original instructions follow the prologue in the same order. So instruction i of the original is
instruction `prologue + i` of the resume function, and a break in a resume function makes the next resume
function from the original again. Try blocks are ranges of instructions with a stack depth: both stay the
same. Cells of the original become free variables, because the resume function shares them.

The handler of a signal may raise where a function begins. In a resume function this is the last instruction
of the prologue. As nothing of the program lies between, the exception is one of the instruction that ran last
(`seen_at`), and the handlers of that are around it. Where an exception handler goes on, CPython looks for no
signal (a `with` block could not call its `__exit__`), and nor do we.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType
from typing import Any

from cache.code_table import CodeTable
from capture.bytecode import library
from capture.bytecode.by_code import cached
from capture.bytecode.dialects import Assembler, dialect
from capture.bytecode.emit import NamedInstruction, bytecode_like
from capture.bytecode.instructions import decode, remember_prefix
from capture.bytecode.line_places import cut_far_places
from capture.bytecode.stack_items import HANDLED, METHOD, NULL
from capture.report import pieces
from capture_records import dataclass
from guards.namespace import STACK_ITEM

#: name of the first argument, if the original keeps it in a cell
OWNER = "___owner"


@dataclass(frozen=True)
class ResumePoint:
    """The original of a code object, and the number of instructions before the original ones."""

    original: CodeType
    prologue: int


@dataclass(frozen=True)
class Made:
    """How a resume function was made: its original, which owns it, and the arguments of `resume_code`."""

    owner: weakref.ref[CodeType]
    prologue: int
    target: int
    stack: tuple[str, ...]
    names: tuple[str, ...]
    seen_at: int | None


_points: CodeTable[Made] = CodeTable()


def point_of(code: CodeType) -> ResumePoint:
    made = _points.get(code)
    original = made.owner() if made is not None else None
    return ResumePoint(code, 0) if original is None or made is None else ResumePoint(original, made.prologue)


def made_of(code: CodeType) -> Made:
    """Raises KeyError where the code is no resume function."""
    made = _points.get(code)
    if made is None:
        raise KeyError(code)
    return made


def is_resume(code: CodeType) -> bool:
    return code in _points


def is_orphan(code: CodeType) -> bool:
    """Whether it is a resume function whose original is gone: nobody can continue it behind a break."""
    point = _points.get(code)
    return point is not None and point.owner() is None


def cell_names(original: CodeType) -> tuple[str, ...]:
    """The free variables of a resume function, in their order."""
    return (*original.co_freevars, *original.co_cellvars)


def owner_name(original: CodeType) -> str | None:
    """The first parameter, if the code may call `super()` without arguments.

    `super` reads its object from the first place of the frame, so a resume function has it first too. If it
    is a cell, the argument is the cell's value. If the program has deleted it, the argument is any object,
    and the prologue deletes it.
    """
    return original.co_varnames[0] if "__class__" in original.co_freevars and original.co_argcount else None


#: a local that another call may have another value of, or the text of a place in one (`sizes[0]`) -> if it is
#: a tensor, its dims with other sizes; with LENGTH, a list has another length
OpenLocals = Mapping[str, frozenset[int]]
LENGTH = -1


def note_open_locals(code: CodeType, names: OpenLocals) -> None:
    """Note which arguments of a resume function differ from call to call."""
    known = open_locals(code)
    if names:
        _open_locals[code] = {
            name: known.get(name, frozenset()) | names.get(name, frozenset()) for name in {**known, **names}
        }


def open_locals(code: CodeType) -> OpenLocals:
    return _open_locals.get(code) or {}


def forget_open_locals() -> None:
    _open_locals.clear()


_open_locals: CodeTable[OpenLocals] = CodeTable()


#: original -> the heads of its loops that were left while they ran (`capture.bytecode.turns`)
_left: CodeTable[frozenset[int]] = CodeTable()


def note_left(original: CodeType, head: int) -> None:
    """From now on each turn of this loop is captured alone."""
    _left[original] = left_heads(original) | {head}


def left_heads(code: CodeType) -> frozenset[int]:
    """The instructions at which a turn of such a loop ends, in the code or a resume function of it."""
    point = point_of(code)
    return frozenset(head + point.prologue for head in _left.get(point.original) or ())


def forget_left() -> None:
    _left.clear()


@cached(maxsize=4096)
def resume_code(
    original: CodeType, target: int, stack: tuple[str, ...], names: tuple[str, ...], seen_at: int | None
) -> CodeType:
    """The code of a resume function.

    Its arguments: one for each stack item but NULL (for HANDLED the exception), then the locals `names`.
    `seen_at`: the instruction that raises what the handler of a signal raises at the begin. None: no signal
    is seen there.
    """
    handler = None if seen_at is None else decode(original).handlers[seen_at]
    if handler is not None and handler.depth > len(stack):
        seen_at = None  # the instruction has left the block
    owner = owner_name(original)
    is_cell = owner in original.co_cellvars
    prologue = _prologue(original, stack, None if owner in names or is_cell else owner, seen_at is not None)
    arguments = [f"{STACK_ITEM}{i}" for i, kind in enumerate(stack) if kind != NULL] + list(names)
    if owner is not None:
        arguments = [OWNER if is_cell else owner, *(a for a in arguments if a != owner)]
    flags = original.co_flags & ~(CO_VARARGS | CO_VARKEYWORDS)
    size = original.co_stacksize + len(stack) + 2
    prefixed = dialect.with_prefix(original, prologue, arguments, target, seen_at, size, flags)
    if prefixed is not None:
        code, head = prefixed
        remember_prefix(code, head, original, target, seen_at)
    else:
        code = _by_library(original, prologue, arguments, target, seen_at, size, flags)
    made = Made(weakref.ref(original), len(prologue) + 1, target, stack, names, seen_at)
    return _noted(code, made, original)


def _by_library(
    original: CodeType,
    prologue: Sequence[NamedInstruction],
    arguments: list[str],
    target: int,
    seen_at: int | None,
    size: int,
    flags: int,
) -> CodeType:
    label = library.Label()
    first_line = library.InstrLocation(original.co_firstlineno, None, None, None)
    begin = Assembler(first_line)
    for instruction in prologue[:-1]:
        begin.add(*instruction)
    rest, around = _with_label(original, target, label, seen_at)
    if around is not None:
        begin.append(region := library.TryBegin(around.target, around.push_lasti, around.stack_depth))
    if seen_at is not None:
        line = decode(original).instructions[seen_at].positions[0] or original.co_firstlineno
        begin.location = library.InstrLocation(line, None, None, None)
    begin.add(*prologue[-1])
    if around is not None:
        begin.append(library.TryEnd(region))
    begin.location = first_line
    begin.jump(label)
    items = [*begin.instructions, *rest]
    result = bytecode_like(original, items, arguments, flags)
    result.freevars = list(cell_names(original))
    result.cellvars = []
    cut_far_places(result)
    return result.to_code(
        stacksize=size,
        compute_exception_stack_depths=False,
        check_pre_and_post=False,
    )


def _noted(code: CodeType, made: Made, original: CodeType) -> CodeType:
    _points[code] = made
    pieces.note_resumed(code, original, _line(original, made.target))
    return code


def _line(original: CodeType, target: int) -> int:
    return decode(original).instructions[target].line or original.co_firstlineno


class _Named(Assembler):
    """Its instructions are names with operands. So most resume functions need no library."""

    def add(self, name: str, *operand: Any) -> None:
        self.instructions.append((name, *operand))


def _prologue(
    original: CodeType, stack: tuple[str, ...], deleted: str | None, sees_signals: bool
) -> Sequence[NamedInstruction]:
    """What stands in front of the jump into the original. With the last instruction the frame has begun."""
    code = _Named()
    code.take_cells(len(cell_names(original)))
    for index, kind in enumerate(stack):
        if kind == NULL:
            code.push_null()
            continue
        code.load_local(f"{STACK_ITEM}{index}")
        code.clear_local(f"{STACK_ITEM}{index}")  # only the stack holds the object, as in the original
        if kind == HANDLED:
            code.enter_handler()
        elif kind.startswith(METHOD):
            code.load_attribute(kind.removeprefix(METHOD))
    if deleted is not None:
        code.delete_local(deleted)
    code.has_begun(sees_signals)
    return code.instructions


def _with_label(
    original: CodeType, target: int, label: library.Label, inside: int | None
) -> tuple[list[Any], library.TryBegin | None]:
    """The original instructions, with the label before instruction `target`, and the try block around
    instruction `inside`. Cells are free variables.
    """
    result: list[Any] = []
    block = around = None
    for item, index in numbered(original):
        if index == target:
            result.append(label)
        if index is not None and index == inside:
            around = block
        if isinstance(item, (library.TryBegin, library.TryEnd)):
            block = item if isinstance(item, library.TryBegin) else None
        result.append(item if index is None else dialect.with_free_cells(item))
    return result, around


def numbered(code: CodeType) -> Iterator[tuple[Any, int | None]]:
    """What the library has for the code; for each instruction its number, and None for labels and the ends of
    try blocks. The blocks know the depth of their stack, which the library can't tell behind new jumps.
    """
    index = 0
    handlers = decode(code).handlers
    for item in library.Bytecode.from_code(code):
        if isinstance(item, library.TryBegin):
            handler = handlers[index]
            assert handler is not None
            item.stack_depth = handler.depth
        is_instruction = isinstance(item, library.Instr)
        yield item, index if is_instruction else None
        index += is_instruction
