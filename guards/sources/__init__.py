"""Sources: where a value comes from. This module names them all; they are defined by family.

In:  made by the symbolic interpreter for every value that it takes from the frame.
Out: read by guards (what to check), by `guards.program` (how to load it), by failure texts and by whoever
     writes bytecode that reloads it.

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
    definition_of,
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
    "LocalSource",
    "MethodFieldSource",
    "ModuleAttrSource",
    "MroItemSource",
    "ShapeSource",
    "Source",
    "StateSource",
    "ThreadDictSource",
    "TypeAttrSource",
    "TypeSource",
    "WeakrefSource",
    "definition_of",
]
