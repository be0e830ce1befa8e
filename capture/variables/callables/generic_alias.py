"""`list[int]`, `Optional[int]`, `MyGeneric[int]`: subscripted classes, as the module `typing` uses them.

In:  a class and the key of a subscript, or an existing alias.
Out: a variable of the alias. A call of it calls the class.
"""

from __future__ import annotations

import types
import typing
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.makers import makes
from capture.variables.objects.user_object import ObjectVariable
from guards.sources import ConstantSource

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter

KINDS: tuple[type, ...] = (types.GenericAlias, type(typing.List[int]))  # noqa: UP006


class GenericAliasVariable(Variable):
    """`alias` exists and does not change."""

    mutable = True

    def __init__(self, alias: Any) -> None:
        super().__init__(None)
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
        if name in ("__origin__", "__args__", "__parameters__"):
            value = getattr(self.alias, name)
            return tx.wrap(value, ConstantSource(value))
        return self.origin(tx).get_attr(tx, name)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        result = self.origin(tx).call(tx, args, kwargs)
        if isinstance(result, ObjectVariable) and result.cls.__dictoffset__:
            result.set_attr(tx, "__orig_class__", self)
        return result

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.alias)


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
