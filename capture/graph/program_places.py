"""The places of the program that the nodes of a graph come from, and errors that are raised there.

In:  a node with its places; the error that its operation raised in the code of the graph.
Out: the node that failed; a Continuation that raises the error through frames with the names, lines and
     columns of the program's.

    x.add_(1); return x[i]     ->     File "...", line 7, in f
                                        x.add_(1); return x[i]
                                                          ~^^^

Usually Python runs the frame again, which raises the error with its own traceback. After a graph has written
to an input, it can't.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import _capture
import torch

from capture.bytecode import library
from capture.bytecode.dialects import Assembler, dialect
from capture.bytecode.emit import bytecode_like, release_constants
from capture.bytecode.instructions import Instruction, decode
from capture.bytecode.line_places import cut_far_places
from capture.policy.frame_filter import OUR_PACKAGES

PLACES = "program_places"  # in the `meta` of a node; and of a module, a tuple for each node
OPTIMIZED_NEWLOCALS = 0x1 | 0x2


class Place(NamedTuple):
    """An instruction of a code object. It does not hold the code, which may own the graph with the node."""

    co_filename: str
    co_name: str
    co_qualname: str
    co_firstlineno: int
    line: int
    positions: tuple[int | None, int | None, int | None, int | None]


def place_of(code: types.CodeType, instruction: Instruction) -> Place:
    return Place(
        code.co_filename,
        code.co_name,
        code.co_qualname,
        code.co_firstlineno,
        instruction.line or code.co_firstlineno,
        instruction.positions,
    )


def _call_in(function: Any, callee: str) -> Place:
    """The place in a function of torch where it calls what `callee` names, with all its arguments."""
    code, named = function.__code__, False
    for instruction in decode(code).instructions:
        named = named or instruction.value == callee
        if named and instruction.name in dialect.CALLS_WITH_STARS:
            return place_of(code, instruction)
    return place_of(code, decode(code).instructions[0])


@functools.cache
def module_call() -> tuple[Place, Place]:
    """The frames between the call of a module and its forward."""
    return (
        _call_in(torch.nn.Module._wrapped_call_impl, "_call_impl"),
        _call_in(torch.nn.Module._call_impl, "_global_forward_pre_hooks"),
    )


# --- an error of a graph ----------------------------------------------------------------------------------


class FailedNode(NamedTuple):
    """The node whose operation raised an error.

    code, number: the graph's code, and the number of the node in it.
    places: those of the last node in the traceback that has some; `inside` is the traceback from there on.
    """

    code: types.CodeType
    number: int
    places: tuple[Place, ...]
    inside: types.TracebackType | None

    def is_same(self, other: FailedNode | None) -> bool:
        return other is not None and self.code == other.code and self.number == other.number


def failed_node(error: BaseException) -> FailedNode | None:
    """None if no graph runs in the traceback. The locals of its frames tell: it has to be asked before they
    are cleared.
    """
    node: tuple[types.CodeType, int] | None = None
    places: tuple[Place, ...] = ()
    inside = None
    for entry in _entries(error.__traceback__):
        number = _number_of_node(entry)
        if number is not None:
            node = entry.tb_frame.f_code, number
            found = _places_of_node(entry, number)
            places, inside = (found, entry.tb_next) if found else (places, inside)
    return None if node is None else FailedNode(*node, places, inside)


def open_autocasts(error: BaseException) -> int:
    """How many regions of autocast the graphs in the traceback had entered and not left. As for
    `failed_node`, the locals tell: code of a graph forgets a region when it leaves it.
    """
    count = 0
    for entry in _entries(error.__traceback__):
        if _number_of_node(entry) is not None:
            names = entry.tb_frame.f_locals
            count += sum(isinstance(value, torch.amp.autocast_mode.autocast) for value in names.values())
            names.clear()  # see `_module_of`
    return count


def at_its_place(error: BaseException, failed: FailedNode) -> Any:
    """A Continuation that raises the error again."""
    error.__traceback__ = _without_ours(failed.inside)
    function = _raiser(failed.places[-1], None)
    for place in reversed(failed.places[:-1]):
        function = _raiser(place, function)
    return _capture.Continuation(function, (error,))


def _entries(traceback: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def places_of(graph: torch.fx.Graph) -> list[tuple[Place, ...]]:
    """The places of each node."""
    return [tuple(node.meta.get(PLACES, ())) for node in graph.nodes]


def _number_of_node(entry: types.TracebackType) -> int | None:
    """The number of the node whose line of a graph's code runs in this entry of a traceback."""
    code, module = entry.tb_frame.f_code, _module_of(entry.tb_frame)
    lines = getattr(module, "_lineno_map", None)
    if module is None or not lines:
        return None
    number: int | None = lines.get(entry.tb_lineno - code.co_firstlineno)
    return number


def _places_of_node(entry: types.TracebackType, number: int) -> tuple[Place, ...]:
    """The places of the node that runs in this entry."""
    module: Any = _module_of(entry.tb_frame)
    places = vars(module).get(PLACES)
    if places is None and isinstance(module, torch.fx.GraphModule):
        places = places_of(module.graph)
    return places[number] if places and number < len(places) else ()


def _module_of(frame: types.FrameType) -> torch.nn.Module | None:
    """The module whose forward the frame runs.

    A frame keeps the dict of its locals that was asked for, even when it is cleared. So the dict is emptied:
    an object that ends inference mode as it dies may be among them.
    """
    code = frame.f_code
    if code.co_name != "forward" or not code.co_flags & inspect.CO_OPTIMIZED:
        return None
    names = frame.f_locals
    module = names.get("self")
    names.clear()
    return module if isinstance(module, torch.nn.Module) else None


def _without_ours(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """The entries that eager has too: the functions that the operation calls."""
    result = None
    for entry in reversed(list(_entries(traceback))):
        if not entry.tb_frame.f_code.co_filename.startswith((*OUR_PACKAGES, "<eval_with_key>")):
            result = types.TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def _raiser(place: Place, inner: types.FunctionType | None) -> types.FunctionType:
    """A function of an error at this place: it calls `inner` with the error, or raises it."""
    first, last, start, end = place.positions
    if first is None:
        first, last, start, end = place.line, None, None, None
    code = Assembler(library.InstrLocation(first, last, start, end))
    code.begin()
    if inner is not None:
        code.load_callable(inner)
    code.load_local("error")
    if inner is None:
        code.raise_exception()
    else:
        code.call(1)
        code.return_value()
    original: Any = place
    result = bytecode_like(original, code.instructions, ["error"], OPTIMIZED_NEWLOCALS)
    cut_far_places(result)
    made = release_constants(result.to_code())
    _capture.skip_code(made)
    return types.FunctionType(made, {}, place.co_name)
