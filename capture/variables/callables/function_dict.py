"""`f.__dict__` of a function that the frame makes.

In:  the variable of the function.
Out: its attributes as a dict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.variables.containers.mapping import DictVariable
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.callables.function import NestedFunctionVariable
    from capture.variables.core.protocols import Interpreter

#: Attributes that functions keep outside of their dict.
FIELDS = frozenset(
    ["__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__type_params__"]
)


class FunctionDictVariable(DictVariable):
    """Each use makes `entries` anew."""

    hashes_items = False

    def __init__(self, owner: NestedFunctionVariable) -> None:
        self.owner = owner
        super().__init__(None, None, cls=dict)

    @property
    def entries(self) -> dict[Any, tuple[Variable, Variable]]:
        held = self.owner.attributes.items()
        return {name: (ConstantVariable(name), value) for name, value in held if name not in FIELDS}

    @entries.setter
    def entries(self, value: Any) -> None:
        """Keeps nothing. The base class sets it once."""

    def keys_version(self) -> Any:
        return list(self.entries)

    def values_version(self) -> Any:
        """A new object for each call, because nothing counts the stores: each use reads them anew."""
        return object()

    def set_item(self, tx: Interpreter, key: Variable, value: Variable) -> None:
        self.owner.attributes[key.as_constant()] = value

    def del_item(self, tx: Interpreter, key: Variable) -> Variable:
        value = self.get_item(tx, key)
        del self.owner.attributes[key.as_constant()]
        return value

    def clear(self, tx: Interpreter) -> None:
        for name in self.entries:
            del self.owner.attributes[name]

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.owner)
        code.load_attribute("__dict__")

    def children(self) -> list[Variable]:
        return [self.owner]
