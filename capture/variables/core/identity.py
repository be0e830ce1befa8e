"""`id(x)`: a number whose value is usually not needed, because most programs only tell objects apart by it.

In:  the variable of `x`.
Out: a variable that equals another `id` of the same object.

    seen = {id(x): y}; seen.get(id(x))    ->   the hash key is the variable of x

Bytecode calls `id` if the number leaves the frame. The value of the number matters if the program looks it
up among numbers that existed before the frame. Then `as_key` gives it, with an identity guard on the object;
`as_constant` does for all other uses, which hold in this process alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.granted import granted

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter


class IdentityVariable(Variable):
    """`id(owner)`. The owner lives at least as long as this variable, so no other object gets its number."""

    identity_known = False

    def __init__(self, tx: Interpreter, owner: Variable) -> None:
        super().__init__(None)
        self.tx = tx
        self.owner = owner

    def as_constant(self) -> int:
        """The number, if the object existed before the frame. Raises NotConstant."""
        number = self.as_key()
        if number is None:
            raise NotConstant(self)
        granted().only_here("an address")
        return number

    def as_key(self) -> int | None:
        """The number, for nothing but to be looked up; None if the object did not exist before the frame."""
        real = self.tx.output.objects.object_of(self.owner)
        if real is None:
            return None
        self.tx.output.guarding.identity(self.owner, real)
        granted().addresses[id(real)] = real
        return id(real)

    def python_type(self) -> type:
        return int

    def describe(self) -> str:
        return f"id of {self.owner.describe()}"

    def truth(self, tx: Interpreter) -> bool:
        return True

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(id, [self.owner])

    def children(self) -> list[Variable]:
        return [self.owner]


def looked_up(tx: Interpreter, number: int) -> Variable | None:
    """The object of this `id`, if the frame has looked that up among numbers."""
    real = granted().addresses.get(number)
    return None if real is None else tx.output.objects.known(real)
