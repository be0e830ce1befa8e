"""The code of a script, or of a cell of a notebook, as that of a function whose variables are all global.

In:  the code object of a module.
Out: the code of a function without parameters that does the same, where the frame has one dict for its
     locals and globals. None where it would not, or where it has no loop.

    for x in xs: total += step(x)     ->     def <module>():
                                                 global x, total
                                                 for x in xs: total += step(x)

Only code of functions can leave its loops (`capture.bytecode.turns`): resume functions are functions.
"""

from __future__ import annotations

from inspect import CO_NEWLOCALS, CO_OPTIMIZED
from types import CodeType
from typing import Any

from cache.code_table import CodeTable
from capture.bytecode import resume
from capture.bytecode.dialects import dialect
from capture.bytecode.emit import bytecode_like
from capture.bytecode.instructions import decode
from capture.bytecode.line_places import fill_places
from capture.bytecode.loop_iterators import heads


def is_top_level(code: CodeType) -> bool:
    """Whether it is the code of a module, not that of a function or of a class."""
    return code.co_name == "<module>" and not code.co_flags & (CO_OPTIMIZED | CO_NEWLOCALS)


#: the code of a module keeps that of its function: its twins and resume functions do not
_functions: CodeTable[CodeType] = CodeTable()


def as_function(code: CodeType) -> CodeType | None:
    """The caller has seen that the code is that of a module, and does not read its own variables."""
    known = _functions.get(code)
    if known is not None:
        return known
    if not heads(code) or any(step.name in dialect.NEEDS_LOCALS for step in decode(code).instructions):
        return None
    items: list[Any] = []
    for item, index in resume.numbered(code):
        items.append(item if index is None else dialect.with_global_names(item))
    result = bytecode_like(code, items, [], code.co_flags | CO_OPTIMIZED | CO_NEWLOCALS)
    fill_places(result, code.co_firstlineno)
    made: CodeType = result.to_code(
        stacksize=code.co_stacksize, compute_exception_stack_depths=False, check_pre_and_post=False
    )
    _functions[code] = made
    return made
