"""`id(x)`: a number that most programs only use to tell objects apart, so that it need not be known.

    seen = {id(x): y}; seen.get(id(x))    ->   the key is known by the variable of x; the number itself is
                                               asked for by bytecode where it leaves the graph

Where the number does matter (it is looked up among numbers that were there before), `as_constant` gives it;
the object is guarded by identity then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.variables.core.base import NotConstant, Variable

if TYPE_CHECKING:
    from capture.interpret.translator import Translator
    from capture.output.python_code import PythonCode


class IdentityVariable(Variable):
    """`owner` lives at least as long as this variable, so the number is never that of another object."""

    identity_known = False

    def __init__(self, tx: Translator, owner: Variable) -> None:
        super().__init__(None)
        self.tx = tx
        self.owner = owner

    def as_constant(self) -> int:
        """The number, where there is one: of an object that existed before the frame."""
        real = self.tx.output.objects.object_of(self.owner)
        if real is None:
            raise NotConstant(self)
        self.tx.output.guarding.identity(self.owner, real)
        return id(real)

    def python_type(self) -> type:
        return int

    def describe(self) -> str:
        return f"id of {self.owner.describe()}"

    def truth(self, tx: Translator) -> bool:
        return True

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(id, [self.owner])

    def children(self) -> list[Variable]:
        return [self.owner]
