"""Methods, used as values, of built-in objects that the frame makes."""

from __future__ import annotations

import types

from tests.capture.cases.registry import case


@case(1, 1)
def methods_of_new_objects(x):
    entries, options = [], {}
    add, default = entries.append, options.setdefault
    add(1)
    default("a", 2)
    return x + len(entries), entries, options, [f(1) for f in (entries.count, entries.index)]


@case(1, 1)
def types_of_bound_methods(x):
    items = [1]
    bound = (items.append, items.__add__, items.__getitem__, x.add, x.norm, x.__len__, {}.fromkeys)
    names = [f.__qualname__ for f in bound]
    return x + 1, [type(f) for f in bound], names, isinstance(x.add, types.BuiltinMethodType)
