"""`x.grad_fn` where it is a node of autograd's graph.

In:  a tensor that an operation made, and that requires gradients.
Out: a variable that answers whether there is a node. What else only eager's node knows: the graph ends before
     the program reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from capture.variables.core.base import Variable

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter
    from capture.variables.tensors.tensor import TensorVariable


class GradientNodeVariable(Variable):
    never_none = True
    identity_known = False

    def __init__(self, tx: Interpreter, owner: TensorVariable) -> None:
        super().__init__()
        self.owner = owner
        self.born = tx.output.root_step

    def describe(self) -> str:
        return f"grad_fn of {self.owner.describe()}"

    def truth(self, tx: Interpreter) -> bool:
        return True

    def python_type(self) -> type:
        self._leave_to_eager()

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        self._leave_to_eager()

    def reconstruct(self, code: PythonCode) -> None:
        self._leave_to_eager()

    def _leave_to_eager(self) -> NoReturn:
        signal = self.owner.unknown("get_attr", "grad_fn")
        signal.born = self.born
        raise signal
