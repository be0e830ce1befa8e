"""How existing values become variables: the wrappers of `capture.variables.core.wrap`'s table, one file a
family."""

from __future__ import annotations

from capture.variables.callables import wrap as callables
from capture.variables.containers import wrap as containers
from capture.variables.iterators import wrap as iterators
from capture.variables.objects import wrap as objects

FAMILIES = (callables, containers, iterators, objects)
