"""Writes the instructions of one guard program.

In:  the code object of the frame, and sources as the guards ask for them.
Out: `Encoder`: instructions in its assembler. Each source is loaded once, into a register of its own.

    register_of(ItemSource(LocalSource("x"), 0))   ->   LOAD_LOCAL r0 0; LOAD_ITEM r1 r0 0
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from types import CodeType
from typing import Any

import _capture

from guards import sources as s
from guards.assembler import ProgramAssembler
from guards.conditions import ComputedSource, ShapeExpression, float_bits
from guards.namespace import localsplus_names
from guards.values import ObjectRef

SHAPE_FIELDS = ("size", "stride", "storage_offset")  # by number in LOAD_SHAPE

# The instruction that loads a source from the register of its base, and its operands.
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
    s.TypeAttrSource: ("LOAD_TYPE_ATTR", lambda e, x: [sys.intern(x.name), x.after or 0]),
    s.ModuleAttrSource: ("LOAD_DICT_ITEM", lambda e, x: [sys.intern(x.name)]),  # of the module's dict
    s.DictSource: ("LOAD_DICT", lambda e, x: []),
    s.TypeSource: ("LOAD_TYPE", lambda e, x: []),
    s.MroItemSource: ("LOAD_MRO_ITEM", lambda e, x: [x.index]),
    s.ClassNameSource: ("LOAD_CLASS_NAME", lambda e, x: [s.CLASS_NAMES.index(x.field)]),
    s.FunctionFieldSource: ("LOAD_FUNCTION_FIELD", lambda e, x: [s.FUNCTION_FIELDS.index(x.field)]),
    s.CellContentsSource: ("LOAD_CELL", lambda e, x: []),
    s.MethodFieldSource: ("LOAD_METHOD_FIELD", lambda e, x: [0 if x.field == "__self__" else 1]),
    s.BuiltinSelfSource: ("LOAD_BUILTIN_SELF", lambda e, x: [x.descriptor]),
    s.ItemSource: ("LOAD_ITEM", lambda e, x: [x.index]),
    s.DequeItemSource: ("LOAD_DEQUE_ITEM", lambda e, x: [x.index]),
    s.DictItemSource: ("LOAD_DICT_ITEM", lambda e, x: [x.key]),
    s.DictKeySource: ("LOAD_DICT_KEY", lambda e, x: [x.position]),
    s.DictValueSource: ("LOAD_DICT_VALUE", lambda e, x: [x.position]),
    s.IteratorPartSource: ("LOAD_ITERATOR_PART", lambda e, x: [x.index]),
    s.GradSource: ("LOAD_GRAD", lambda e, x: []),
    s.ShapeSource: ("LOAD_SHAPE", lambda e, x: [SHAPE_FIELDS.index(x.what), x.dim]),
    s.LengthSource: ("LOAD_LENGTH", lambda e, x: []),
    s.FloatSource: ("LOAD_FLOAT", lambda e, x: []),
    s.NumpyIntSource: ("LOAD_NUMPY_INT", lambda e, x: [ObjectRef(x.number_type)]),
    s.WeakrefSource: ("LOAD_WEAKREF", lambda e, x: []),
    ComputedSource: ("LOAD_COMPUTED", lambda e, x: e.postfix(x.expression)),
}


class Encoder:
    """The registers by source, and the program so far. `guard` is the guard that fails when an instruction
    does.
    """

    def __init__(self, code: CodeType) -> None:
        self.code: CodeType = code
        self.guard = 0
        self.assembler = ProgramAssembler()
        self.places = 0  # of the widest guard between places
        self.registers = 0
        self.ints = 0
        self._register_of: dict[s.Source, int] = {}
        self._int_register_of: dict[s.Source, int] = {}
        self._names = {name: index for index, name in enumerate(localsplus_names(code))}

    def emit(self, name: str, *, a: int = 0, b: int = 0, operands: Sequence[Any] = ()) -> None:
        """Append an instruction (see `ProgramAssembler.emit`)."""
        self.assembler.emit(name, a=a, b=b, operands=operands, guard=self.guard)

    def load(self, name: str, base: int, operands: Sequence[Any] = ()) -> int:
        """A new register, loaded by this instruction from the register `base`."""
        target = self.registers
        self.registers += 1
        self.emit(name, a=target, b=base, operands=operands)
        return target

    def local_index(self, name: str) -> int:
        """The position among the frame's fast locals. Raises KeyError for a name that the code lacks."""
        return self._names[name]

    def register_of(self, source: s.Source) -> int:
        """The register with the value of `source`. It is loaded now if it was not yet."""
        if source not in self._register_of:
            if source.is_int:
                raise TypeError(f"{source.text} is an integer, not an object: guard it with a ShapeGuard")
            base = self.register_of(source.base) if source.base is not None else 0
            if isinstance(source, s.ModuleAttrSource):
                base = self.load("LOAD_MODULE_DICT", base)
            name, operands = LOADS[type(source)]
            self._register_of[source] = self.load(name, base, operands(self, source))
        return self._register_of[source]

    def registers_of(self, sources: Iterable[s.Source]) -> list[int]:
        """The registers of places that one instruction compares with each other."""
        registers = list(map(self.register_of, sources))
        self.places = max(self.places, len(registers))
        return registers

    def int_register_of(self, source: s.Source) -> int:
        """The integer register with the value of a size, a stride, an int object or a float object."""
        if source not in self._int_register_of:
            target = self.ints
            self.ints += 1
            name, operands = LOADS[type(source)] if source.is_int else ("LOAD_INT", lambda e, x: [])
            base = source.base if source.is_int else source
            register = 0 if base is None else self.register_of(base)
            self.emit(name, a=target, b=register, operands=operands(self, source))
            self._int_register_of[source] = target
        return self._int_register_of[source]

    def postfix(self, expression: ShapeExpression) -> list[int]:
        """The code of an expression as operands. Its numbers are loaded now if they were not yet."""
        registers = [self.int_register_of(source) for source in expression.sources]
        operands: list[int] = []
        for name, *argument in expression.code:
            word: Any = argument[0] if argument else 0
            word = registers[word] if name == "load" else float_bits(word) if type(word) is float else word
            operands += [_operator_numbers()[name], word]
        return operands

    def store(self, source: s.Source, slot: int) -> None:
        """Put the value of `source` into a slot of the graph's inputs."""
        if source.is_int:
            self.emit("STORE_INT_SLOT", b=self.int_register_of(source), operands=[slot])
        else:
            self.emit("STORE_SLOT", b=self.register_of(source), operands=[slot])


@cache
def _operator_numbers() -> dict[str, int]:
    """The number of each operator in a guard program, as the extension tells it."""
    return {name.lower(): number for number, (name, _) in enumerate(_capture.shape_operators)}
