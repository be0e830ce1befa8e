"""The code that runs in place of a frame, as plain data.

In:  a code object that `capture.output` has made, its graph and its handler of failures.
Out: data: the fields of the code; its constants as values, or as words for what each process has of its own.

    LOAD_CONST graph_0; ...; LOAD_CONST <resume function>
        ->   {"co_code": "...", "constants": [["graph"], ["resume", 12, [], ["x"]], ...]}

The code is executed, as machine code is: docs/trust.md says who may have written it.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import _capture

from cache.code_table import CodeTable
from capture.bytecode import resume
from capture.bytecode.eager_twin import eager_twin
from capture.bytecode.emit import Box
from capture.graph.calls_at_places import caller_at, made_for
from capture.graph.program_places import Place
from capture.stored.objects import Changed, FoundObjects, ObjectTable
from guards.plain_values import NotPlain, Plain, is_plain_constant, plain, plain_key, real

#: fields of a code object, in the order in which `types.CodeType` takes them
FIELDS = (
    "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_nlocals", "co_stacksize", "co_flags",
    "co_code", "co_consts", "co_names", "co_varnames", "co_filename", "co_name", "co_qualname",
    "co_firstlineno", "co_linetable", "co_exceptiontable", "co_freevars", "co_cellvars",
)  # fmt: skip
OWN_FIELDS = ("co_consts", "co_filename")  # not taken from the data


#: resume functions of entries that come from the store
_rests: CodeTable[bool] = CodeTable()


def is_stored_rest(code: types.CodeType) -> bool:
    """Whether it is the rest of a frame whose beginning comes from the store."""
    return code in _rests


def written_value(value: Any, table: ObjectTable) -> Plain:
    """A constant by its contents; an object, even a list, is this very object."""
    return plain_key(value, table) if is_plain_constant(value) else ["object", table.number_of(value)]


class CodeWriter:
    """Writes the code of one entry of `original`."""

    def __init__(self, original: types.CodeType, graph: Any, failure: Any, table: ObjectTable) -> None:
        self.original = original
        self.table = table
        self._words = {id(_capture.SIGNALS): ["signals"]}
        if graph is not None:
            self._words |= {id(graph): ["graph"], id(failure): ["failure"]}

    def data(self, code: types.CodeType) -> dict[str, Plain]:
        fields = {name: getattr(code, name) for name in FIELDS if name not in OWN_FIELDS}
        data = {name: plain(value, self.table) for name, value in fields.items()}
        data["constants"] = list(map(self._constant, code.co_consts))
        return data

    def _constant(self, value: Any) -> Plain:
        if id(value) in self._words:
            return self._words[id(value)]
        if type(value) is Box:
            return ["box", self._constant(value.value)]
        if isinstance(value, types.CodeType):
            return self._code(value)
        caller = made_for(value) if type(value) is types.FunctionType else None
        if caller is not None:
            return ["caller", list(map(self._place, caller.places)), caller.arguments, list(caller.keywords)]
        return ["value", written_value(value, self.table)]

    def _place(self, found: tuple[Place, dict[str, Any]]) -> Plain:
        """A place in the file of the frame or of a module: the next process may have it in another folder."""
        (file, *rest, positions), namespace = found
        files = [self.original.co_filename, namespace.get("__file__")]
        if file not in files:
            raise NotPlain("a call in a file that is not that of its module")
        return [self.table.number_of(namespace), files.index(file), *rest, list(positions)]

    def _code(self, code: types.CodeType) -> Plain:
        if resume.is_resume(code):
            point, made = resume.point_of(code), resume.made_of(code)
            if point.original is not resume.point_of(self.original).original:
                raise NotPlain("a resume function of another function")
            return ["resume", made.target, list(made.stack), list(made.names), made.seen_at]
        if code is eager_twin(self.original):
            return ["twin"]
        for path, inner in inner_codes(self.original):
            if inner is code:
                return ["inner", list(path)]
        raise NotPlain("the code of a function that another function makes")


class CodeReader:
    """Makes the code of one entry of `original` again."""

    def __init__(self, original: types.CodeType, graph: Any, failure: Any, objects: FoundObjects) -> None:
        self.original = original
        self.graph = graph
        self.failure = failure
        self.objects = objects

    def code(self, data: dict[str, Plain]) -> types.CodeType:
        fields = {name: real(data[name], self.objects) for name in FIELDS if name not in OWN_FIELDS}
        fields["co_consts"] = tuple(map(self._constant, data["constants"]))
        fields["co_filename"] = self.original.co_filename
        return types.CodeType(*[fields[name] for name in FIELDS])

    def _constant(self, data: Plain) -> Any:
        word, *rest = data
        if word not in _READ:
            raise Changed(f"no constant: {word}")
        return _READ[word](self, *rest)

    def _resume(self, target: int, stack: list[str], names: list[str], seen_at: int | None) -> types.CodeType:
        original = resume.point_of(self.original).original
        code = resume.resume_code(original, target, tuple(stack), tuple(names), seen_at)
        _capture.mark_resume(code)
        _rests[code] = True
        return code

    def _twin(self) -> types.CodeType:
        twin = eager_twin(self.original)
        _capture.skip_code(twin)
        return twin

    def _inner(self, path: list[int]) -> types.CodeType:
        found = dict(inner_codes(self.original)).get(tuple(path))
        if found is None:
            raise Changed("no such inner function")
        return found

    def _caller(self, places: list[Plain], count: int, keywords: list[str]) -> types.FunctionType:
        made = caller_at([self._place(*place) for place in places], count, tuple(keywords))
        if made is None:
            raise Changed("a call at no place")
        return made

    def _place(
        self, number: int, own: int, name: str, qualname: str, first: int, line: int, positions: Plain
    ) -> tuple[Place, dict[str, Any]]:
        namespace = self.objects[number]
        file = (self.original.co_filename, namespace.get("__file__"))[own]
        return Place(file, name, qualname, first, line, tuple(positions)), namespace

    def _box(self, data: Plain) -> Box:
        return Box(self._constant(data))

    def _value(self, data: Plain) -> Any:
        return real(data, self.objects)


_READ: dict[str, Any] = {
    "graph": lambda reader: reader.graph,
    "failure": lambda reader: reader.failure,
    "signals": lambda reader: _capture.SIGNALS,
    "resume": CodeReader._resume,
    "twin": CodeReader._twin,
    "inner": CodeReader._inner,
    "box": CodeReader._box,
    "caller": CodeReader._caller,
    "value": CodeReader._value,
}


def inner_codes(code: types.CodeType) -> Iterator[tuple[tuple[int, ...], types.CodeType]]:
    """The code objects among the constants, at any depth, with the way to them."""
    for index, const in enumerate(code.co_consts):
        if isinstance(const, types.CodeType):
            yield (index,), const
            for path, inner in inner_codes(const):
                yield (index, *path), inner
