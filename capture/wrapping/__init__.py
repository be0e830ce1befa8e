"""How existing values become variables: the wrappers of `capture.wrap`'s table, one file a family."""

from __future__ import annotations

from capture.wrapping import callables, containers, iterators, objects

FAMILIES = (callables, containers, iterators, objects)
