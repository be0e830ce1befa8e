"""The code of a script, or of a cell of a notebook, as that of functions whose variables are all global.

In:  the code object of a module, whose frame has one dict for its locals and globals.
Out: the code of a function without parameters that does the same (`as_function`), and that of a function of
     an iterator that does what is left of a loop (`rest_of_loop`). None where there is none.

    for x in xs: total += step(x)     ->     def <module>():
                                                 global x, total
                                                 for x in xs: total += step(x)

Only code of functions can leave its loops (`capture.bytecode.turns`): resume functions are functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_NEWLOCALS, CO_OPTIMIZED
from types import CodeType
from typing import Any

from cache.code_table import CodeTable
from capture.bytecode import library, resume
from capture.bytecode.dialects import Assembler, dialect
from capture.bytecode.emit import bytecode_like, release_constants
from capture.bytecode.instructions import decode
from capture.bytecode.line_places import fill_places
from capture.bytecode.loop_iterators import Head, heads, turn_of
from guards.namespace import STACK_ITEM

#: flags of functions, and of cells with `await`
OF_OTHERS = CO_OPTIMIZED | CO_NEWLOCALS | CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR

#: what the code of a function may need on the stack beyond that of the module: a call (`_annotated`)
FOR_A_CALL = 5


def is_top_level(code: CodeType) -> bool:
    """Whether it is the code of a module, not that of a function or of a class."""
    return code.co_name == "<module>" and not code.co_flags & OF_OTHERS


#: the code of a module keeps that of its function: its twins and resume functions do not
_functions: CodeTable[CodeType] = CodeTable()


def as_function(code: CodeType) -> CodeType | None:
    """The caller has seen that the code is that of a module, and does not read its own variables."""
    known = _functions.get(code)
    if known is not None:
        return known
    if not heads(code) or any(step.name in dialect.NEEDS_LOCALS for step in decode(code).instructions):
        return None
    items = [part for item, _ in _with_globals(code) for part in _annotated(item)]
    made = _made(code, items, [])
    _functions[code] = made
    return made


#: code of a module -> for the begin of a loop, the code of the function
_rests: CodeTable[dict[int, CodeType | None]] = CodeTable()


def rest_of_loop(code: CodeType, head: Head) -> CodeType | None:
    """The code for a loop over an iterator that has begun. Its parameters are the items on the stack of the
    module's frame, of which the iterator is the last one. None: a turn may go on elsewhere than at the end of
    the loop (it ends a turn of a loop around it, or jumps behind an `else`), or needs a dict of locals.
    """
    known = _rests.get(code)
    if known is None:
        known = _rests[code] = {}
    if head.start not in known:
        turn = turn_of(code, head)
        fits = turn is not None and dialect.NEEDS_LOCALS.isdisjoint(turn)
        known[head.start] = _rest_of_loop(code, head) if fits else None
    return known[head.start]


def _rest_of_loop(code: CodeType, head: Head) -> CodeType:
    """The module's code, which begins at the loop and ends behind it. Try blocks around it stay outside."""
    names = [f"{STACK_ITEM}{place}" for place in range(head.depth - 1)]
    begin = Assembler(library.InstrLocation(code.co_firstlineno, None, None, None))
    label = library.Label()
    begin.begin()
    for name in names:
        begin.load_local(name)
        begin.clear_local(name)  # only the stack holds the iterator, as in the module
    begin.jump(label)
    items = list(begin.instructions)
    original = list(_with_globals(code))
    end = next(item.arg for item, index in original if index == head.index)
    for item, index in original:
        block = item.entry if isinstance(item, library.TryEnd) else item
        if isinstance(block, library.TryBegin) and block.stack_depth < head.depth - 1:
            continue
        if index == head.index:
            items.append(label)
        items.append(item)
        if item is end:
            leave = Assembler(begin.location)
            leave.load_constant(None)
            leave.return_value()
            items += leave.instructions
    return _made(code, items, names)


def _with_globals(code: CodeType) -> Iterator[tuple[Any, int | None]]:
    """`resume.numbered` with global names."""
    for item, index in resume.numbered(code):
        yield item if index is None else dialect.with_global_names(item), index


def _annotated(item: Any) -> list[Any]:
    """The instruction, or a call in place of the one that makes the dict of annotations."""
    if not isinstance(item, library.Instr) or item.name not in dialect.MAKES_ANNOTATIONS:
        return [item]
    code = Assembler(item.location)
    code.load_callable(make_annotations)
    code.load_callable(globals)
    code.call(0)
    code.call(1)
    code.pop()
    return code.instructions


def make_annotations(variables: dict[str, Any]) -> None:
    """What a script does first that annotates variables."""
    if "__annotations__" not in variables:
        variables["__annotations__"] = {}


def _made(code: CodeType, items: list[Any], arguments: list[str]) -> CodeType:
    result = bytecode_like(code, items, arguments, code.co_flags | CO_OPTIMIZED | CO_NEWLOCALS)
    fill_places(result, code.co_firstlineno)
    made = result.to_code(
        stacksize=code.co_stacksize + FOR_A_CALL,
        compute_exception_stack_depths=False,
        check_pre_and_post=False,
    )
    return release_constants(made)
