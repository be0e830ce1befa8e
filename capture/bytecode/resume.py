"""Resume functions: code that goes on in the middle of another code object.

In:  the original code, the instruction to go on at, what lies on the stack there, and which locals are bound.
Out: a code object that takes those as arguments, puts the stack back and jumps.

    def f(x): print(x); return x + 1     broken behind print   ->
    def f(x): <x on entry; jump>; [print(x);] return x + 1

The original instructions follow the prologue unchanged and in order, so instruction i of the original is
instruction `prologue + i` of the resume function, and a break in a resume function makes the next one from
the original again. Try blocks need no care: in CPython 3.11 they are ranges of instructions with a stack
depth, and both are kept. Cells of the original become free variables: the resume function shares them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from types import CodeType
from typing import Any

from bytecode import Bytecode, CellVar, FreeVar, Instr, Label, TryBegin
from bytecode.instr import InstrLocation

from capture.bytecode.instructions import decode
from capture.bytecode.line_places import cut_far_places

CO_VARIADIC = 0x04 | 0x08
# Kinds of stack items. HANDLED: PUSH_EXC_INFO's saved state; METHOD + name: a bound method of a built-in
# object, taken from it anew.
OWNER = "___owner"
VALUE, NULL, HANDLED, METHOD = "value", "null", "handled", "method "


@dataclass(frozen=True)
class ResumePoint:
    """Where a code object comes from: the original code, and how many instructions precede the original's."""

    original: CodeType
    prologue: int


_points: dict[CodeType, ResumePoint] = {}


def point_of(code: CodeType) -> ResumePoint:
    return _points.get(code) or ResumePoint(code, 0)


def is_resume(code: CodeType) -> bool:
    return code in _points


def cell_names(original: CodeType) -> tuple[str, ...]:
    """Free variables of a resume function, in order."""
    return (*original.co_freevars, *original.co_cellvars)


def owner_name(original: CodeType) -> str | None:
    """The first parameter, where `super()` may be called without arguments: it looks for its object in the
    first place of the frame.

    A resume function has it first, too: of a cell what it holds, and where it was deleted anything, to be
    deleted again.
    """
    return original.co_varnames[0] if "__class__" in original.co_freevars and original.co_argcount else None


#: names of the arguments that go back on the stack
STACK_ITEM = "___stack_"


@functools.lru_cache(maxsize=4096)
def resume_code(original: CodeType, target: int, stack: tuple[str, ...], names: tuple[str, ...]) -> CodeType:
    """Arguments: one for each stack item that is not NULL (`___stack_i`; for HANDLED the exception), then the
    locals `names`.
    """
    label = Label()
    owner = owner_name(original)
    is_cell = owner in original.co_cellvars
    prologue = _prologue(original, stack, label, None if owner in names or is_cell else owner)
    result = Bytecode([*prologue, *_with_label(original, target, label)])
    result.name, result.filename, result.first_lineno = (
        original.co_name,
        original.co_filename,
        original.co_firstlineno,
    )
    result.qualname = original.co_qualname
    arguments = [f"{STACK_ITEM}{i}" for i, kind in enumerate(stack) if kind != NULL] + list(names)
    if owner is not None:
        arguments = [OWNER if is_cell else owner, *(a for a in arguments if a != owner)]
    result.argnames = arguments
    result.argcount = len(arguments)
    result.flags = original.co_flags & ~CO_VARIADIC  # type: ignore[assignment]
    result.freevars = list(cell_names(original))
    result.cellvars = []
    cut_far_places(result)
    code = result.to_code(
        stacksize=original.co_stacksize + len(stack) + 2,
        compute_exception_stack_depths=False,
        check_pre_and_post=False,
    )
    _points[code] = ResumePoint(original, len(prologue))
    return code


def _prologue(original: CodeType, stack: tuple[str, ...], label: Label, deleted: str | None) -> list[Any]:
    location = InstrLocation(original.co_firstlineno, None, None, None)
    items: list[Any] = []

    def emit(name: str, *arg: Any) -> None:
        items.append(Instr(name, *arg, location=location))

    cells = cell_names(original)
    if cells:
        emit("COPY_FREE_VARS", len(cells))
    emit("RESUME", 0)
    for index, kind in enumerate(stack):
        if kind == NULL:
            emit("PUSH_NULL")
            continue
        emit("LOAD_FAST", f"{STACK_ITEM}{index}")
        emit("LOAD_CONST", None)
        emit("STORE_FAST", f"{STACK_ITEM}{index}")  # the stack is the only holder, as it was
        if kind == HANDLED:
            emit("PUSH_EXC_INFO")
            emit("POP_TOP")
        elif kind.startswith(METHOD):
            emit("LOAD_ATTR", kind.removeprefix(METHOD))
    if deleted is not None:
        emit("DELETE_FAST", deleted)
    emit("JUMP_FORWARD", label)
    return items


def _with_label(original: CodeType, target: int, label: Label) -> list[Any]:
    """The original instructions, with the label before instruction `target`; making of cells is left out,
    cells are free variables.
    """
    result: list[Any] = []
    index = 0
    handlers = decode(original).handlers
    for item in Bytecode.from_code(original):
        if isinstance(item, TryBegin):
            handler = handlers[index]
            assert handler is not None
            item.stack_depth = (
                handler.depth
            )  # the assembler would have to find it anew, and can't: we jump into the block
        if not isinstance(item, Instr):
            result.append(item)
            continue
        if index == target:
            result.append(label)
        index += 1
        if item.name in ("MAKE_CELL", "COPY_FREE_VARS"):
            item = Instr("NOP", location=item.location)
        elif isinstance(item.arg, CellVar):
            item = Instr(item.name, FreeVar(item.arg.name), location=item.location)
        result.append(item)
    return result
