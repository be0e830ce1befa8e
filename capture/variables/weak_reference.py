"""Weak references: calling one gives its object, or None."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from capture.break_reasons import GraphBreak
from capture.variables.base import Variable
from guards.source import WeakrefSource

if TYPE_CHECKING:
    from capture.translator import Translator
    from guards.source import Source


class WeakReferenceVariable(Variable):
    mutable = True  # compared by identity

    def __init__(self, reference: weakref.ref[Any], source: Source) -> None:
        super().__init__(source)
        self.reference = reference

    def python_type(self) -> type:
        return weakref.ref

    def real_value(self) -> Any:
        return self.reference

    def truth(self, tx: Translator) -> bool:
        return True

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        target = self.reference()
        if args or kwargs or target is None:  # that it is dead is nothing that a guard can check
            raise GraphBreak("call", value=self)
        if isinstance(target, dict):  # maybe the hooks that a handle belongs to
            tx.output.side_effects.check_hooks_known()
        assert self.source is not None
        return tx.wrap(target, WeakrefSource(self.source))
