"""The code that runs in place of a captured frame, if a result recipe does not suffice.

In:  the root translator at its end. (`break_code.py` handles a translator that stands at a graph break.)
Out: a `FrameCode`, and then a code object. The code calls the graph, replays the side effects and ends the
     frame. Its arguments are the frame's arguments in their order, then one slot for each source that the
     code reads. The guard program fills the slots.

    self.calls += 1                   out = graph_0(x)[0]; result = [out, x]
    return [x * 2, x]          ->     self.calls = 1
                                      return result
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import _capture
import torch
from bytecode import Label, TryBegin, TryEnd

from capture.bytecode.dialects import Assembler, dialect
from capture.bytecode.eager_twin import argument_names, eager_twin
from capture.bytecode.emit import bytecode_like, release_constants
from capture.bytecode.line_places import cut_far_places, fill_places
from capture.hooks.switch import OFF, switch
from capture.output.python_code import PythonCode, SourceAssembler
from capture.variables.callables.function import CellVariable
from capture.variables.core.base import Variable
from capture.variables.numbers import clock_reads
from capture.variables.numbers.random_draws import (
    Draw,
    DrawSource,
    make_draws,
    take_back,
)
from capture.variables.tensors.new_parameter import MadeSource, make_parameters
from capture_records import dataclass
from guards.sources import Source

if TYPE_CHECKING:
    import torch.fx

    from capture.interpret.deferred_calls import DeferredCalls
    from capture.interpret.output_graph import OutputGraph
    from capture.interpret.translator import Translator

CO_OPTIMIZED_NEWLOCALS = 0x1 | 0x2
CO_NESTED_AND_FUTURE = 0x10 | 0xFFF000


@dataclass
class FrameCode:
    """The parts of the code. `assemble` makes the code object of them when the graph is compiled.

    `outputs` has the nodes whose values the body needs, `slots` the sources.
    """

    original: types.CodeType
    argument_names: tuple[str, ...]
    body: list[Any]
    outputs: list[torch.fx.Node]
    slots: list[Source]
    conditions: list[int]  # numbers of the outputs that have to be true
    deferred: DeferredCalls  # their conditions are asked before the graph runs
    draws: list[Draw]  # the code makes them before it calls the graph
    draws_taken_back: list[Draw]  # if Python runs the frame after all
    new_parameters: list[MadeSource]
    clocks: list[clock_reads.Read]
    unhooked: bool = False  # if Python runs the frame after all, its callees are not captured either
    on_failure: Any = None  # takes the graph's exception and inputs; raises it, or says how to go on


def code_for_return(tx: Translator, value: Variable) -> FrameCode:
    code = PythonCode(tx.output)
    code.build(value)
    tx.output.side_effects.replay(code)
    fill_cells(tx, code)
    replay_state(code, tx.output)
    tx.output.side_effects.deferred.emit(code)
    code.load(value)
    code.return_value()
    return finish(tx, code)


def finish(tx: Translator, code: PythonCode) -> FrameCode:
    names = argument_names(tx.code)
    conditions = [code.output_index(node) for node in tx.output.assertions.nodes()]
    slots, outputs = list(code.slots), list(code.outputs)
    draws = tx.output.inputs.draws
    return FrameCode(
        tx.code,
        names,
        code.instructions,
        outputs,
        slots,
        conditions,
        tx.output.side_effects.deferred,
        draws,
        draws,
        tx.output.inputs.new_parameters,
        tx.output.inputs.clocks,
    )


class _FrameAssembler(SourceAssembler):
    """The assembler of the whole code, which also makes the draws and the parameters."""

    def load_source(self, source: Source) -> None:
        if isinstance(source, (DrawSource, MadeSource)):
            self.load_local(source.local)
        else:
            super().load_source(source)


def assemble(frame_code: FrameCode, graph: Any, inputs: list[Source]) -> types.CodeType:
    """The code object. `graph` is None if the frame has no operations."""
    original = frame_code.original
    code = _FrameAssembler(frame_code.slots)
    code.begin(len(original.co_freevars))
    if graph is None or not (frame_code.conditions or getattr(graph, "may_fail", True)):
        frame_code.draws_taken_back = []  # to read the state of the stream costs more than a small graph
    refused = Label()
    _ask_conditions(code, frame_code, refused)
    make_draws(code, frame_code.draws, bool(frame_code.draws_taken_back), code.load_source)
    make_parameters(code, frame_code.new_parameters, code.load_source)
    clock_reads.make_reads(code, frame_code.clocks, in_front=True)
    failed, eagerly = Label(), Label()
    if graph is not None:
        _call_graph(code, graph, inputs, frame_code, failed, eagerly)
    clock_reads.make_reads(code, frame_code.clocks, in_front=False)
    place = len(code.instructions)  # of the body, before the code for failures
    if graph is not None:
        _take_over(code, frame_code, inputs, failed, eagerly)
    if frame_code.deferred.conditions:
        code.append(refused)
        _run_eagerly(code, frame_code)
    names = [*frame_code.argument_names, *(f"___slot_{i}" for i in range(len(code.slots)))]
    results = [f"___out_{i}" for i in range(len(frame_code.outputs))] if graph is not None else []
    code.instructions[place:place] = without_dead_locals(frame_code.body, [*names, *results])
    flags = CO_OPTIMIZED_NEWLOCALS | (original.co_flags & CO_NESTED_AND_FUTURE)
    result = bytecode_like(original, code.instructions, names, flags)
    result.freevars = list(original.co_freevars)
    fill_places(result, original.co_firstlineno)
    cut_far_places(result)
    frame_code.slots = list(code.slots)
    # The depths come from the original code. The library would give each handler the least depth inside its
    # region.
    return release_constants(result.to_code(compute_exception_stack_depths=False))


#: In a body, the place of the instructions that release the locals which only earlier instructions use
DEAD_LOCALS = object()


def without_dead_locals(body: list[Any], arguments: list[str]) -> list[Any]:
    """`body` with instructions in place of its mark. When the frame's own instruction runs, the code keeps
    no object alive that the eager frame would not keep.
    """
    if DEAD_LOCALS not in body:
        return body
    place = body.index(DEAD_LOCALS)
    before, after = body[:place], body[place + 1 :]
    stored = [name for name in map(dialect.stored_local, before) if name is not None]
    loaded = set(map(dialect.loaded_local, after))
    clearing = Assembler()
    for name in dict.fromkeys([*arguments, *stored]):
        if name not in loaded:
            clearing.clear_local(name)
    return [*before, *clearing.instructions, *after]


def _ask_conditions(code: _FrameAssembler, frame_code: FrameCode, refused: Label) -> None:
    for condition, args in frame_code.deferred.conditions:
        code.load_callable(condition)
        for arg in args:
            if arg.source is not None:
                code.load_source(arg.source)
            else:
                code.load_constant(arg.real_value())  # a class of warnings
        code.call(len(args))
        code.jump_if_false(refused)


def _call_graph(
    code: _FrameAssembler,
    graph: Any,
    inputs: list[Source],
    frame_code: FrameCode,
    failed: Label,
    eagerly: Label,
) -> None:
    region = TryBegin(failed, False, 0)
    code.append(region)
    code.load_callable(graph)
    for source in inputs:
        code.load_source(source)
    code.call(len(inputs))
    code.append(TryEnd(region))
    count = len(frame_code.outputs)
    code.unpack(count)
    for index in range(count):
        code.store_local(f"___out_{index}")
    for index in frame_code.conditions:
        code.load_local(f"___out_{index}")
        code.jump_if_false(eagerly)


def _take_over(
    code: _FrameAssembler, frame_code: FrameCode, inputs: list[Source], failed: Label, eagerly: Label
) -> None:
    """The code that runs in place of the body if the graph raises or a condition does not hold."""
    code.append(failed)
    _report_failure(code, frame_code, inputs)
    code.append(eagerly)
    take_back(code, frame_code.draws_taken_back, code.load_source)
    _run_eagerly(code, frame_code)


def _report_failure(code: _FrameAssembler, frame_code: FrameCode, inputs: list[Source]) -> None:
    """The graph's exception is on the stack. The code goes on only if the graph has changed nothing. Else a
    Continuation, which raises the exception at its place, is the result.
    """
    unchanged = Label()
    code.store_local("___error")
    code.load_callable(frame_code.on_failure)
    code.load_local("___error")
    for source in inputs:
        code.load_source(source)
    code.build_tuple(len(inputs))
    code.call(2)
    code.clear_local("___error")
    code.store_local("___continuation")
    code.load_local("___continuation")
    code.jump_if_false(unchanged)
    code.load_local("___continuation")
    code.return_value()
    code.append(unchanged)


def _run_eagerly(code: SourceAssembler, frame_code: FrameCode) -> None:
    """Python runs the frame from its start, in place of this code, and raises the program's exception."""
    original, names = frame_code.original, frame_code.argument_names
    code.load_callable(_capture.Continuation)
    if frame_code.unhooked:
        code.load_constant(run_unhooked)
    code.load_callable(types.FunctionType)
    twin = eager_twin(original)
    _capture.skip_code(twin)  # here, because a reset removes all marks
    code.load_constant(twin)
    code.load_own_globals()
    code.load_constant(original.co_name)
    code.load_constant(None)
    for name in original.co_freevars:
        code.load_cell(name)
    if original.co_freevars:
        code.build_tuple(len(original.co_freevars))
    else:
        code.load_constant(None)
    code.call(5)
    for name in names:
        code.load_local(name)
    code.build_tuple(len(names))
    if frame_code.unhooked:
        code.build_tuple(2)
    code.call(2)
    code.return_value()


def run_unhooked(function: Any, args: tuple[Any, ...]) -> Any:
    """Call the function without capture. Under fullgraph=True, its callees would have to be whole graphs."""
    before = switch(OFF)
    try:
        return function(*args)
    finally:
        switch(before)


def fill_cells(tx: Translator, code: PythonCode) -> None:
    """Fill the new cells when all values that they may hold exist. Contents may have new cells themselves."""
    done = 0
    while new := code.built(done):
        done += len(new)
        for key, variable in new:
            if isinstance(variable, CellVariable) and variable.contents is not None:
                code.load(variable.contents)
                code.load_local(key)
                code.store_attribute("cell_contents")


def replay_state(code: PythonCode, output: OutputGraph) -> None:
    """Set the modes for the code after the graph: grad mode, autocast and so on."""
    if code.changes_made is None and output.modes.are_as_at_entry():
        return
    code.change_modes()
    for mode in output.modes.function_modes:
        code.call_object(torch._C._push_on_torch_function_stack, [mode])
        code.pop()
