"""The code of a script, or of a cell of a notebook, as that of functions whose variables are all global.

In:  the code object of a module, whose frame has one dict for its locals and globals.
Out: the code of a function without parameters that does the same (`as_function`). None where there is none.

    for x in xs: total += step(x)     ->     def <module>():
                                                 global x, total
                                                 for x in xs: total += step(x)

Only code of functions can leave its loops (`capture.bytecode.turns`): resume functions are functions.
"""

from __future__ import annotations

from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_NEWLOCALS, CO_OPTIMIZED
from types import CodeType
from typing import Any

from cache.code_table import CodeTable
from capture.bytecode import library, resume
from capture.bytecode.by_code import cached
from capture.bytecode.dialects import Assembler, dialect
from capture.bytecode.emit import bytecode_like, release_constants
from capture.bytecode.instructions import decode
from capture.bytecode.line_places import fill_places
from capture.bytecode.liveness import reached
from capture.bytecode.loop_iterators import heads

#: flags of functions, and of cells with `await`
OF_OTHERS = CO_OPTIMIZED | CO_NEWLOCALS | CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR

#: what the code of a function may need on the stack beyond that of the module: a call (`make_annotations`)
FOR_A_CALL = 5


def is_top_level(code: CodeType) -> bool:
    """Whether it is the code of a module, not that of a function or of a class."""
    return code.co_name == "<module>" and not code.co_flags & OF_OTHERS


#: the code of a module keeps that of its function: its twins and resume functions do not
_functions: CodeTable[CodeType] = CodeTable()


def as_function(code: CodeType, begin: int = 0) -> CodeType | None:
    """The caller has seen that the code is that of a module, and does not read its own variables.

    `begin`: the number of the instruction of the module at which the function is to go on.
    """
    if not heads(code) or _needs_locals(code, begin):
        return None
    known = _functions.get(code)
    if known is None:
        items = [part for item, _ in resume.numbered(code) for part in _with_globals(item)]
        known = _functions[code] = _made(code, items)
    return known


@cached(maxsize=256)
def _needs_locals(code: CodeType, begin: int) -> bool:
    """Whether an instruction that may run from there on needs a dict of locals."""
    return any(step.name in dialect.NEEDS_LOCALS for step in reached(decode(code), begin))


def _with_globals(item: Any) -> list[Any]:
    """The instruction with a global name, or a call in place of what makes the dict of annotations."""
    if not isinstance(item, library.Instr):
        return [item]
    if item.name not in dialect.MAKES_ANNOTATIONS:
        return [dialect.with_global_names(item)]
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


def _made(code: CodeType, items: list[Any]) -> CodeType:
    result = bytecode_like(code, items, [], code.co_flags | CO_OPTIMIZED | CO_NEWLOCALS)
    fill_places(result, code.co_firstlineno)
    made = result.to_code(
        stacksize=code.co_stacksize + FOR_A_CALL,
        compute_exception_stack_depths=False,
        check_pre_and_post=False,
    )
    return release_constants(made)
