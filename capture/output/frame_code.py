"""The code that runs in place of a captured frame, where it is more than one graph.

In:  the root translator at its end (where it stands before an instruction that breaks the graph:
     `break_code.py`).
Out: `FrameCode`, and from it a code object that calls the graph, replays side effects, and then does what is
     left of the frame.

    self.calls += 1; return [x * 2, x]    ->    out = graph_0(x)[0]; result = [out, x]; self.calls = 1; return
                                                result

Formals: the frame's arguments in their order, then one slot for each source that the code reads (the guard
program fills those).
"""

from __future__ import annotations

import functools
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import _capture
import torch
from bytecode import Bytecode, FreeVar, Instr, Label, TryBegin, TryEnd

from capture.bytecode.line_places import cut_far_places, fill_places
from capture.hooks import switch as hooks
from capture.output.python_code import PythonCode, held_constant, release_constants
from capture.variables.callables.function import CellVariable
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.numbers.random_draws import (
    Draw,
    DrawSource,
    code_to_take_back,
    drawing_code,
)
from capture.variables.tensors.new_parameter import MadeSource, making_code
from guards.sources import ConstantSource, LocalSource, Source

if TYPE_CHECKING:
    import torch.fx

    from capture.interpret.output_graph import OutputGraph
    from capture.interpret.translator import Translator

CO_OPTIMIZED_NEWLOCALS = 0x1 | 0x2
CO_NESTED_AND_FUTURE = 0x10 | 0xFFF000


@dataclass
class FrameCode:
    """`body` is to be completed by `assemble` once the graph is compiled; `outputs` are the nodes that it
    needs, `slots` the sources.
    """

    original: types.CodeType
    argument_names: tuple[str, ...]
    body: list[Any]
    outputs: list[torch.fx.Node]
    slots: list[Source]
    conditions: list[int]  # outputs that have to be true
    globals: dict[str, Any]
    draws: list[Draw]  # made first
    draws_taken_back: list[Draw]  # where Python runs the frame after all
    made_first: list[MadeSource]
    unhooked: bool = False  # where Python runs the frame after all: nothing that it calls is captured either
    on_failure: Any = None  # called with the exception of a graph that raised; may raise itself


def code_for_return(tx: Translator, value: Variable) -> FrameCode:
    code = PythonCode(tx.output)
    if value.source is None and not isinstance(value, ConstantVariable):
        code.load(value)
        code.emit("POP_TOP")
    tx.output.side_effects.replay(code)
    fill_cells(tx, code)
    replay_state(code, tx.output)
    code.load(value)
    code.emit("RETURN_VALUE")
    return finish(tx, code)


def finish(tx: Translator, code: PythonCode) -> FrameCode:
    names = argument_names(tx.code)
    conditions = [code.output_index(node) for node in tx.output.assertions.nodes()]
    slots, outputs = list(code.slots), list(code.outputs)
    draws, names_around = tx.output.draws, tx.scope.globals
    return FrameCode(
        tx.code,
        names,
        code.instructions,
        outputs,
        slots,
        conditions,
        names_around,
        draws,
        draws,
        tx.output.made_first,
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
    prefix.extend(making_code(frame_code.made_first, functools.partial(_load, slots)))
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
    fill_places(result, original.co_firstlineno)
    cut_far_places(result)
    frame_code.slots = list(slots)
    # The depths are the original's: the assembler would take the least depth inside of a region for that of
    # its handler.
    code = result.to_code(compute_exception_stack_depths=False)
    return code.replace(co_consts=release_constants(code.co_consts))


#: stands in a body for the instructions that let go of what only the instructions before it use
DEAD_LOCALS = object()


def without_dead_locals(body: list[Any], arguments: list[str]) -> list[Any]:
    """`body` with its mark replaced: where the frame's own instruction runs, nothing is kept alive that
    eager's frame would not keep.
    """
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
    if isinstance(source, (DrawSource, MadeSource)):
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


def fill_cells(tx: Translator, code: PythonCode) -> None:
    """New cells get their contents when everything that they may hold exists. Contents may bring cells of
    their own.
    """
    done = 0
    while new := code.built(done):
        done += len(new)
        for key, variable in new:
            if isinstance(variable, CellVariable) and variable.contents is not None:
                code.load(variable.contents)
                code.emit("LOAD_FAST", key)
                code.emit("STORE_ATTR", "cell_contents")


def replay_state(code: PythonCode, output: OutputGraph) -> None:
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
