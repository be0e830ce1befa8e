"""The code that runs after the graph of a frame that breaks.

In:  the root translator, which stands before the instruction that breaks the graph (`tx.index`).
Out: a `FrameCode`. Its body rebuilds the live values and runs the instruction in Python. Then a resume
     function runs the rest of the frame: the body returns it with its arguments as a `Continuation`.

    y = x * 2; save(y); return y + 1    ->    y = graph_0(x)[0]; save(y); return
                                               Continuation(resume_at_return, (y,))

Python may have to run several statements (`capture/interpret/changing_items.py`). Then the body holds all of
their instructions and the locals that they read.
"""

from __future__ import annotations

import functools
import itertools
import types
from typing import TYPE_CHECKING

import _capture
from bytecode import Label, TryBegin, TryEnd
from bytecode.instr import InstrLocation

from capture.bytecode import resume, stack_items
from capture.bytecode.dialects import Assembler, dialect
from capture.bytecode.instructions import Instruction
from capture.bytecode.liveness import live_names
from capture.bytecode.signal_places import seen_behind, sees_signals_before
from capture.interpret.opcodes.exceptions import PreviousException
from capture.interpret.translator import unbound_cell, unbound_local
from capture.output.frame_code import DEAD_LOCALS, FrameCode, fill_cells, finish, replay_state
from capture.output.lifetimes import end_is_noticed
from capture.output.python_code import PythonCode
from capture.variables.callables.value_method import ValueMethod
from capture.variables.core.base import NullVariable, Variable
from capture.variables.core.constant import ConstantMethod, ConstantVariable
from guards.namespace import STACK_ITEM
from guards.sources import LocalSource

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from capture.interpret.root_translator import RootTranslator
    from capture.interpret.translator import Translator


#: the reasons for breaks at instructions whose result is another one in each call -> what of it differs
UNKNOWN_RESULT: resume.OpenLocals = {
    "data_dependent_value": frozenset(),
    "iterate": frozenset(),
    "turn": frozenset(),
    "data_dependent_shape": frozenset({0}),
}
#: what differs in the result of a walk over something that has another length in each call
OF_ANOTHER_LENGTH = frozenset({0, resume.LENGTH})
#: the instructions with which a turn of a `for` loop begins
TAKES_ITEM = dialect.STEPS_LOOP | dialect.UNPACKS | dialect.WRITES_LOCAL


def code_for_break(tx: RootTranslator, reason: str, changes_length: bool = False) -> FrameCode:
    code = PythonCode(tx.output)
    _build_everything(tx, code)
    tx.output.side_effects.replay(code)
    fill_cells(tx, code)
    replay_state(code, tx.output)
    tx.output.side_effects.deferred.emit(code)
    if _is_between(tx):
        _go_on(tx, code)
    elif tx.left_until is None:
        _break(tx, code, OF_ANOTHER_LENGTH if changes_length else UNKNOWN_RESULT.get(reason))
    else:
        _leave_statements(tx, code, tx.left_until)
    return finish(tx, code)


def live_locals(tx: RootTranslator) -> list[str]:
    """The locals that the rest of the frame may read: after the instruction, after its jump, or in its
    exception handler.
    """
    point = resume.point_of(tx.code)
    names: set[str] = set()
    for target in places_to_go_on(tx):
        names |= live_names(point.original, target - point.prologue)
    names.add(resume.owner_name(point.original) or "")
    return [name for name in tx.locals if name in names]


def _is_between(tx: RootTranslator) -> bool:
    """Whether the frame goes on with the instruction at which it breaks: the first one in a turn."""
    return tx.ends_turn and tx.instructions[tx.index].name not in dialect.STEPS_LOOP


def places_to_go_on(tx: RootTranslator) -> list[int]:
    if _is_between(tx):
        return [tx.index]
    return _targets(tx) if tx.left_until is None else [tx.index, tx.left_until]


def _targets(tx: Translator) -> list[int]:
    instruction = tx.instructions[tx.index]
    targets = [t for t, _ in _successors(instruction)]
    handler = tx.handlers[tx.index]
    return targets + ([handler.target] if handler is not None else [])


def _successors(instruction: Instruction) -> list[tuple[int, bool]]:
    """Pairs: the index of a next instruction, and whether the jump leads there."""
    result = []
    if instruction.name not in dialect.ENDS:
        result.append((instruction.index + 1, False))
    if instruction.target is not None:
        result.append((instruction.target, True))
    return result


def _build_everything(tx: RootTranslator, code: PythonCode) -> None:
    """Build the live objects that the frame made, before any object is changed and any code runs."""
    held = [*tx.stack, *(tx.locals[n] for n in live_locals(tx)), *tx.cells.values(), *_local_read(tx)]
    for variable in held:
        for part in (variable, *(variable.children() if _is_marker(variable) else ())):
            if not _is_marker(part):
                code.build(part)


def _local_read(tx: RootTranslator) -> list[Variable]:
    """The bound local that the instruction reads, if it reads one: a value that is looked at only now may
    break the graph. The new code has no local of this name unless it is an argument.
    """
    instruction = tx.instructions[tx.index]
    reads = instruction.name in dialect.READS_LOCAL - dialect.DELETES_LOCAL
    return [tx.locals[instruction.value]] if reads and instruction.value in tx.locals else []


def ends_the_frame(tx: RootTranslator) -> bool:
    """Whether the frame only returns the result of the instruction that breaks the graph."""
    if tx.left_until is not None or _is_between(tx):
        return False
    if tx.handlers[tx.index] is not None:
        return False
    following = _successors(tx.instructions[tx.index])
    return bool(following) and all(tx.instructions[target].name in dialect.RETURNS for target, _ in following)


def _is_marker(variable: Variable) -> bool:
    return isinstance(variable, PreviousException) and not variable.ended


def _break(tx: RootTranslator, code: PythonCode, unknown: frozenset[int] | None) -> None:
    instruction = tx.instructions[tx.index]
    if unknown and instruction.name in dialect.STEPS_LOOP:
        unknown = frozenset()  # the number of items changes, and not their sizes
    for variable in tx.stack:
        _push(code, variable)
    code.append(DEAD_LOCALS)
    handler = tx.handlers[tx.index]
    caught, jumped = Label(), Label()
    region = TryBegin(caught, handler.lasti, handler.depth) if handler is not None else None
    if region is not None:
        code.append(region)
    read = _local_read(tx)
    waits = instruction.name in dialect.MAY_WAIT
    if waits:
        _read_signals(code, "handled" if _may_handle_signals(tx) else "seen")
    if read:
        code.load(*read)
    else:
        _emit_instruction(tx, code, instruction, jumped, tx.keyword_names, tx.locals)
    if region is not None:
        code.append(TryEnd(region))
    for target, by_jump in _successors(instruction):
        if by_jump:
            code.append(jumped)
        kinds = dialect.stack_after([_kind(v) for v in tx.stack], instruction, by_jump)
        if waits:
            _read_signals(code, "held")
        seen_at = _seen_at(tx, target)
        _continue_at(tx, code, target, kinds, seen_at, unknown if kinds else None)
    if handler is not None:
        code.append(caught)
        kinds = [_kind(v) for v in tx.stack[: handler.depth]] + [stack_items.VALUE] * (1 + handler.lasti)
        if waits:
            _read_signals(code, "held")
        _continue_at(tx, code, handler.target, kinds, None)


def _go_on(tx: RootTranslator, code: PythonCode) -> None:
    for variable in tx.stack:
        _push(code, variable)
    code.append(DEAD_LOCALS)
    _continue_at(tx, code, tx.index, [_kind(v) for v in tx.stack], tx.index)


def _leave_statements(tx: RootTranslator, code: PythonCode, end: int) -> None:
    """Python runs the instructions up to `end`, where nothing is on the stack, with the frame's locals."""
    for variable in tx.stack:
        _push(code, variable)
    live = {*live_locals(tx), *(n for n, v in tx.locals.items() if end_is_noticed(v, code, tx.stack))}
    names = [name for name in tx.locals if name in live and name != resume.OWNER]
    for name in names:
        code.load(tx.locals[name])
    for name in reversed(names):
        code.store_local(name)
    code.append(DEAD_LOCALS)
    bound = dict.fromkeys(names, False)
    keywords: tuple[str, ...] = ()
    _read_signals(code, "seen")
    for instruction in tx.instructions[tx.index : end]:
        if dialect.names_keywords(instruction):
            keywords = tx.code.co_consts[instruction.arg or 0]
        elif instruction.name not in dialect.PREPARES_CALL:
            _emit_instruction(tx, code, instruction, Label(), keywords, bound)
        if instruction.name in dialect.WRITES_LOCAL:
            bound[instruction.value] = True
        if dialect.is_call(instruction):
            keywords = ()
    _read_signals(code, "held")
    _continue_at(tx, code, end, [], end - 1, in_locals=bound)


def _may_handle_signals(tx: RootTranslator) -> bool:
    point = resume.point_of(tx.code)
    return sees_signals_before(point.original, tx.index - point.prologue)


def _seen_at(tx: RootTranslator, target: int) -> int | None:
    point = resume.point_of(tx.code)
    found = seen_behind(point.original, tx.index - point.prologue, target - point.prologue)
    return None if found is None else found + point.prologue


def _read_signals(code: PythonCode, name: str) -> None:
    """In front of an instruction of the program that may wait for something: "seen" or "handled". Behind it:
    "held", since what comes there is no part of the program, and no handler of it is around that.
    """
    code.load_constant(_capture.SIGNALS)
    code.load_attribute(name)
    code.pop()


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


def _emit_instruction(
    tx: Translator,
    code: PythonCode,
    instruction: Instruction,
    jumped: Label,
    keywords: tuple[str, ...],
    bound: Container[str],
) -> None:
    """The instruction of the program, at its own line. `bound` has the names of the bound locals."""
    line, end_line, column, end_column = instruction.positions
    location = InstrLocation(line or instruction.line, end_line, column, end_column)
    own = Assembler(location, code.instructions)
    if dialect.is_call(instruction):
        assert instruction.arg is not None
        own.call(instruction.arg, keywords)
    elif dialect.loads_method(instruction):  # as an attribute: then the layout of the stack is known
        own.load_bound_method(instruction.value)
    elif instruction.name in dialect.LOADS_CONSTANT:
        own.load_constant(instruction.value)
    elif instruction.name in _CELLS:
        _through_cell(tx, code, own, instruction)
    elif instruction.name in dialect.READS_LOCAL and instruction.value not in bound:
        # not the instruction itself: an argument that the frame has deleted is bound here
        _raise(code, own, *unbound_local(instruction.value))
    elif instruction.target is not None:
        own.repeat_jump(instruction, jumped)
    else:
        own.repeat(instruction)


_CELLS = dialect.LOADS_CELL | dialect.READS_CELL | dialect.WRITES_CELL


def _through_cell(tx: Translator, code: PythonCode, own: Assembler, instruction: Instruction) -> None:
    """An instruction on a cell. Here the cell is an object, and the code reads or sets its contents."""
    name = instruction.value
    cell = tx.cells[name]
    reads = instruction.name in dialect.READS_CELL
    if reads and cell.contents is None:
        kind, text = unbound_cell(tx.code, name)
        if kind is NameError and not tx.output.side_effects.is_mutated(cell):
            own.load_free(name)  # another call may fill it
        else:
            _raise(code, own, kind, text)
        return
    code.load(cell)
    if reads:
        own.load_attribute("cell_contents")
    elif instruction.name in dialect.WRITES_CELL:
        own.store_attribute("cell_contents")


def _raise(code: PythonCode, own: Assembler, kind: type[NameError], text: str) -> None:
    code.call_object(kind, [ConstantVariable(text)])
    own.raise_exception()


def _continue_at(
    tx: RootTranslator,
    code: PythonCode,
    target: int,
    kinds: list[str],
    seen_at: int | None,
    unknown: frozenset[int] | None = None,
    in_locals: dict[str, bool] | None = None,
) -> None:
    """Move the stack into temporaries and return the Continuation.

    `seen_at`: the instruction that raises what a signal raises there; None: it waits for the next place.
    `unknown`: the top of the stack is another value in each call. `in_locals`: the new code has these locals
    of the frame as its own, with whether it has just stored them; else it has variables for them.
    """
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
    held = {n: v for n, v in tx.locals.items() if n != resume.OWNER}  # its cell passes the owner on
    names = tuple(
        name
        for name in point.original.co_varnames  # the order of `capture.bytecode.turns`, too
        if name in held and (name in wanted or end_is_noticed(held[name], code, tx.stack, tx.ends_turn))
    )
    if in_locals is not None:
        names = tuple(in_locals)
    code.load_callable(_capture.Continuation)
    last = None if seen_at is None else seen_at - point.prologue
    resumed = resume.resume_code(point.original, target, tuple(kinds), names, last)
    stored = [name for name, is_stored in (in_locals or {}).items() if is_stored]
    resume.note_open_locals(resumed, _open_locals(tx, kinds, names, unknown, stored))
    _load_resume_function(tx, code, point.original, resumed)
    if in_locals is not None and owner in in_locals:
        code.load_local(owner)
        count = 1
    else:
        count = _load_owner(tx, code, owner)
    count += _load_stack_arguments(tx, code, kinds)
    others = [n for n in names if n != owner]
    for name in others:
        if in_locals is None:
            code.load(tx.locals[name])
        else:
            code.load_local(name)
    code.build_tuple(count + len(others))
    code.call(2)
    code.return_value()


def _open_locals(
    tx: Translator,
    kinds: list[str],
    names: tuple[str, ...],
    unknown: frozenset[int] | None,
    stored: list[str],
) -> dict[str, frozenset[int]]:
    """The arguments of a resume function that are symbols here, and so differ from call to call. What Python
    has `stored` comes from items of another kind in each call: there are more of them or less.
    """
    below = {f"{STACK_ITEM}{i}": value for i, value in enumerate(tx.stack[: len(kinds) - 1])}
    held = {**below, **{name: tx.locals[name] for name in names if name not in stored}}
    opened = {name: dims for name, variable in held.items() if (dims := variable.open_dims()) is not None}
    for name, variable in held.items():
        if variable.source is not None:
            places = tx.output.symbols.policy.open_places_below(variable.source)
            opened |= {LocalSource(name).text + place: changing for place, changing in places.items()}
    opened |= dict.fromkeys(_numbers_of_turns(tx, held), frozenset())
    opened |= dict.fromkeys(stored, frozenset({0}))
    if unknown is not None:
        opened[f"{STACK_ITEM}{len(kinds) - 1}"] = unknown
    return opened


def _numbers_of_turns(tx: Translator, held: Mapping[str, Variable]) -> set[str]:
    """The numbers among these locals that are others in the next turn of a loop around the break: what it
    counts (`for i in range(n)`), and what a turn changes (`step += 1`).
    """
    numbers = {name for name, v in held.items() if isinstance(v, ConstantVariable) and type(v.value) is int}
    return numbers & set().union(
        *map(functools.partial(_changed_by_turns, tx), tx.instructions) if numbers else ()
    )


def _changed_by_turns(tx: Translator, jump: Instruction) -> set[str]:
    """The locals that the loop of this jump back changes, if the break is in it."""
    if jump.target is None or not jump.target <= tx.index <= jump.index:
        return set()
    point = resume.point_of(tx.code)
    body = tx.instructions[jump.target : jump.index]
    takes_item = itertools.takewhile(lambda i: i.name in TAKES_ITEM, body)
    items = {i.value for i in takes_item if i.name in dialect.WRITES_LOCAL}
    stored = {i.value for i in body if i.name in dialect.WRITES_LOCAL}
    return items | (stored & live_names(point.original, jump.target - point.prologue))


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
            code.load_constant(None)  # an exception has this frame in its traceback
            code.store_local(f"___after_{index}")
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
    resumed: types.CodeType,
) -> None:
    _capture.mark_resume(resumed)
    cells = resume.cell_names(original)
    if not cells:
        code.make_function(resumed)
        return
    code.load_callable(types.FunctionType)
    code.load_constant(resumed)
    code.load_own_globals()
    code.load_constant(original.co_name)
    code.load_constant(None)
    for name in cells:
        code.load(tx.cells[name])
    code.build_tuple(len(cells))
    code.call(5)
