"""Sources: the places that values come from. This module names them all, from the modules of the families.

In:  the symbolic interpreter makes a source for every value that it takes from the frame.
Out: guards say which sources to check, guard programs load them, failure texts show them, and generated
     bytecode loads them again.

    self.linear.weight   ->   AttrSource(AttrSource(LocalSource("self"), "linear"), "weight")
"""

from __future__ import annotations

from guards.sources.attributes import (
    CLASS_NAMES,
    FUNCTION_FIELDS,
    HEAP_TYPE,
    AttrSource,
    BuiltinSelfSource,
    CellContentsSource,
    ClassNameSource,
    DictSource,
    FunctionFieldSource,
    MethodFieldSource,
    ModuleAttrSource,
    MroItemSource,
    TypeAttrSource,
    TypeSource,
    descriptor_of,
)
from guards.sources.base import DerivedSource, Source
from guards.sources.items import (
    DequeItemSource,
    DictItemSource,
    DictKeySource,
    DictValueSource,
    FloatSource,
    GradSource,
    ItemSource,
    IteratorPartSource,
    LengthSource,
    NumpyIntSource,
    ShapeSource,
    WeakrefSource,
)
from guards.sources.roots import (
    BuiltinSource,
    CellSource,
    ConstantSource,
    FreeCellSource,
    FunctionModeSource,
    FunctionSource,
    GlobalSource,
    GlobalsSource,
    GlobalStateSource,
    LocalSource,
    StateSource,
    ThreadDictSource,
)

__all__ = [
    "CLASS_NAMES",
    "FUNCTION_FIELDS",
    "HEAP_TYPE",
    "AttrSource",
    "BuiltinSelfSource",
    "BuiltinSource",
    "CellContentsSource",
    "CellSource",
    "ClassNameSource",
    "ConstantSource",
    "DequeItemSource",
    "DerivedSource",
    "DictItemSource",
    "DictKeySource",
    "DictSource",
    "DictValueSource",
    "FloatSource",
    "FreeCellSource",
    "FunctionFieldSource",
    "FunctionModeSource",
    "FunctionSource",
    "GlobalSource",
    "GlobalStateSource",
    "GlobalsSource",
    "GradSource",
    "ItemSource",
    "IteratorPartSource",
    "LengthSource",
    "LocalSource",
    "MethodFieldSource",
    "ModuleAttrSource",
    "MroItemSource",
    "NumpyIntSource",
    "ShapeSource",
    "Source",
    "StateSource",
    "ThreadDictSource",
    "TypeAttrSource",
    "TypeSource",
    "WeakrefSource",
    "descriptor_of",
]
