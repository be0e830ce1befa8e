"""What runs behind the graph of a frame that breaks: the instruction itself, in Python, and a call of what is
left.

In:  the root translator, standing before the instruction that breaks the graph (`tx.index`).
Out: `FrameCode` whose body rebuilds what lives on, runs the instruction and hands the rest to a resume
     function, as a `Continuation`.

    y = x * 2; print(y); return y + 1    ->    y = graph_0(x)[0]; print(y); return
                                               Continuation(resume_at_return, (y,))
"""

from __future__ import annotations

import dis
import types
from typing import TYPE_CHECKING, Any

import _capture
from bytecode import FreeVar, Instr, Label, TryBegin, TryEnd
from bytecode.instr import InstrLocation

from capture.bytecode import resume
from capture.bytecode.instructions import Instruction
from capture.bytecode.liveness import ENDS, live_names
from capture.interpret.opcodes.exceptions import PreviousException
from capture.interpret.translator import unbound_cell
from capture.output.frame_code import DEAD_LOCALS, FrameCode, fill_cells, finish, replay_state
from capture.output.lifetimes import end_is_noticed
from capture.output.python_code import PythonCode
from capture.variables.callables.function import ValueMethod
from capture.variables.core.base import LazyVariable, NullVariable, Variable
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
    if instruction.name not in ENDS:
        result.append((instruction.index + 1, False))
    if instruction.target is not None:
        result.append((instruction.target, True))
    return result


def _build_everything(tx: Translator, code: PythonCode) -> None:
    """Objects that the frame made and that live on: built before anything is changed or run."""
    held = [*tx.stack, *(tx.locals[n] for n in _live_locals(tx)), *tx.cells.values()]
    for variable in held:
        for part in (variable, *(variable.children() if _is_marker(variable) else ())):
            part = tx.output.resolve_place(part)
            if _needs_building(part):
                code.load(part)
                code.emit("POP_TOP")


def ends_the_frame(tx: Translator) -> bool:
    """Is the instruction that breaks the graph the last one that does anything? What it gives is returned."""
    if tx.handlers[tx.index] is not None:
        return False
    following = _successors(tx.instructions[tx.index])
    return bool(following) and all(tx.instructions[target].name == "RETURN_VALUE" for target, _ in following)


def _is_marker(variable: Variable) -> bool:
    return isinstance(variable, PreviousException) and not variable.ended


def _needs_building(variable: Variable) -> bool:
    simple = isinstance(variable, (NullVariable, LazyVariable)) or _is_marker(variable)
    return not simple and variable.source is None and not isinstance(variable, ConstantVariable)


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
        kinds = _kinds_after(tx, instruction, by_jump)
        _continue_at(tx, code, target, kinds)
    if handler is not None:
        code.append(caught)
        kinds = [_kind(v) for v in tx.stack[: handler.depth]] + [resume.VALUE] * (1 + handler.lasti)
        _continue_at(tx, code, handler.target, kinds)


def _push(code: PythonCode, variable: Variable) -> None:
    if _is_marker(variable):
        code.load(variable.exception)  # type: ignore[attr-defined]
        code.emit("PUSH_EXC_INFO")
        code.emit("POP_TOP")
    else:
        code.load(variable)


def _kind(variable: Variable) -> str:
    if isinstance(variable, NullVariable):
        return resume.NULL
    if isinstance(variable, (ValueMethod, ConstantMethod)):
        return resume.METHOD + variable.name
    return resume.HANDLED if _is_marker(variable) else resume.VALUE


def _emit_instruction(tx: Translator, code: PythonCode, instruction: Instruction, jumped: Label) -> None:
    """The user's own instruction, at the user's own line."""
    line, end_line, column, end_column = instruction.positions
    location = InstrLocation(line or instruction.line, end_line, column, end_column)

    def emit(name: str, *arg: Any) -> None:
        code.append(Instr(name, *arg, location=location))

    name, value = instruction.name, instruction.value
    if name == "CALL":
        if tx.keyword_names:
            emit("KW_NAMES", tx.keyword_names)
        emit("PRECALL", instruction.arg)
        emit("CALL", instruction.arg)
    elif name == "LOAD_METHOD":  # as an attribute, so that the shape of the stack is known
        emit("LOAD_ATTR", value)
        emit("PUSH_NULL")
        emit("SWAP", 2)
    elif name in _THROUGH_CELLS:
        cell = tx.cells[value]
        if name == "LOAD_DEREF" and cell.contents is None:
            kind, text = unbound_cell(tx.code, value)
            if kind is NameError and not tx.output.side_effects.is_mutated(cell):
                emit("LOAD_DEREF", FreeVar(value))  # in another call it may be filled
                return
            code.call_object(kind, [ConstantVariable(text)])
            emit("RAISE_VARARGS", 1)
            return
        code.load(cell)
        access = _THROUGH_CELLS[name]
        if access is not None:
            emit(access, "cell_contents")
    elif instruction.target is not None:
        emit(_forward_jump(name), jumped)
    else:
        emit(name, *_operand(instruction))


# Cells are objects here: what to do with the cell that holds the variable.
_THROUGH_CELLS = {"LOAD_CLOSURE": None, "LOAD_DEREF": "LOAD_ATTR", "STORE_DEREF": "STORE_ATTR"}


def _forward_jump(name: str) -> str:
    return (
        name.replace("JUMP_BACKWARD_IF", "JUMP_FORWARD_IF")
        .replace("JUMP_BACKWARD_NO_INTERRUPT", "JUMP_FORWARD")
        .replace("JUMP_BACKWARD", "JUMP_FORWARD")
    )


def _operand(instruction: Instruction) -> tuple[Any, ...]:
    """The operand as the assembler wants it, taken from the assembler's own decoding of the one instruction."""
    if instruction.arg is None:
        return ()
    name, arg, value = instruction.name, instruction.arg, instruction.value
    if name == "LOAD_GLOBAL":
        return ((bool(arg & 1), value),)
    if name == "COMPARE_OP":
        from bytecode import Compare

        return (Compare(arg),)
    if name == "BINARY_OP":
        from bytecode import BinaryOp

        return (BinaryOp(arg),)
    if instruction.name in _BY_NAME:
        return (value,)
    return (arg,)


_BY_NAME = {dis.opname[op] for op in (*dis.hasname, *dis.haslocal)} - {"LOAD_GLOBAL"}


def _kinds_after(tx: Translator, instruction: Instruction, by_jump: bool) -> list[str]:
    """Kinds of the stack items behind the instruction."""
    before = [_kind(v) for v in tx.stack]
    name = instruction.name
    if name == "CALL":
        assert instruction.arg is not None
        effect, new = -(instruction.arg + 1), [resume.VALUE]
    elif name == "LOAD_METHOD":
        effect, new = 1, [resume.NULL, resume.VALUE]
    elif name in ("UNPACK_SEQUENCE", "UNPACK_EX"):
        assert instruction.arg is not None
        count = (instruction.arg & 0xFF) + (instruction.arg >> 8) + (name == "UNPACK_EX")
        effect, new = count - 1, [resume.VALUE] * count
    elif name == "LOAD_GLOBAL":
        assert instruction.arg is not None
        new = [resume.NULL, resume.VALUE] if instruction.arg & 1 else [resume.VALUE]
        effect = len(new)
    else:
        operand = instruction.arg if dis.opmap[name] >= dis.HAVE_ARGUMENT else None
        effect = dis.stack_effect(dis.opmap[name], operand, jump=by_jump)
        new = [resume.VALUE] * max(_pushed(name, by_jump), 0)
    kept = len(before) + effect - len(new)
    return before[:kept] + new


def _pushed(name: str, by_jump: bool) -> int:
    """How many items on top are new ones (their kind is a plain value)."""
    if name == "FOR_ITER":
        return 0 if by_jump else 1
    if name.startswith(("POP_", "STORE_", "DELETE_", "RAISE", "RERAISE", "JUMP_IF")):
        return 0
    if name in (
        "LIST_APPEND",
        "SET_ADD",
        "MAP_ADD",
        "LIST_EXTEND",
        "SET_UPDATE",
        "DICT_UPDATE",
        "DICT_MERGE",
    ):
        return 0
    return 2 if name == "BEFORE_WITH" else 1


def _continue_at(tx: Translator, code: PythonCode, target: int, kinds: list[str]) -> None:
    """Take the stack into temporaries and return the Continuation."""
    point = resume.point_of(tx.code)
    target -= point.prologue
    for index in reversed(range(len(kinds))):
        if kinds[index] == resume.HANDLED:
            code.emit("POP_EXCEPT")
        else:
            code.emit("STORE_FAST", f"___after_{index}" if kinds[index] == resume.VALUE else "___unused")
    live = live_names(point.original, target)
    owner = resume.owner_name(point.original)
    wanted = live | {owner}
    held = {n: v for n, v in tx.locals.items() if n != resume.OWNER}  # which is passed on from its cell
    names = tuple(n for n, v in held.items() if n in wanted or end_is_noticed(v, code))
    code.emit("PUSH_NULL")
    code.load_constant(_capture.Continuation)
    _load_resume_function(tx, code, point.original, target, tuple(kinds), names)
    count = _load_owner(tx, code, owner) + _load_stack_arguments(tx, code, kinds)
    others = [n for n in names if n != owner]
    for name in others:
        code.load(tx.locals[name])
    code.emit("BUILD_TUPLE", count + len(others))
    code.call(2)
    code.emit("RETURN_VALUE")


def _load_owner(tx: Translator, code: PythonCode, owner: str | None) -> int:
    if owner is None:
        return 0
    if owner in tx.cells:
        code.load(tx.cells[owner])
        code.emit("LOAD_ATTR", "cell_contents")
    elif owner in tx.locals:
        code.load(tx.locals[owner])
    else:
        code.load_constant(None)
    return 1


def _load_stack_arguments(tx: Translator, code: PythonCode, kinds: list[str]) -> int:
    count = 0
    for index, kind in enumerate(kinds):
        if kind == resume.VALUE:
            code.emit("LOAD_FAST", f"___after_{index}")
        elif kind == resume.HANDLED:
            code.load(tx.stack[index].exception)  # type: ignore[attr-defined]
        elif kind.startswith(resume.METHOD):
            code.load(tx.stack[index].owner)  # type: ignore[attr-defined]
        count += kind != resume.NULL
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
    code.emit("PUSH_NULL")
    code.load_constant(types.FunctionType)
    code.load_constant(resumed)
    code.load_constant(tx.scope.globals)
    code.load_constant(original.co_name)
    code.load_constant(None)
    for name in cells:
        code.load(tx.cells[name])
    code.emit("BUILD_TUPLE", len(cells))
    code.call(5)
