"""How each source is loaded and each guard is checked, as instructions.

In:  a source or a guard, and the `Encoder` of the program being written (`guards.program`).
Out: instructions in its assembler; one function a class of sources, one a kind of guards.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from guards import sources as s
from guards.conditions import float_bits, shape_operator_numbers
from guards.guard import Guard
from guards.kinds import GuardKind
from guards.properties.global_state import DTYPE_CODES
from guards.properties.tensor import TensorProperties
from guards.values import ObjectRef

if TYPE_CHECKING:
    from guards.program import Encoder

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

# --- loads: operands behind (A = the register written, B = the register of the base) -----------------------

LoadRow = tuple[str, Callable[["Encoder", Any], list[Any]]]
LOADS: dict[type[s.Source], LoadRow] = {
    s.LocalSource: ("LOAD_LOCAL", lambda e, x: [e.local_index(x.name)]),
    s.FreeCellSource: ("LOAD_FREE_CELL", lambda e, x: [e.code.co_freevars.index(x.name)]),
    s.CellSource: ("LOAD_CELL", lambda e, x: []),
    s.GlobalSource: ("LOAD_GLOBAL", lambda e, x: [sys.intern(x.name)]),
    s.BuiltinSource: ("LOAD_BUILTIN", lambda e, x: [sys.intern(x.name)]),
    s.GlobalsSource: ("LOAD_GLOBALS", lambda e, x: []),
    s.FunctionSource: ("LOAD_FUNCTION", lambda e, x: []),
    s.ConstantSource: ("LOAD_CONSTANT", lambda e, x: [x.value]),
    s.FunctionModeSource: ("LOAD_STATE", lambda e, x: [x.reader, (x.index,)]),
    s.ThreadDictSource: ("LOAD_STATE", lambda e, x: [x.reader, (x.value,)]),
    s.AttrSource: ("LOAD_ATTR", lambda e, x: [sys.intern(x.name)]),
    s.TypeAttrSource: ("LOAD_TYPE_ATTR", lambda e, x: [sys.intern(x.name), x.after.id if x.after else 0]),
    s.DictSource: ("LOAD_DICT", lambda e, x: []),
    s.TypeSource: ("LOAD_TYPE", lambda e, x: []),
    s.MroItemSource: ("LOAD_MRO_ITEM", lambda e, x: [x.index]),
    s.ClassNameSource: ("LOAD_CLASS_NAME", lambda e, x: [s.CLASS_NAMES.index(x.field)]),
    s.FunctionFieldSource: ("LOAD_FUNCTION_FIELD", lambda e, x: [s.FUNCTION_FIELDS.index(x.field)]),
    s.CellContentsSource: ("LOAD_CELL", lambda e, x: []),
    s.MethodFieldSource: ("LOAD_METHOD_FIELD", lambda e, x: [0 if x.field == "__self__" else 1]),
    s.BuiltinSelfSource: ("LOAD_BUILTIN_SELF", lambda e, x: [x.definition]),
    s.ItemSource: ("LOAD_ITEM", lambda e, x: [x.index]),
    s.DequeItemSource: ("LOAD_DEQUE_ITEM", lambda e, x: [x.index]),
    s.DictItemSource: ("LOAD_DICT_ITEM", lambda e, x: [x.key]),
    s.DictKeySource: ("LOAD_DICT_KEY", lambda e, x: [x.position]),
    s.DictValueSource: ("LOAD_DICT_VALUE", lambda e, x: [x.position]),
    s.IteratorPartSource: ("LOAD_ITERATOR_PART", lambda e, x: [x.index]),
    s.GradSource: ("LOAD_GRAD", lambda e, x: []),
    s.WeakrefSource: ("LOAD_WEAKREF", lambda e, x: []),
}
SHAPE_FIELDS = {"size": 0, "stride": 1, "storage_offset": 2}


def load(encoder: Encoder, source: s.Source, target: int, base: int, guard: int) -> None:
    """Instructions that put the value of `source` into register `target`; `base` is the register of its base
    (0 for a root).
    """
    if isinstance(source, s.ModuleAttrSource):
        between = encoder.new_register()
        encoder.emit("LOAD_MODULE_DICT", a=between, b=base, guard=guard)
        encoder.emit("LOAD_DICT_ITEM", a=target, b=between, operands=[sys.intern(source.name)], guard=guard)
        return
    if isinstance(source, s.ShapeSource):
        encoder.emit(
            "LOAD_SHAPE", a=target, b=base, operands=[SHAPE_FIELDS[source.what], source.dim], guard=guard
        )
        return
    if isinstance(source, s.FloatSource):
        encoder.emit("LOAD_FLOAT", a=target, b=base, guard=guard)
        return
    name, operands = LOADS[type(source)]
    encoder.emit(name, a=target, b=base, operands=operands(encoder, source), guard=guard)


# --- checks -----------------------------------------------------------------------------------------------

GuardEncoder = Callable[["Encoder", Guard, int], None]
ENCODERS: dict[GuardKind, GuardEncoder] = {}


def encoder(kind: GuardKind) -> Callable[[GuardEncoder], GuardEncoder]:
    """Register the encoder of a kind of guard."""

    def register(function: GuardEncoder) -> GuardEncoder:
        ENCODERS[kind] = function
        return function

    return register


# Guards that are one instruction on the register of their source: its name and operands.
SIMPLE: dict[GuardKind, tuple[str, Callable[[Any], list[Any]]]] = {
    GuardKind.TYPE: ("CHECK_TYPE", lambda ref: [ref.id]),
    GuardKind.ID: ("CHECK_ID", lambda ref: [ref.id]),
    GuardKind.CONTENTS: ("CHECK_CONTENTS", lambda value: [value]),
    GuardKind.NOT_NONE: ("CHECK_NOT_NONE", lambda _: []),
    GuardKind.LENGTH: ("CHECK_LENGTH", lambda length: [length]),
    GuardKind.BOOL: ("CHECK_BOOL", lambda truth: [truth]),
    GuardKind.GRAD_NONE: ("CHECK_GRAD_NONE", lambda is_none: [is_none]),
    GuardKind.INT_RANGE: (
        "CHECK_INT_RANGE",
        lambda b: [INT64_MIN if b[0] is None else b[0], INT64_MAX if b[1] is None else b[1]],
    ),
    GuardKind.WEAKREF_ALIVE: ("CHECK_WEAKREF", lambda _: []),
    GuardKind.ITERATOR_STATE: ("CHECK_ITERATOR", list),
    GuardKind.BUFFER: ("CHECK_BUFFER", lambda properties: properties.words()),
    GuardKind.TENSOR_UNWRITTEN: ("CHECK_UNWRITTEN", list),
    GuardKind.NO_ATTRIBUTE: ("CHECK_NO_ATTRIBUTE", lambda name: [sys.intern(name)]),
    GuardKind.HAS_ATTRIBUTE: ("CHECK_HAS_ATTRIBUTE", lambda p: [sys.intern(p[0]), p[1]]),
    GuardKind.CLASS_LACKS: ("CHECK_CLASS_LACKS", lambda name: [sys.intern(name)]),
    GuardKind.DICT_CONTAINS: ("CHECK_DICT_CONTAINS", lambda p: [p[0], p[1]]),
    GuardKind.DICT_KEYS: ("CHECK_DICT_KEYS", list),
    GuardKind.SET_CONTENTS: ("CHECK_SET", list),
    GuardKind.SET_LAYOUT: ("CHECK_SET_LAYOUT", list),
}


def check(encoder: Encoder, guard: Guard, index: int) -> None:
    """Instructions that fail with `index` unless the guard holds."""
    if guard.kind in SIMPLE:
        name, operands = SIMPLE[guard.kind]
        encoder.emit(
            name, b=encoder.register_of(guard.source, index), operands=operands(guard.payload), guard=index
        )
    else:
        ENCODERS[guard.kind](encoder, guard, index)


@encoder(GuardKind.CONSTANT)
def _constant(encoder: Encoder, guard: Guard, index: int) -> None:
    value = guard.payload
    if isinstance(guard.source, s.StateSource):
        encoder.emit("CHECK_STATE", operands=[guard.source.function, guard.source.args, value], guard=index)
        return
    register = encoder.register_of(guard.source, index)
    if type(value) is int and INT64_MIN <= value <= INT64_MAX:
        encoder.emit("CHECK_INT", b=register, operands=[value], guard=index)
    elif value is None or type(value) is bool:
        encoder.emit("CHECK_ID", b=register, operands=[id(value)], guard=index)
    else:
        encoder.emit("CHECK_CONSTANT", b=register, operands=[value], guard=index)


@encoder(GuardKind.OBJECT_ALIASING)
def _object_aliasing(encoder: Encoder, guard: Guard, index: int) -> None:
    first, second = (encoder.register_of(source, index) for source in guard.sources)
    encoder.emit("CHECK_SAME", a=first, b=second, guard=index)


@encoder(GuardKind.OBJECTS_DISTINCT)
def _objects_distinct(encoder: Encoder, guard: Guard, index: int) -> None:
    registers = [encoder.register_of(source, index) for source in guard.sources]
    encoder.places = max(encoder.places, len(registers))
    encoder.emit("CHECK_DISTINCT", operands=registers, guard=index)


@encoder(GuardKind.TENSOR_ALIASING)
def _tensor_aliasing(encoder: Encoder, guard: Guard, index: int) -> None:
    registers = [encoder.register_of(source, index) for source in guard.sources]
    encoder.places = max(encoder.places, len(registers))
    operands = [word for pair in zip(registers, guard.payload) for word in pair]
    encoder.emit("CHECK_ALIASING", operands=operands, guard=index)


@encoder(GuardKind.TENSOR_MATCH)
def _tensor_match(encoder: Encoder, guard: Guard, index: int) -> None:
    p: TensorProperties = guard.payload
    leaf = -1 if p.is_leaf is None else int(p.is_leaf)
    dims = [-1 if n is None else n for n in (*p.sizes, *(p.strides or ()))]
    operands = [
        p.type.id,
        DTYPE_CODES[p.dtype],
        p.device_bits,
        p.dispatch_keys,
        int(p.requires_grad),
        leaf,
        len(p.sizes),
        *dims,
    ]
    encoder.emit("CHECK_TENSOR", b=encoder.register_of(guard.source, index), operands=operands, guard=index)


@encoder(GuardKind.GLOBAL_STATE)
def _global_state(encoder: Encoder, guard: Guard, index: int) -> None:
    encoder.emit("CHECK_GLOBAL_STATE", operands=list(guard.payload), guard=index)


@encoder(GuardKind.SHAPE_EXPRESSION)
def _shape_expression(encoder: Encoder, guard: Guard, index: int) -> None:
    registers = [encoder.int_register_of(source, index) for source in guard.payload.sources]
    numbers = shape_operator_numbers()
    operands: list[int] = []
    for token in guard.payload.code:
        argument = 0 if len(token) == 1 else registers[token[1]] if token[0] == "load" else token[1]
        argument = float_bits(argument) if type(argument) is float else argument
        operands += [numbers[token[0]], argument]
    encoder.emit("CHECK_SHAPE", operands=operands, guard=index)


@encoder(GuardKind.FUNCTION)
def _function(encoder: Encoder, guard: Guard, index: int) -> None:
    code, defaults, kwdefaults, cells = guard.payload
    register = encoder.register_of(guard.source, index)
    encoder.emit("CHECK_FUNCTION", b=register, guard=index)
    _same_field(encoder, register, "__code__", code, index)
    if defaults is not None:
        _same_field(encoder, register, "__defaults__", defaults, index)
    if kwdefaults is not False:
        _keyword_defaults(encoder, register, kwdefaults, index)
    if cells is not False:
        _cells(encoder, register, cells, index)


def _field(encoder: Encoder, function: int, field: str, index: int) -> int:
    target = encoder.new_register()
    encoder.emit(
        "LOAD_FUNCTION_FIELD", a=target, b=function, operands=[s.FUNCTION_FIELDS.index(field)], guard=index
    )
    return target


def _same_field(encoder: Encoder, function: int, field: str, expected: ObjectRef, index: int) -> None:
    encoder.emit("CHECK_ID", b=_field(encoder, function, field, index), operands=[expected.id], guard=index)


def _keyword_defaults(
    encoder: Encoder, function: int, expected: tuple[tuple[str, ObjectRef], ...] | None, index: int
) -> None:
    mapping = _field(encoder, function, "__kwdefaults__", index)
    if expected is None:
        encoder.emit("CHECK_ID", b=mapping, operands=[id(None)], guard=index)
        return
    encoder.emit("CHECK_DICT_KEYS", b=mapping, operands=[name for name, _ in expected], guard=index)
    for name, ref in expected:
        value = encoder.new_register()
        encoder.emit("LOAD_DICT_ITEM", a=value, b=mapping, operands=[name], guard=index)
        encoder.emit("CHECK_ID", b=value, operands=[ref.id], guard=index)


def _cells(encoder: Encoder, function: int, expected: tuple[ObjectRef, ...], index: int) -> None:
    closure = _field(encoder, function, "__closure__", index)
    if not expected:
        encoder.emit("CHECK_ID", b=closure, operands=[id(None)], guard=index)
        return
    encoder.emit("CHECK_LENGTH", b=closure, operands=[len(expected)], guard=index)
    for position, ref in enumerate(expected):
        cell = encoder.new_register()
        encoder.emit("LOAD_ITEM", a=cell, b=closure, operands=[position], guard=index)
        encoder.emit("CHECK_ID", b=cell, operands=[ref.id], guard=index)
