"""The objects that a stored entry names: how another process finds them, and how it knows them again.

In:  classes, functions, modules, code objects and other objects with a place.
Out: `ObjectTable`: a row for each. `FoundObjects`: the objects of the rows, in this process.

    nn.Linear                     ->   ["class", "torch.nn.modules.linear", "Linear", ""]
    a function without a place    ->   ["function", source, digest, ...]; the source leads to it in the frame

Two rows are two objects, and one object has one row: what the translation concluded from `is` stays true. A
row that does not fit raises `Changed`: then the frame is translated.
"""

from __future__ import annotations

import collections
import enum
import functools
import operator
import re
import sys
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
from torch.distributions.utils import _lazy_property_and_property, lazy_property

from capture.hooks.dispatcher import own_code
from capture.policy import frame_filter, marks, torch_compile_marks
from capture.stored.digest import class_digest, code_digest, defaults_digest, descriptor_digest, lines_digest
from capture.stored.places import (
    class_name,
    find,
    is_covered,
    is_function_of_numpy,
    is_module_of_torch,
    namespace_of,
    own_method,
    place_of,
    wrapped_at,
)
from guards.lookup import isinstance_raw, type_mro
from guards.namespace import FrameNamespace
from guards.plain import Reader, Writer
from guards.plain_values import NotPlain, Plain, is_plain_constant, plain, real
from guards.sources import Source
from guards.values import constants_equal, weakly

#: namespaces of `torch.ops` whose operators are torch's own
OPERATORS = ("aten", "prim", "prims")


class Changed(Exception):
    """An object is not there, or is not what it was."""


# --- what is known of an object ---------------------------------------------------------------------------


def _of_function(value: Any) -> list[Plain]:
    code = own_code(value.__code__)
    marked = (
        marks.is_disabled(value),
        marks.is_allowed_in_graph(value),
        marks.has_constant_result(value),
        torch_compile_marks.disabled_original(value) is not None,
        torch_compile_marks.is_allowed_in_graph(value),
        torch_compile_marks.has_constant_result(value),
    )
    defaults = defaults_digest(value) if is_covered(value) else ""  # guards compare those of the program
    return [*_of_code(code), value.__module__, value.__qualname__, "".join("01"[m] for m in marked), defaults]


def _of_code(code: types.CodeType) -> list[Plain]:
    return [code_digest(code), lines_digest(code), frame_filter.origin_of(code.co_filename)]


def _of_class(cls: type) -> list[Plain]:
    """The name of a class that no module has (`dict_keys`) tells it from another one at its place."""
    if not is_covered(cls):
        return [class_digest(cls)]
    return ["" if place_of(cls) is not None else ".".join(class_name(cls))]


def _of_covered(value: Any) -> list[Plain]:
    if not is_covered(value):
        raise NotPlain(f"a {type(value).__name__} of a library")
    return []


def _of_slot(value: Any) -> list[Plain]:
    """The name tells it from another one at its place."""
    if "__slots__" not in (namespace_of(value.__objclass__) or {}):
        _of_covered(value)
    return [value.__name__]


def _of_cached(value: Any) -> list[Plain]:
    if type(value.__wrapped__) is not types.FunctionType:
        raise NotPlain("a cache of what is no function")
    return _of_function(value.__wrapped__)


def _of_numpy(value: Any) -> list[Plain]:
    """NumPy's version is a part of each key. The name tells the function from another one at its place."""
    place = place_of(value)
    if place is None or place[0].partition(".")[0] != "numpy":
        raise NotPlain(f"a {type(value).__name__} of a library")
    return [value.__name__]


def _of_pattern(value: Any) -> list[Plain]:
    if type(value.pattern) is not str:
        raise NotPlain("a pattern of bytes")
    return [value.pattern, value.flags]


#: kind -> what tells the object from another one at its place
FACTS: dict[str, Callable[[Any], list[Plain]]] = {
    "class": _of_class,
    "function": _of_function,
    "code": _of_code,
    "module": lambda value: [],
    "built-in": _of_covered,
    "descriptor": lambda value: [descriptor_digest(value)],
    "slot": _of_slot,
    "cached": _of_cached,
    "pattern": _of_pattern,
    "numpy": _of_numpy,
}


def kind_of(value: Any) -> str:
    if isinstance_raw(value, type):
        return "class"
    if is_module_of_torch(value):
        return "module"
    if is_function_of_numpy(value):
        return "numpy"
    kind = _KINDS.get(type(value))
    if kind is None:
        raise NotPlain(f"a {type(value).__name__}")
    return kind


#: what a class holds for its objects; guards know it by identity
DESCRIPTORS = (
    staticmethod, classmethod, property, functools.cached_property, collections._tuplegetter,  # type: ignore[attr-defined]
    lazy_property,
)  # fmt: skip
_KINDS: dict[type, str] = {
    types.FunctionType: "function",
    types.CodeType: "code",
    types.ModuleType: "module",
    re.Pattern: "pattern",
    **dict.fromkeys(DESCRIPTORS, "descriptor"),
    **dict.fromkeys(
        (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
        + (types.ClassMethodDescriptorType, types.GetSetDescriptorType),
        "built-in",
    ),
    types.MemberDescriptorType: "slot",
    functools._lru_cache_wrapper: "cached",
}


# --- objects that are found in other ways -----------------------------------------------------------------


def _namespace_row(table: ObjectTable, value: Any) -> list[Plain] | None:
    name = value.get("__name__") if type(value) is dict else None
    module = sys.modules.get(name) if isinstance(name, str) else None
    return ["namespace", name] if module is not None and namespace_of(module) is value else None


def _globals_row(table: ObjectTable, value: Any) -> list[Plain] | None:
    """The globals of a method that has a namespace of its own, as `__new__` of a named tuple has."""
    owner = table.method_where(lambda function: function.__globals__ is value)
    return None if owner is None else ["globals", *owner]


def _global_row(table: ObjectTable, value: Any) -> list[Plain] | None:
    """A collection that a module of torch or Python keeps for good. Guards look into it."""
    for module in _KEEPERS:
        for name, held in (namespace_of(sys.modules.get(module)) or {}).items():
            if held is value:
                return ["global", module, name]
    return None


#: modules whose collections the interpreter reads
_KEEPERS = ("torch.nn.modules.module", "sys")


def _operator_row(table: ObjectTable, value: Any) -> list[Plain]:
    overload = isinstance(value, torch._ops.OpOverload)
    packet = value.overloadpacket if overload else value
    namespace, _, name = packet._qualified_op_name.partition("::")
    if namespace not in OPERATORS:
        raise NotPlain("an operator of the program")
    return ["operator", namespace, name, value._overloadname if overload else None]


def _member_row(table: ObjectTable, value: enum.Enum) -> list[Plain]:
    return ["member", table.number_of(type(value)), value.__dict__["_name_"]]


def _property_row(table: ObjectTable, value: Any) -> list[Plain]:
    """What `lazy_property` makes at each read from its class. Programs ask for its type alone."""
    return ["property", table.number_of(value.fget)]


def _union_row(table: ObjectTable, value: types.UnionType) -> list[Plain]:
    """`int | str`: each evaluation makes a new one."""
    return ["union", list(map(table.number_of, value.__args__))]


def _kept_method(value: Any) -> list[Plain] | None:
    """A method that a module of Python keeps, of an object that it keeps too: `random.random`."""
    if type(value) not in _METHODS:
        return None
    owner, name = value.__self__, value.__name__
    module = class_name(type(owner))[0]
    kept = namespace_of(sys.modules.get(module)) or {}
    of = next((other for other, held in kept.items() if held is owner), None)
    if name not in kept or kept[name] is not value or of is None or not is_covered(type(owner)):
        return None
    function = getattr(value, "__func__", None)  # None: it is written in C
    facts = [value.__qualname__] if function is None else _of_function(function)
    return [module, name, of, facts]


def _wrapper_of(value: Any) -> list[Plain] | None:
    """The place of what wraps the function and has taken its name, and its own among what that wraps."""
    if type(value) is not types.FunctionType:
        return None
    place = [value.__module__, value.__qualname__]
    if not all(type(name) is str for name in place):
        return None
    wrapped = wrapped_at(*place)
    return next(([*place, depth] for depth, function in enumerate(wrapped) if function is value), None)


def _find_wrapped(objects: FoundObjects, module: str, path: str, depth: int, *facts: Plain) -> Any:
    wrapped = wrapped_at(module, path)
    value = wrapped[depth] if depth < len(wrapped) else None
    return objects.checked("function", value, list(facts), (module, path))


def _find_property(objects: FoundObjects, getter: int) -> Any:
    return _lazy_property_and_property(objects[getter])


def _find_union(objects: FoundObjects, classes: list[int]) -> Any:
    members = [objects[number] for number in classes]
    if len(members) < 2 or not all(isinstance_raw(member, type) for member in members):
        raise Changed("a union of what is no class")
    return functools.reduce(operator.or_, members)


def _find_namespace(objects: FoundObjects, name: str) -> Any:
    found = namespace_of(find(name, ""))
    if found is None:
        raise Changed(f"module {name} is not imported")
    return found


def _find_operator(objects: FoundObjects, namespace: str, name: str, overload: str | None) -> Any:
    if namespace not in OPERATORS:
        raise Changed(f"an operator of {namespace}")
    packet = getattr(getattr(torch.ops, namespace), name)
    return packet if overload is None else getattr(packet, overload)


def _find_member(objects: FoundObjects, cls: int, name: str) -> Any:
    members = (namespace_of(objects[cls]) or {}).get("_member_map_", {})
    if name not in members:
        raise Changed(f"no member {name} of {objects[cls]}")
    return members[name]


def _find_method(objects: FoundObjects, module: str, name: str, of: str, facts: list[Plain]) -> Any:
    value = find(module, name)
    if _kept_method(value) != [module, name, of, facts]:
        raise Changed(f"no method {name} of {of} in {module}")
    return value


def _find_own_method(objects: FoundObjects, cls: int, name: str, *facts: Plain) -> Any:
    return objects.checked("function", own_method(objects[cls], name), list(facts), (name, cls))


def _find_globals(objects: FoundObjects, cls: int, name: str) -> Any:
    function = own_method(objects[cls], name)
    if function is None:
        raise Changed(f"no method {name} of {objects[cls]}")
    return function.__globals__


def _find_global(objects: FoundObjects, module: str, name: str) -> Any:
    found = find(module, name) if module in _KEEPERS else None
    if not isinstance(found, _COLLECTIONS):
        raise Changed(f"no collection {name} in {module}")
    return found


def _find_constant(objects: FoundObjects, source: int, data: Plain) -> Any:
    value = objects.at(source)
    if not constants_equal(real(data, objects), value):
        raise Changed("another constant where there was one")
    return value


def _find_tensor(objects: FoundObjects, source: int) -> Any:
    value = objects.at(source)
    if type(value) not in TENSORS:
        raise Changed("no tensor where there was one")
    return value


def _find_instance(objects: FoundObjects, source: int, cls: int) -> Any:
    value = objects.at(source)
    if type(value) is not objects[cls]:
        raise Changed("an object of another class")
    return value


def is_found_by_identity(value: Any) -> bool:
    """Whether it is an object, but no class or function, whose class leaves `__hash__` and `__eq__` alone."""
    kind = type(value)
    by_identity = (kind.__hash__, kind.__eq__) in _BY_IDENTITY
    named = kind in _KINDS or is_function_of_numpy(value)
    return by_identity and not named and not issubclass(kind, (type, enum.Enum, *_OPERATORS))


CONSTANT = "constant"
TENSOR = "tensor"
INSTANCE = "instance"
#: objects that only their place in the frame tells from others of their kind
OF_THE_FRAME = (TENSOR, INSTANCE)
_BY_IDENTITY = tuple((cls.__hash__, cls.__eq__) for cls in (object, torch.nn.Module))
_OPERATORS = (torch._ops.OpOverload, torch._ops.OpOverloadPacket)
TENSORS = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
_COLLECTIONS = (dict, list, set)
_METHODS = (types.BuiltinFunctionType, types.MethodType)
_FINDERS: dict[str, Callable[..., Any]] = {
    "namespace": _find_namespace,
    "global": _find_global,
    "globals": _find_globals,
    "own method": _find_own_method,
    "wrapped": _find_wrapped,
    "operator": _find_operator,
    "member": _find_member,
    "property": _find_property,
    "union": _find_union,
    "method": _find_method,
    CONSTANT: _find_constant,
    TENSOR: _find_tensor,
    INSTANCE: _find_instance,
}


# --- writing ----------------------------------------------------------------------------------------------


#: The source that leads to an object, by the id of the object. The object stands beside it.
Ways = Mapping[int, tuple[Any, Source]]


class ObjectTable:
    """The rows of one entry.

    ways: the places of the frame where guards know an object by identity. places: those of the tensors and
    objects that the frame has used; a guard may know one as the key of a dict. addresses: `id(x)` -> x, where
    the frame looked the number up. unread: the places of dicts none of whose keys the frame has had.
    """

    def __init__(
        self,
        ways: Ways,
        places: Ways = types.MappingProxyType({}),
        addresses: Mapping[int, Any] = types.MappingProxyType({}),
        unread: Collection[str] = frozenset(),
    ) -> None:
        self.addresses = addresses
        self.unread = unread
        self.rows: list[Plain] = []
        self.writer = Writer(self)
        self._ways = ways
        self._places = places
        self._numbers: dict[int, int] = {}
        self._held: list[Any] = []  # keeps the ids valid

    def __getitem__(self, number: int) -> Any:
        return self._held[number]

    def forget(self) -> None:
        """Hold no object any more, nor the writer: the two hold each other."""
        self._held, self._ways, self._places, self.addresses = [], {}, {}, {}
        del self.writer

    def number_in_guard(self, value: Any) -> int:
        """The number of an object of which a guard asks nothing but whether it is this one. For a tensor, the
        place that the frame had it from is enough; for a constant, its place and its value.
        """
        if is_plain_constant(value):
            return self._numbered(value, lambda: self._constant_row(value))
        if type(value) in TENSORS or id(value) in self.addresses:
            return self.number_of_key(value)
        return self.number_of(value)

    def number_of_key(self, value: Any) -> int:
        """The number of an object that is looked up by identity. Its place is enough, and its class."""
        way = self._places.get(id(value))
        if way is None:
            return self.number_of(value)
        row = self._tensor_row if type(value) in TENSORS else self._instance_row
        return self._numbered(value, lambda: row(*way))

    def number_of(self, value: Any) -> int:
        number = self._numbered(value, lambda: self._row(value))
        if self.rows[number][0] in OF_THE_FRAME:
            raise NotPlain(f"a {self.rows[number][0]} as a constant")
        return number

    def _numbered(self, value: Any, row: Callable[[], list[Plain]]) -> int:
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.rows)
            self.rows.append(None)
            self._held.append(value)
            self.rows[number] = row()
        elif self.rows[number] is None:
            raise NotPlain("an object that leads to itself")
        return number

    def method_where(self, is_it: Callable[[types.FunctionType], bool]) -> tuple[int, str] | None:
        """The number of a class and the name of its method for which that holds. The class has a number
        already, or is a base of one that has.
        """
        classes = [held for held in self._held if isinstance_raw(held, type)]
        bases = [base for held in classes for base in type_mro(held)[1:]]
        for held in (*classes, *bases):
            for name in namespace_of(held) or {}:
                function = own_method(held, name)
                if function is not None and is_it(function):
                    number = self._numbers.get(id(held))
                    return self.number_of(held) if number is None else number, name
        return None

    def _constant_row(self, value: Any) -> list[Plain]:
        way = self._ways.get(id(value))
        if way is None:
            raise NotPlain("a constant that is known by identity")
        return [CONSTANT, self.writer.source(way[1]), plain(value, self)]

    def _tensor_row(self, value: Any, source: Source) -> list[Plain]:
        return [TENSOR, self.writer.source(source)]

    def _instance_row(self, value: Any, source: Source) -> list[Plain]:
        return [INSTANCE, self.writer.source(source), self.number_of(type(value))]

    def _row(self, value: Any) -> list[Plain]:
        if issubclass(type(value), _COLLECTIONS):
            row = _namespace_row(self, value) or _global_row(self, value) or _globals_row(self, value)
            if row is None:
                raise NotPlain(f"a {type(value).__name__}")
            return row
        if isinstance(value, _OPERATORS):
            return _operator_row(self, value)
        if isinstance_raw(value, enum.Enum):
            return _member_row(self, value)
        if type(value) is _lazy_property_and_property:
            return _property_row(self, value)
        if type(value) is types.UnionType:
            return _union_row(self, value)
        method = _kept_method(value)
        if method is not None:
            return ["method", *method]
        kind = kind_of(value)
        place = place_of(value)
        if place is not None:
            return [kind, *place, *FACTS[kind](value)]
        way = self._ways.get(id(value))
        if way is not None:
            return [kind, self.writer.source(way[1]), None, *FACTS[kind](value)]
        wrapper = _wrapper_of(value)
        if wrapper is not None:
            return ["wrapped", *wrapper, *FACTS[kind](value)]
        owner = self.method_where(lambda function: function is value)
        if owner is None:
            raise NotPlain(f"a {kind} without a place")
        return ["own method", *owner, *FACTS[kind](value)]


# --- reading ----------------------------------------------------------------------------------------------


class FoundObjects:
    """The objects of the rows in this process, for a frame. `with_lines`: the lines of code count too."""

    def __init__(self, rows: list[Plain], sources: list[Plain], frame: FrameNamespace, lines: bool) -> None:
        self.rows = rows
        self.reader = Reader(sources, self)
        self._frame: FrameNamespace | None = frame
        self._with_lines = lines
        self._found: dict[int, Any] = {}
        self._ids: dict[int, int] = {}

    def forget(self) -> None:
        """Hold no object any more, nor the reader: the two hold each other."""
        self._found, self._frame = {}, None
        del self.reader

    def find_all(self) -> None:
        """Raises Changed where an object is missing or another one."""
        for number in range(len(self.rows)):
            self[number]

    def __getitem__(self, number: int) -> Any:
        if number not in self._found:
            value = self._find(*self.rows[number])
            if self._ids.setdefault(id(value), number) != number:
                raise Changed(f"two objects are one: {self.rows[number]}")
            self._found[number] = value
        return self._found[number]

    def late(self) -> LateObjects:
        """The objects that are found by now, for whoever asks after the frame has gone."""
        return LateObjects({number: weakly(value) for number, value in self._found.items()})

    def at(self, source: int) -> Any:
        """What the frame has at that source."""
        assert self._frame is not None
        return self.reader.source(source).resolve(self._frame)

    def _find(self, kind: str, *row: Any) -> Any:
        if kind in _FINDERS:
            return _FINDERS[kind](self, *row)
        place, path, *facts = row
        value = self.at(place) if path is None else find(place, path)
        return self.checked(kind, value, facts, (place, path))

    def checked(self, kind: str, value: Any, facts: list[Plain], place: tuple[Any, Any]) -> Any:
        """The value, if it is of that kind and has these facts. Raises Changed."""
        if value is None or kind_of(value) != kind:
            raise Changed(f"no {kind} {place[0]} {place[1]}")
        now = FACTS[kind](value)
        if kind in ("function", "code") and not self._with_lines:
            now[1] = facts[1]
        if now != facts:
            raise Changed(f"{kind} {place[0]} {place[1]} has changed")
        return value


class LateObjects:
    """Found objects that nobody holds. One that has gone meanwhile has a text in its place."""

    def __init__(self, found: Mapping[int, Any]) -> None:
        self._found = found

    def __getitem__(self, number: int) -> Any:
        ref = self._found[number]
        value = None if ref is None else ref()
        return GONE if value is None else value


GONE = "an object that is not known any more"
