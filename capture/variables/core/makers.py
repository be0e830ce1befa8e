"""Makers: code of one family makes variables of another family by tables that the families fill.

In:  a kind of value with the parts of its variable, or a plain value.
Out: a new variable.

    make(tuple, [x, y])   ->   TupleVariable([x, y])
    constant((1, "a"))    ->   TupleVariable([ConstantVariable(1), ConstantVariable("a")])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from capture.report.break_reasons import GraphBreak
from capture.variables.core import contents
from codegen.kernel.families import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.base import Variable

Maker = TypeVar("Maker", bound="Callable[..., Any]")

MAKERS: Table[Callable[..., Any]] = Table(contents, "MAKERS")
#: makers for values of exactly this type
CONSTANTS: Table[Callable[[Any], Variable]] = Table(contents, "CONSTANTS")
#: makers for values of this type and of its subclasses
CONSTANT_BASES: Table[Callable[[Any], Variable]] = Table(contents, "CONSTANT_BASES")


def makes(kind: Any) -> Callable[[Maker], Maker]:
    """Register the class or function that makes variables of `kind`."""

    def register(maker: Maker) -> Maker:
        MAKERS[kind] = maker
        return maker

    return register


def make(kind: Any, *parts: Any, **named: Any) -> Variable:
    variable: Variable = MAKERS[kind](*parts, **named)
    return variable


def makes_constant(*types_: type, subclasses: bool = False) -> Callable[[Maker], Maker]:
    """Register the maker for plain values of these types."""

    def register(maker: Maker) -> Maker:
        table = CONSTANT_BASES if subclasses else CONSTANTS
        for kind in types_:
            table[kind] = maker
        return maker

    return register


def constant(value: Any) -> Variable:
    """The variable of a value that was computed at translation time, from constants and symbolic sizes."""
    maker = CONSTANTS.get(type(value))
    if maker is None:
        maker = next((CONSTANT_BASES[base] for base in type(value).__mro__ if base in CONSTANT_BASES), None)
    if maker is None:
        raise GraphBreak("unknown_type", value=f"{type(value).__name__} object")
    return maker(value)
