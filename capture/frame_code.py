"""The code that runs in place of a captured frame, where it is more than one graph.

In:  the root translator, at its end or standing before the instruction that breaks the graph.
Out: `FrameCode`: a code object that calls the graph, replays side effects, and then
     - returns the frame's value, or
     - runs the breaking instruction in Python and hands what is left to a resume function, as a `Continuation`.

    y = x * 2; print(y); return y + 1    ->    y = graph_0(x)[0]; print(y); return Continuation(resume_at_return, (y,))

Formals: the frame's arguments in their order, then one slot for each source that the code reads (the guard program fills those).
"""

from __future__ import annotations

import dis
import functools
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import _capture
import torch
from bytecode import Bytecode, FreeVar, Instr, Label, TryBegin, TryEnd
from bytecode.instr import InstrLocation

from capture import hooks, resume
from capture.bytecode.instructions import Instruction
from capture.bytecode.liveness import ENDS, live_names
from capture.lifetimes import end_is_noticed
from capture.reconstruct import PythonCode, held_constant, release_constants
from capture.translator import unbound_cell
from capture.variables.base import LazyVariable, NullVariable, Variable
from capture.variables.constant import ConstantMethod, ConstantVariable
from capture.variables.drawn_numbers import Draw, DrawSource, code_to_take_back, drawing_code
from capture.variables.function import ValueMethod
from guards.source import ConstantSource, LocalSource, Source

if TYPE_CHECKING:
    import torch.fx

    from capture.output_graph import OutputGraph
    from capture.translator import Translator

CO_OPTIMIZED_NEWLOCALS = 0x1 | 0x2
CO_NESTED_AND_FUTURE = 0x10 | 0xFFF000


@dataclass
class FrameCode:
    """`body` is to be completed by `assemble` once the graph is compiled; `outputs` are the nodes that it needs, `slots` the sources."""

    original: types.CodeType
    argument_names: tuple[str, ...]
    body: list[Any]
    outputs: list[torch.fx.Node]
    slots: list[Source]
    conditions: list[int]  # outputs that have to be true
    globals: dict[str, Any]
    draws: list[Draw]  # made first
    draws_taken_back: list[Draw]  # where Python runs the frame after all
    unhooked: bool = False  # where Python runs the frame after all: nothing that it calls is captured either
    on_failure: Any = None  # called with the exception of a graph that raised; may raise itself


def code_for_return(tx: Translator, value: Variable) -> FrameCode:
    code = PythonCode(tx.output)
    if value.source is None and not isinstance(value, ConstantVariable):
        code.load(value)
        code.emit("POP_TOP")
    tx.output.side_effects.replay(code)
    _fill_cells(tx, code)
    _replay_state(code, tx.output)
    code.load(value)
    code.emit("RETURN_VALUE")
    return _finish(tx, code)


def code_for_break(tx: Translator) -> FrameCode:
    """`tx` stands before the breaking instruction (`tx.index`)."""
    code = PythonCode(tx.output)
    _build_everything(tx, code)
    tx.output.side_effects.replay(code)
    _fill_cells(tx, code)
    _replay_state(code, tx.output)
    _break(tx, code)
    return _finish(tx, code)


def _finish(tx: Translator, code: PythonCode) -> FrameCode:
    names = argument_names(tx.code)
    conditions = [code.output_index(node) for node in tx.output.assertions.nodes()]
    slots, outputs = list(code.slots), list(code.outputs)
    draws, names_around = tx.output.draws, tx.scope.globals
    return FrameCode(
        tx.code, names, code.instructions, outputs, slots, conditions, names_around, draws, draws
    )


def argument_names(code: types.CodeType) -> tuple[str, ...]:
    """Formals of a frame in the order of its locals: positional, keyword-only, *args, **kwargs."""
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return code.co_varnames[:count]


def assemble(frame_code: FrameCode, graph: Any, inputs: list[Source]) -> types.CodeType:
    """The finished code. `graph` None: the frame has no operations."""
    slots = {source: index for index, source in enumerate(frame_code.slots)}
    prefix: list[Any] = []
    if frame_code.original.co_freevars:
        prefix.append(Instr("COPY_FREE_VARS", len(frame_code.original.co_freevars)))
    prefix.append(Instr("RESUME", 0))
    original = frame_code.original
    fallback: list[Any] = []
    if graph is None or not (frame_code.conditions or getattr(graph, "may_fail", True)):
        frame_code.draws_taken_back = []  # reading the stream's state costs more than a small graph
    prefix.extend(
        drawing_code(frame_code.draws, bool(frame_code.draws_taken_back), functools.partial(_load, slots))
    )
    if graph is not None:
        call, fallback = _call_graph(graph, inputs, slots, len(frame_code.outputs), frame_code)
        prefix.extend(call)
    names = [*frame_code.argument_names, *(f"___slot_{i}" for i in range(len(slots)))]
    results = [f"___out_{i}" for i in range(len(frame_code.outputs))] if graph is not None else []
    result = Bytecode([*prefix, *without_dead_locals(frame_code.body, [*names, *results]), *fallback])
    result.name, result.filename, result.first_lineno = (
        original.co_name,
        original.co_filename,
        original.co_firstlineno,
    )
    result.qualname = original.co_qualname
    result.argnames = names
    result.argcount = len(result.argnames)
    result.flags = CO_OPTIMIZED_NEWLOCALS | (original.co_flags & CO_NESTED_AND_FUTURE)  # type: ignore[assignment]
    result.freevars = list(original.co_freevars)
    _fill_locations(result, original.co_firstlineno)
    frame_code.slots = list(slots)
    # The depths are the original's: the assembler would take the least depth inside of a region for that of its handler.
    code = result.to_code(compute_exception_stack_depths=False)
    return code.replace(co_consts=release_constants(code.co_consts))


#: stands in a body for the instructions that let go of what only the instructions before it use
DEAD_LOCALS = object()


def without_dead_locals(body: list[Any], arguments: list[str]) -> list[Any]:
    """`body` with its mark replaced: where the frame's own instruction runs, nothing is kept alive that eager's frame would not keep."""
    if DEAD_LOCALS not in body:
        return body
    place = body.index(DEAD_LOCALS)
    before, behind = body[:place], body[place + 1 :]
    stored = [item.arg for item in before if isinstance(item, Instr) and item.name == "STORE_FAST"]
    loaded = {item.arg for item in behind if isinstance(item, Instr) and item.name == "LOAD_FAST"}
    clearing: list[Any] = []
    for name in dict.fromkeys([*arguments, *stored]):
        if name not in loaded:
            clearing += [Instr("LOAD_CONST", None), Instr("STORE_FAST", name)]  # type: ignore[arg-type]
    return [*before, *clearing, *behind]


def _fill_locations(result: Bytecode, first_line: int) -> None:
    location = InstrLocation(first_line, None, None, None)
    for item in result:
        if isinstance(item, Instr) and item.location is None:
            item.location = location


def _call_graph(
    graph: Any, inputs: list[Source], slots: dict[Source, int], count: int, frame_code: FrameCode
) -> tuple[list[Any], list[Any]]:
    """The call, and the code behind everything else that takes over when it raises."""
    failed = Label()
    region = TryBegin(failed, False, 0)
    code: list[Any] = [region, Instr("PUSH_NULL"), Instr("LOAD_CONST", held_constant(graph))]
    code += [_load(slots, source) for source in inputs]
    code += [Instr("PRECALL", len(inputs)), Instr("CALL", len(inputs)), TryEnd(region)]
    code.append(Instr("UNPACK_SEQUENCE", count))
    code += [Instr("STORE_FAST", f"___out_{i}") for i in range(count)]
    eagerly = Label()
    for index in frame_code.conditions:
        code += [Instr("LOAD_FAST", f"___out_{index}"), Instr("POP_JUMP_FORWARD_IF_FALSE", eagerly)]
    back = code_to_take_back(frame_code.draws_taken_back, functools.partial(_load, slots))
    return code, [failed, *_report_failure(frame_code), eagerly, *back, *_run_eagerly(frame_code)]


def _load(slots: dict[Source, int], source: Source) -> Instr:
    if isinstance(source, LocalSource):
        return Instr("LOAD_FAST", source.name)
    if isinstance(source, ConstantSource):
        return Instr("LOAD_CONST", held_constant(source.value))
    if isinstance(source, DrawSource):
        return Instr("LOAD_FAST", source.local)
    return Instr("LOAD_FAST", f"___slot_{slots.setdefault(source, len(slots))}")


def _report_failure(frame_code: FrameCode) -> list[Any]:
    """With the graph's exception on the stack: goes on only where nothing has happened yet."""
    code = [
        Instr("STORE_FAST", "___error"),
        Instr("PUSH_NULL"),
        Instr("LOAD_CONST", held_constant(frame_code.on_failure)),
    ]
    code += [Instr("LOAD_FAST", "___error"), Instr("PRECALL", 1), Instr("CALL", 1), Instr("POP_TOP")]
    return [*code, Instr("LOAD_CONST", None), Instr("STORE_FAST", "___error")]  # type: ignore[arg-type]


def _run_eagerly(frame_code: FrameCode) -> list[Any]:
    """Python runs the frame from its start, in place of this one, and raises its own exception."""
    original, names = frame_code.original, frame_code.argument_names
    code = [Instr("PUSH_NULL"), Instr("LOAD_CONST", held_constant(_capture.Continuation))]
    if frame_code.unhooked:
        code.append(Instr("LOAD_CONST", held_constant(run_unhooked)))
    code += [Instr("PUSH_NULL"), Instr("LOAD_CONST", held_constant(types.FunctionType))]
    twin = eager_twin(original)
    _capture.skip_code(twin)  # here and not where it is made: a reset takes all marks away
    constants = (twin, frame_code.globals, original.co_name, None)
    code += [Instr("LOAD_CONST", held_constant(value)) for value in constants]
    code += [Instr("LOAD_CLOSURE", FreeVar(name)) for name in original.co_freevars]
    code.append(
        Instr("BUILD_TUPLE", len(original.co_freevars)) if original.co_freevars else Instr("LOAD_CONST", None)  # type: ignore[arg-type]
    )
    code += [Instr("PRECALL", 5), Instr("CALL", 5)]
    code += [Instr("LOAD_FAST", name) for name in names]
    code.append(Instr("BUILD_TUPLE", len(names)))
    if frame_code.unhooked:
        code.append(Instr("BUILD_TUPLE", 2))
    return [*code, Instr("PRECALL", 2), Instr("CALL", 2), Instr("RETURN_VALUE")]


def run_unhooked(function: Any, args: tuple[Any, ...]) -> Any:
    """Under fullgraph=True no function below a graph has to be one whole graph by itself."""
    before = hooks.switch(hooks.OFF)
    try:
        return function(*args)
    finally:
        hooks.switch(before)


@functools.lru_cache(maxsize=4096)
def eager_twin(code: types.CodeType) -> types.CodeType:
    """The same code with all parameters positional, to be marked so that it is never captured."""
    count = len(argument_names(code))
    flags = code.co_flags & ~(0x04 | 0x08)
    return code.replace(co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=flags)


def _replay_state(code: PythonCode, output: OutputGraph) -> None:
    """Grad mode, autocast: what the code behind the graph has to find."""
    if output.state_is_as_at_entry():
        return
    for _ in output.modes_around:  # which do not see the rest
        code.call_object(torch._C._pop_torch_function_stack, [])
        code.emit("POP_TOP")
    for function, args in output.state_changes:
        code.call_object(function, [ConstantVariable(a) if not hasattr(a, "source") else a for a in args])
        code.emit("POP_TOP")
    for mode in output.function_modes:
        code.call_object(torch._C._push_on_torch_function_stack, [mode])
        code.emit("POP_TOP")


# --- at a break ------------------------------------------------------------------------------------------------------------------


def _live_locals(tx: Translator) -> list[str]:
    """Locals that some way onward reads: behind the instruction, at its jump target, or in its exception handler."""
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


def _is_marker(variable: Variable) -> bool:
    from capture.opcodes.exceptions import PreviousException

    return isinstance(variable, PreviousException) and not variable.ended


def _needs_building(variable: Variable) -> bool:
    simple = isinstance(variable, (NullVariable, LazyVariable)) or _is_marker(variable)
    return not simple and variable.source is None and not isinstance(variable, ConstantVariable)


def _fill_cells(tx: Translator, code: PythonCode) -> None:
    """New cells get their contents when everything that they may hold exists. Contents may bring cells of their own."""
    from capture.variables.function import CellVariable

    done = 0
    while done < len(code.built()):
        key, variable = code.built()[done]
        done += 1
        if isinstance(variable, CellVariable) and variable.contents is not None:
            code.load(variable.contents)
            code.emit("LOAD_FAST", key)
            code.emit("STORE_ATTR", "cell_contents")


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
