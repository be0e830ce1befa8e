"""`list[int]`, `Generic[T]`, `MyGeneric[int]`: what subscripting a class for typing gives; called like the class."""

from __future__ import annotations

import types
import typing
from typing import TYPE_CHECKING, Any

from capture.variables.base import Variable
from capture.variables.user_object import ObjectVariable
from guards.source import ConstantSource

if TYPE_CHECKING:
    from capture.reconstruct import PythonCode
    from capture.translator import Translator

KINDS: tuple[type, ...] = (types.GenericAlias, type(typing.List[int]))  # noqa: UP006


class GenericAliasVariable(Variable):
    """`alias` exists, and does not change."""

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

    def truth(self, tx: Translator) -> bool:
        return True

    def origin(self, tx: Translator) -> Variable:
        return tx.wrap(self.alias.__origin__, ConstantSource(self.alias.__origin__))

    def get_attr(self, tx: Translator, name: str) -> Variable:
        if name in ("__origin__", "__args__", "__parameters__"):
            value = getattr(self.alias, name)
            return tx.wrap(value, ConstantSource(value))
        return self.origin(tx).get_attr(tx, name)

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        result = self.origin(tx).call(tx, args, kwargs)
        if isinstance(result, ObjectVariable) and result.cls.__dictoffset__:
            result.set_attr(tx, "__orig_class__", self)
        return result

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.alias)
