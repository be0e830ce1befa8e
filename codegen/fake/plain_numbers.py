"""torch's questions about symbols, answered for plain numbers without an import of the module for symbols.

In:  a block in which torch's rules run on sizes that are ints.
Out: in the block, `from torch.fx.experimental.symbolic_shapes import guard_or_false` finds a stand-in, unless
     that module has been imported already. torch's functions have such imports in their bodies. The module
     would import sympy: 0.4 s at the first convolution, attention or assignment to a slice of a process.

    with PLAIN_NUMBERS: torch._check(True)      ->      expect_true(True) is True

For any other attribute, the stand-in imports the module itself. From then on there is no stand-in.
"""

from __future__ import annotations

import functools
import importlib
import operator
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

PACKAGE, LAST = "torch.fx.experimental", "symbolic_shapes"
NAME = f"{PACKAGE}.{LAST}"
#: attributes that are read of every module: by `from ... import` (is it a package?), `inspect`, `unittest`
LACKING = frozenset(["__path__", "__file__", "__warningregistry__"])


class StandIn(types.ModuleType):
    """Stands in the place of the module while that is not imported."""

    def __getattr__(self, name: str) -> Any:
        if name in LACKING:
            raise AttributeError(name)
        return ANSWERS[name] if name in ANSWERS else getattr(real(), name)


def real() -> Any:
    """The module itself."""
    with _lock:
        take_out()
    return importlib.import_module(NAME)


# --- answers for plain numbers ----------------------------------------------------------------------------


def itself(name: str, kinds: tuple[type, ...] = (bool,)) -> Callable[..., Any]:
    """A function that returns its argument where that is no symbol."""

    def ask(value: Any, *rest: Any, **keywords: Any) -> Any:
        return value if type(value) in kinds else getattr(real(), name)(value, *rest, **keywords)

    return ask


def all_of(first: Any, *others: Any) -> Any:
    return functools.reduce(operator.and_, others, first)


def any_of(first: Any, *others: Any) -> Any:
    return functools.reduce(operator.or_, others, first)


def equal(left: Any, right: Any) -> Any:
    if type(left) is int and type(right) is int:
        return left == right
    if isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)):
        return len(left) == len(right) and functools.reduce(operator.and_, map(equal, left, right), True)
    return real().sym_eq(left, right)


def is_nested_int(value: Any) -> Any:
    return type(value) not in (int, float, bool) and real().is_nested_int(value)


def has_guarding_hint(value: Any) -> Any:
    return type(value) in (int, float, bool) or real().has_guarding_hint(value)


CONDITIONS = (
    "expect_true",
    "guard_or_false",
    "guard_or_true",
    "guard_size_oblivious",
    "statically_known_true",
)
ANSWERS = {name: itself(name) for name in CONDITIONS} | {
    "sym_and": all_of,
    "sym_or": any_of,
    "sym_eq": equal,
    "is_nested_int": is_nested_int,
    "has_guarding_hint": has_guarding_hint,
    "guarding_hint_or_throw": itself("guarding_hint_or_throw", (bool, int)),
}
STAND_IN = StandIn(NAME)


# --- the block --------------------------------------------------------------------------------------------

_lock = threading.RLock()
_inside = 0  # number of blocks that run now, of all threads


def put_in() -> None:
    """Enters the stand-in as an import would: under its name, and as an attribute of its package.

    Another thread may import the module at the same time, in any form.
    """
    if sys.modules.setdefault(NAME, STAND_IN) is STAND_IN:
        setattr(sys.modules.get(PACKAGE) or importlib.import_module(PACKAGE), LAST, STAND_IN)


def take_out() -> None:
    if sys.modules.get(NAME) is STAND_IN:
        del sys.modules[NAME]
        delattr(sys.modules[PACKAGE], LAST)


class PlainNumbers:
    """A block with the stand-in; such blocks may nest."""

    def __enter__(self) -> None:
        global _inside
        with _lock:
            _inside += 1
            if _inside == 1:
                put_in()

    def __exit__(self, *exception: object) -> None:
        global _inside
        with _lock:
            _inside -= 1
            if not _inside:
                take_out()


PLAIN_NUMBERS = PlainNumbers()
