"""Entries of frames as plain data.

In:  a new entry, and what the translation knows of it (`Parts`).
Out: `to_data`: a dict for JSON, or NotPlain with the reason. `from_data`: an equal entry for a frame of this
     process. It raises Changed where an object is another one, and Misfit where a guard fails.

    {"kind": "recipe", "objects": [...], "sources": [...], "program": {...}, "guards": "[...]",
     "slots": [3, 4], "graph": "91d0...", "result": [["out", 0]]}

The program checks the guards. They themselves are a text in the data, which is read when somebody asks why
one has failed.

docs/stored_entries.md says what is checked, and why that suffices.
"""

from __future__ import annotations

import contextlib
import functools
import json
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any

import _capture

import cache
from capture.report import log
from capture.stored.codes import CodeReader, CodeWriter, written_value
from capture.stored.node_places import places_data, places_of
from capture.stored.objects import Changed, FoundObjects, LateObjects, ObjectTable, Ways
from capture.stored.places import are_there, files_in, is_covered
from capture.variables.core.granted import Granted
from capture_records import dataclass
from guards.guard import Guard
from guards.guard_set import GuardSet
from guards.kinds.attributes import FunctionGuard
from guards.kinds.identity import ExactTypeGuard, IdentityGuard
from guards.kinds.state import GlobalStateGuard
from guards.late_guards import LateGuards
from guards.namespace import FrameNamespace
from guards.plain import Reader
from guards.plain_program import program_data, program_of
from guards.plain_values import NotPlain, Plain, is_plain_constant, real
from guards.program import Assembled, InPython, assemble, encode
from guards.properties.global_state import ANY_MODE, GlobalState, read_global_state
from guards.sources import FunctionFieldSource, Source, TypeSource
from guards.values import constants_equal

#: errors of reading what somebody else has written
DAMAGES = (KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError, RuntimeError)


class Misfit(Exception):
    """The entry is for other values."""


@dataclass
class Parts:
    """What an entry was made of. `slots` are the sources that the guard program loads."""

    code: types.CodeType
    guards: GuardSet
    granted: Granted
    slots: Sequence[Source] = ()
    graph: Any = None  # as the entry or its code calls it
    graph_key: str | None = None  # of the compiled graph in its own store
    conversions: Sequence[tuple[int, Any]] = ()
    failure: Any = None
    writes: bool = False  # the graph writes to inputs
    draws_in_vain: bool = False  # if the graph raises, Python may have to draw its numbers again
    places: Sequence[Any] = ()  # of the program, for each node of the graph
    function_modes: int = 0
    unbacked: bool = False
    places_of_objects: Ways = field(default_factory=dict)
    assembled: Assembled | InPython | None = None  # the guards and slots
    operations: int = 0  # of the graph
    break_id: str | None = None  # the reason why the graph ends before the frame does


# --- writing ----------------------------------------------------------------------------------------------


def to_data(entry: Any, parts: Parts) -> dict[str, Plain]:
    """Raises NotPlain."""
    granted = parts.granted
    unread = granted.walked - granted.shown
    table = ObjectTable(_ways(parts.guards), parts.places_of_objects, granted.addresses, unread)
    try:
        return _data(entry, parts, table)
    finally:
        table.forget()


def _data(entry: Any, parts: Parts, table: ObjectTable) -> dict[str, Plain]:
    runs = entry.code is not None or entry.graph is not None
    if runs:
        _check(parts)
    data: dict[str, Plain] = {
        "kind": "code" if entry.code is not None else "recipe" if runs else "left",
        **_guards(parts, table),
        "unhooked": entry.unhooked,
        "sampled": entry.sampled,
        "breaks": entry.breaks,
        "trains": entry.trains,
        "lines": entry.code is not None or parts.writes,
    }
    if runs:
        data |= {"operations": parts.operations, "break": parts.break_id}
        data["units"] = _capture.inlined_units(parts.code)  # a capture around it would inline so many
        data |= _granted(parts.granted, table)
        data |= _graph(parts, table)
    if entry.code is not None:
        data["code"] = CodeWriter(parts.code, parts.graph, parts.failure, table).data(entry.code)
    elif runs:
        data["inputs"] = entry.inputs
        data["result"] = [[word, written_value(operand, table)] for word, operand in entry.result]
    named = files_in(json.dumps([data.get("code"), data.get("result")]))
    return {**data, "files": named, "objects": table.rows, "sources": table.writer.sources}


def _guards(parts: Parts, table: ObjectTable) -> dict[str, Plain]:
    assembled = parts.assembled or assemble(parts.guards, parts.slots, parts.code)
    states = [list(guard.payload) for guard in parts.guards if isinstance(guard, GlobalStateGuard)]
    guards = [table.writer.guard(guard) for guard in parts.guards]
    slots = list(map(table.writer.source, parts.slots))
    program = program_data(assembled, table.writer)
    return {"states": states, "guards": json.dumps(guards), "slots": slots, "program": program}


def _check(parts: Parts) -> None:
    """What another process could not check. Raises NotPlain."""
    if parts.granted.here_alone is not None:
        raise NotPlain(parts.granted.here_alone)
    if parts.function_modes:
        raise NotPlain("torch function modes")
    if parts.unbacked:
        raise NotPlain("numbers that only a run knows")
    if parts.graph is not None and parts.graph_key is None:
        raise NotPlain("a graph that is not stored")


def _ways(guards: GuardSet) -> dict[int, tuple[Any, Source]]:
    """The places of the frame where guards know an object by identity, by the id of the object."""
    ways: dict[int, tuple[Any, Source]] = {}
    for guard in guards:
        way: Source | None = None
        ref = guard.payload
        if isinstance(guard, FunctionGuard):
            way, ref = FunctionFieldSource(guard.source, "__code__"), guard.payload[0]
        elif isinstance(guard, IdentityGuard):
            way = guard.source
        elif isinstance(guard, ExactTypeGuard):
            way = TypeSource(guard.source)
        if way is not None:
            ways.setdefault(ref.id, (ref.get(), way))
    return ways


def _granted(granted: Granted, table: ObjectTable) -> dict[str, Plain]:
    """Puts what was read without a guard among the objects, whose rows are checked."""
    for value in granted.objects.values():
        if not (is_plain_constant(value) or isinstance(value, types.CodeType)):
            table.number_of(value)
    for cls in granted.classes.values():
        if not is_covered(cls):
            table.number_of(cls)
    facts = [
        [table.number_of(function), [written_value(a, table) for a in args], written_value(result, table)]
        for function, args, result in granted.facts
    ]
    return {"facts": facts}


def _graph(parts: Parts, table: ObjectTable) -> dict[str, Plain]:
    conversions = [[place, table.number_of(function)] for place, function in parts.conversions]
    places = places_data(parts.places if parts.writes else [])
    facts = {"writes": parts.writes, "draws in vain": parts.draws_in_vain}
    return {"graph": parts.graph_key, "conversions": conversions, **facts, "places": places}


def skip_data(idle: bool, inlined: Iterable[Any]) -> dict[str, Plain]:
    """A frame that Python always runs, as long as the functions that it calls are these."""
    table = ObjectTable({})
    for function in inlined:
        with contextlib.suppress(NotPlain):  # Python may always run the frame: the check saves no error
            table.number_of(function)
    rows = [row for row in table.rows if row is not None]
    table.forget()
    return {"kind": "skip", "unhooked": idle, "objects": rows, "sources": []}


# --- reading ----------------------------------------------------------------------------------------------


@dataclass
class Surroundings:
    """What an entry takes from its process.

    graph: the callable of a key and its handler of failures; of the key, the conversions, whether the graph
    writes, whether it may draw in vain, and what gives the places.
    """

    frame: Any
    settings: Any
    graph: Callable[
        [str | None, Sequence[tuple[int, Any]], bool, bool, Callable[[], Sequence[Any]]], tuple[Any, Any]
    ]
    namespace: FrameNamespace = field(init=False)

    def __post_init__(self) -> None:
        frame = self.frame
        names = (frame.globals, frame.builtins)
        self.namespace = FrameNamespace.from_localsplus(
            frame.code, frame.locals, _capture.NULL, names, frame.function
        )


def from_data(data: dict[str, Plain], around: Surroundings, holds: Callable[[Any], bool]) -> Any:
    """The entry. `holds` runs its guard program on the frame. Raises Changed, Misfit, Unresolved."""
    objects = FoundObjects(data["objects"], data["sources"], around.namespace, data["lines"])
    try:
        return _entry(data, objects, around, holds)
    finally:
        objects.forget()


def _entry(
    data: dict[str, Plain], objects: FoundObjects, around: Surroundings, holds: Callable[[Any], bool]
) -> Any:
    if not all(GlobalState(*state).fits(read_global_state()) for state in data["states"]):
        raise Misfit  # most misfits are here, before anything is looked for
    if not are_there(data["files"]):
        raise Changed("a file that it names")
    objects.find_all()
    program, guards = _program_of(data, objects, around.frame.code)
    if not holds(program):
        raise Misfit
    for number, args, result in data.get("facts", ()):
        if not _gives(objects[number], [real(a, objects) for a in args], real(result, objects)):
            raise Misfit
    entry = _MAKERS[data["kind"]](data, objects, program, around)
    entry.guard_set = guards
    entry.breaks, entry.trains = data["breaks"], data["trains"]
    counts = (data.get("operations", 0), data.get("units", 0))
    if any(type(count) is not int for count in counts) or type(data.get("break")) not in (str, type(None)):
        raise Changed("counts that are none")
    return entry


def _gives(function: Callable[..., Any], args: list[Any], result: Any) -> bool:
    """Whether it gives that constant here, too. Where it raises, the capture that comes will find out."""
    try:
        return constants_equal(result, function(*args))
    except Exception:
        return False


def _program_of(data: dict[str, Plain], objects: FoundObjects, code: types.CodeType) -> tuple[Any, Any]:
    """The guard program, and its guards."""
    if data["program"] is None:
        guards = GuardSet(_read_guards(data, objects))
        return encode(guards, list(map(objects.reader.source, data["slots"])), code), guards
    program, named = program_of(data["program"], objects)
    late, name = objects.late(), code.co_qualname
    return program, LateGuards(lambda: _late_guards(data, late, name), named)


def _late_guards(data: dict[str, Plain], objects: LateObjects, name: str) -> list[Guard]:
    """For the text of a guard that has failed: without it there is none."""
    try:
        return _read_guards(data, objects)
    except DAMAGES as damage:
        text = "the guards of a stored entry of %s can't be read: %s: %s"
        log.get("cache").logger.warning(text, name, type(damage).__name__, damage)
        return []


def _read_guards(data: dict[str, Plain], objects: FoundObjects | LateObjects) -> list[Guard]:
    return list(map(Reader(data["sources"], objects).guard, json.loads(data["guards"])))


def still_skipped(data: dict[str, Plain], around: Surroundings) -> bool:
    """Whether Python runs all frames like this one. Raises Changed where a function that it calls is new."""
    if data["kind"] != "skip":
        return False
    objects = FoundObjects(data["objects"], data["sources"], around.namespace, lines=False)
    try:
        objects.find_all()
    finally:
        objects.forget()
    return True


def _left(data: dict[str, Plain], objects: FoundObjects, program: Any, around: Surroundings) -> Any:
    return cache.CacheEntry(program, around.settings.key, unhooked=data["unhooked"], sampled=data["sampled"])


def _recipe(data: dict[str, Plain], objects: FoundObjects, program: Any, around: Surroundings) -> Any:
    graph, failure = _graph_of(data, objects, around)
    result = tuple((word, real(operand, objects)) for word, operand in data["result"])
    entry = cache.CacheEntry(program, around.settings.key, graph=graph, result=result, inputs=data["inputs"])
    entry.on_failure = lambda _, error, inputs: failure(error, inputs)
    return entry


def _code(data: dict[str, Plain], objects: FoundObjects, program: Any, around: Surroundings) -> Any:
    graph, failure = _graph_of(data, objects, around)
    code = CodeReader(around.frame.code, graph, failure, objects).code(data["code"])
    return cache.CacheEntry(program, around.settings.key, code=code)


def _graph_of(data: dict[str, Plain], objects: FoundObjects, around: Surroundings) -> tuple[Any, Any]:
    conversions = [(place, objects[number]) for place, number in data["conversions"]]
    places = functools.partial(places_of, data["places"])
    graph, failure = around.graph(data["graph"], conversions, data["writes"], data["draws in vain"], places)
    if any(GlobalState(*state).grad_mode == ANY_MODE for state in data["states"]):
        failure.leave_grad_mode()
    return graph, failure


_MAKERS: dict[str, Callable[..., Any]] = {"left": _left, "recipe": _recipe, "code": _code}
