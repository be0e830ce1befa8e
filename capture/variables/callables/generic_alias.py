"""`list[int]`, `Optional[int]`, `MyGeneric[int]`: subscripted classes, as the module `typing` uses them; and
`int | None`.

In:  a class and the key of a subscript, or an existing alias or union.
Out: a variable of it. A call of an alias calls the class.
"""

from __future__ import annotations

import types
import typing
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import NotConstant, Variable, realize
from capture.variables.core.makers import makes
from capture.variables.core.wrap import guard_type, wrap, wraps
from capture.variables.objects.user_object import ObjectVariable
from guards.sources import AttrSource, ConstantSource

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source

KINDS: tuple[type, ...] = (types.GenericAlias, type(typing.List[int]))  # noqa: UP006


class GenericAliasVariable(Variable):
    """`alias` exists and does not change."""

    mutable = True

    def __init__(self, alias: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.alias = alias

    def python_type(self) -> type:
        return type(self.alias)

    def describe(self) -> str:
        return repr(self.alias)

    def real_value(self) -> Any:
        return self.alias

    def truth(self, tx: Interpreter) -> bool:
        return True

    def origin(self, tx: Interpreter) -> Variable:
        return tx.wrap(self.alias.__origin__, ConstantSource(self.alias.__origin__))

    def get_item(self, tx: Interpreter, key: Variable) -> Variable:
        return subscript(self, self.alias, key)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name in READ and hasattr(self.alias, name):
            value = getattr(self.alias, name)
            return tx.wrap(value, AttrSource(self.source or ConstantSource(self.alias), name))
        if self.is_union:
            return super().get_attr(tx, name)
        return self.origin(tx).get_attr(tx, name)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if self.is_union:
            return super().call(tx, args, kwargs)
        result = self.origin(tx).call(tx, args, kwargs)
        if isinstance(result, ObjectVariable) and result.cls.__dictoffset__:
            result.set_attr(tx, "__orig_class__", self)
        return result

    @property
    def is_union(self) -> bool:
        """It stands for no class."""
        return isinstance(self.alias, types.UnionType)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.alias)


#: what an alias and a union consist of, and what follows from that
PARTS = ("__origin__", "__args__")
READ = (*PARTS, "__parameters__")


@wraps(types.GenericAlias, types.UnionType)
def wrap_existing(output: Output, value: Any, source: Source | None) -> Variable:
    """Guards on what it consists of, and none on its identity: each evaluation makes a new one."""
    guard_type(output, value, source)
    held = source or ConstantSource(value)
    for name in PARTS:
        if hasattr(value, name):
            part = wrap(output, getattr(value, name), AttrSource(held, name))
            for item in part.items if isinstance(part, TupleVariable) else ():
                realize(item)
    return GenericAliasVariable(value, held)


#: Modules whose classes have their own code for subscripts.
MODULES = ("typing", "collections.abc", "_collections_abc")


@makes(types.GenericAlias)
def subscript(variable: Variable, value: Any, key: Variable) -> Variable:
    """`value[key]` for a class or a form of `typing`. It is made now and is the same in every call."""
    try:
        alias = value[_type_arguments(key)]
    except (NotConstant, TypeError):
        raise GraphBreak("operator", name="[]", value=variable) from None
    if not isinstance(alias, KINDS):
        raise GraphBreak("operator", name="[]", value=variable)
    return GenericAliasVariable(alias)


def _type_arguments(key: Variable) -> Any:
    """The real value of the key in the brackets: `[float], float` of `Callable[[float], float]`."""
    if isinstance(key, TupleVariable):
        return tuple(map(_type_arguments, key.items))
    if isinstance(key, ListVariable):
        return list(map(_type_arguments, key.items))
    return key.real_value()
