"""What runs behind the graph of a frame that breaks: the instruction itself, in Python, and a call of what is
left.

In:  the root translator, standing before the instruction that breaks the graph (`tx.index`).
Out: `FrameCode` whose body rebuilds what lives on, runs the instruction and hands the rest to a resume
     function, as a `Continuation`.

    y = x * 2; print(y); return y + 1    ->    y = graph_0(x)[0]; print(y); return
                                               Continuation(resume_at_return, (y,))
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

import _capture
from bytecode import Label, TryBegin, TryEnd
from bytecode.instr import InstrLocation

from capture.bytecode import resume, stack_items
from capture.bytecode.dialects import Assembler, dialect
from capture.bytecode.instructions import Instruction
from capture.bytecode.liveness import live_names
from capture.interpret.opcodes.exceptions import PreviousException
from capture.interpret.translator import unbound_cell
from capture.output.frame_code import DEAD_LOCALS, FrameCode, fill_cells, finish, replay_state
from capture.output.lifetimes import end_is_noticed
from capture.output.python_code import PythonCode
from capture.variables.callables.value_method import ValueMethod
from capture.variables.core.base import NullVariable, Variable
from capture.variables.core.constant import ConstantMethod, ConstantVariable

if TYPE_CHECKING:
    from capture.interpret.translator import Translator


def code_for_break(tx: Translator) -> FrameCode:
    code = PythonCode(tx.output)
    _build_everything(tx, code)
    tx.output.side_effects.replay(code)
    fill_cells(tx, code)
    replay_state(code, tx.output)
    _break(tx, code)
    return finish(tx, code)


def _live_locals(tx: Translator) -> list[str]:
    """Locals that some way onward reads: behind the instruction, at its jump target, or in its exception
    handler.
    """
    point = resume.point_of(tx.code)
    names: set[str] = set()
    for target in _targets(tx):
        names |= live_names(point.original, target - point.prologue)
    names.add(resume.owner_name(point.original) or "")
    return [name for name in tx.locals if name in names]


def _targets(tx: Translator) -> list[int]:
    instruction = tx.instructions[tx.index]
    targets = [t for t, _ in _successors(instruction)]
    handler = tx.handlers[tx.index]
    return targets + ([handler.target] if handler is not None else [])


def _successors(instruction: Instruction) -> list[tuple[int, bool]]:
    """(index of the next instruction, whether it is reached by the jump)."""
    result = []
    if instruction.name not in dialect.ENDS:
        result.append((instruction.index + 1, False))
    if instruction.target is not None:
        result.append((instruction.target, True))
    return result


def _build_everything(tx: Translator, code: PythonCode) -> None:
    """Objects that the frame made and that live on: built before anything is changed or run."""
    held = [*tx.stack, *(tx.locals[n] for n in _live_locals(tx)), *tx.cells.values()]
    for variable in held:
        for part in (variable, *(variable.children() if _is_marker(variable) else ())):
            if not _is_marker(part):
                code.build(part)


def ends_the_frame(tx: Translator) -> bool:
    """Is the instruction that breaks the graph the last one that does anything? What it gives is returned."""
    if tx.handlers[tx.index] is not None:
        return False
    following = _successors(tx.instructions[tx.index])
    return bool(following) and all(tx.instructions[target].name in dialect.RETURNS for target, _ in following)


def _is_marker(variable: Variable) -> bool:
    return isinstance(variable, PreviousException) and not variable.ended


def _break(tx: Translator, code: PythonCode) -> None:
    instruction = tx.instructions[tx.index]
    for variable in tx.stack:
        _push(code, variable)
    code.append(DEAD_LOCALS)
    handler = tx.handlers[tx.index]
    caught, jumped = Label(), Label()
    region = TryBegin(caught, handler.lasti, handler.depth) if handler is not None else None
    if region is not None:
        code.append(region)
    _emit_instruction(tx, code, instruction, jumped)
    if region is not None:
        code.append(TryEnd(region))
    for target, by_jump in _successors(instruction):
        if by_jump:
            code.append(jumped)
        kinds = dialect.stack_after([_kind(v) for v in tx.stack], instruction, by_jump)
        _continue_at(tx, code, target, kinds)
    if handler is not None:
        code.append(caught)
        kinds = [_kind(v) for v in tx.stack[: handler.depth]] + [stack_items.VALUE] * (1 + handler.lasti)
        _continue_at(tx, code, handler.target, kinds)


def _push(code: PythonCode, variable: Variable) -> None:
    if _is_marker(variable):
        code.load(variable.exception)  # type: ignore[attr-defined]
        code.enter_handler()
    else:
        code.load(variable)


def _kind(variable: Variable) -> str:
    if isinstance(variable, NullVariable):
        return stack_items.NULL
    if isinstance(variable, (ValueMethod, ConstantMethod)):
        return stack_items.METHOD + variable.name
    return stack_items.HANDLED if _is_marker(variable) else stack_items.VALUE


def _emit_instruction(tx: Translator, code: PythonCode, instruction: Instruction, jumped: Label) -> None:
    """The user's own instruction, at the user's own line."""
    line, end_line, column, end_column = instruction.positions
    location = InstrLocation(line or instruction.line, end_line, column, end_column)
    own = Assembler(location, code.instructions)
    if dialect.is_call(instruction):
        assert instruction.arg is not None
        own.call(instruction.arg, tx.keyword_names)
    elif dialect.loads_method(instruction):  # as an attribute, so that the shape of the stack is known
        own.load_bound_method(instruction.value)
    elif instruction.name in _CELLS:
        _through_cell(tx, code, own, instruction)
    elif instruction.target is not None:
        own.repeat_jump(instruction, jumped)
    else:
        own.repeat(instruction)


_CELLS = dialect.LOADS_CELL | dialect.READS_CELL | dialect.WRITES_CELL


def _through_cell(tx: Translator, code: PythonCode, own: Assembler, instruction: Instruction) -> None:
    """Cells are objects here: the instruction works on the cell that holds the variable."""
    name = instruction.value
    cell = tx.cells[name]
    reads = instruction.name in dialect.READS_CELL
    if reads and cell.contents is None:
        kind, text = unbound_cell(tx.code, name)
        if kind is NameError and not tx.output.side_effects.is_mutated(cell):
            own.load_free(name)  # in another call it may be filled
        else:
            code.call_object(kind, [ConstantVariable(text)])
            own.raise_exception()
        return
    code.load(cell)
    if reads:
        own.load_attribute("cell_contents")
    elif instruction.name in dialect.WRITES_CELL:
        own.store_attribute("cell_contents")


def _continue_at(tx: Translator, code: PythonCode, target: int, kinds: list[str]) -> None:
    """Take the stack into temporaries and return the Continuation."""
    point = resume.point_of(tx.code)
    target -= point.prologue
    for index in reversed(range(len(kinds))):
        if kinds[index] == stack_items.HANDLED:
            code.leave_handler()
        else:
            code.store_local(f"___after_{index}" if kinds[index] == stack_items.VALUE else "___unused")
    live = live_names(point.original, target)
    owner = resume.owner_name(point.original)
    wanted = live | {owner}
    held = {n: v for n, v in tx.locals.items() if n != resume.OWNER}  # which is passed on from its cell
    names = tuple(n for n, v in held.items() if n in wanted or end_is_noticed(v, code))
    code.load_callable(_capture.Continuation)
    _load_resume_function(tx, code, point.original, target, tuple(kinds), names)
    count = _load_owner(tx, code, owner) + _load_stack_arguments(tx, code, kinds)
    others = [n for n in names if n != owner]
    for name in others:
        code.load(tx.locals[name])
    code.build_tuple(count + len(others))
    code.call(2)
    code.return_value()


def _load_owner(tx: Translator, code: PythonCode, owner: str | None) -> int:
    if owner is None:
        return 0
    if owner in tx.cells:
        code.load(tx.cells[owner])
        code.load_attribute("cell_contents")
    elif owner in tx.locals:
        code.load(tx.locals[owner])
    else:
        code.load_constant(None)
    return 1


def _load_stack_arguments(tx: Translator, code: PythonCode, kinds: list[str]) -> int:
    count = 0
    for index, kind in enumerate(kinds):
        if kind == stack_items.VALUE:
            code.load_local(f"___after_{index}")
        elif kind == stack_items.HANDLED:
            code.load(tx.stack[index].exception)  # type: ignore[attr-defined]
        elif kind.startswith(stack_items.METHOD):
            code.load(tx.stack[index].owner)  # type: ignore[attr-defined]
        count += kind != stack_items.NULL
    return count


def _load_resume_function(
    tx: Translator,
    code: PythonCode,
    original: types.CodeType,
    target: int,
    kinds: tuple[str, ...],
    names: tuple[str, ...],
) -> None:
    resumed = resume.resume_code(original, target, kinds, names)
    _capture.mark_resume(resumed)
    cells = resume.cell_names(original)
    if not cells:
        code.load_constant(types.FunctionType(resumed, tx.scope.globals, original.co_name))
        return
    code.load_callable(types.FunctionType)
    code.load_constant(resumed)
    code.load_constant(tx.scope.globals)
    code.load_constant(original.co_name)
    code.load_constant(None)
    for name in cells:
        code.load(tx.cells[name])
    code.build_tuple(len(cells))
    code.call(5)
