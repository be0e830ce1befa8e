"""NumPy arrays and numbers as values of the graph.

In:  arrays from outside and `tensor.numpy()` (`numpy_inputs`), functions of NumPy that make arrays.
Out: nodes that do on tensors what NumPy does (`numpy_operations`). A value that leaves the graph becomes an
     array again.

    np.sin(x.numpy()).sum()   ->   detach, numpy_sin, numpy_sum   ->   np.float32
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from capture.graph import numpy_functions
from capture.graph.arguments import CONSTRUCTORS
from capture.report.break_reasons import GraphBreak
from capture.variables.callables.value_method import ValueMethod
from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.wrap import wrap_class
from capture.variables.tensors import numpy_operations, numpy_parts, numpy_whole
from guards.kinds.constants import ConstantGuard

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output
    from capture.variables.tensors.tensor import TensorVariable
    from guards.sources import Source

NEEDS_VALUES = frozenset(
    ("item", "tolist", "tobytes", "__bool__", "__int__", "__float__", "__index__", "__complex__")
    + ("__contains__", "__str__", "__repr__", "__format__")
)
#: they give the int that a whole number is
READ_AS_INTS = frozenset(("item", "tolist", "__int__", "__index__"))
#: they give Python's numbers, which are those that the method of a tensor gives
READ_AS_BY_TENSORS = frozenset(("item", "tolist"))
CONSTANT_ATTRIBUTES = ("shape", "ndim", "size", "itemsize", "nbytes", "strides")


class NumpyVariable(Variable):
    """An array or number.

    `tensor` shares the array's memory in the graph. `example` is NumPy's own result of the same operations on
    stand-ins.
    """

    mutable = True
    of_numpy = True

    def __init__(self, tensor: TensorVariable, example: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.tensor = tensor
        self.example = example
        self.value: Any = None  # the existing array, if there is one
        #: For a number computed from arguments that are numbers: its present value, and those arguments.
        self.present: np.generic | None = None
        self.origins: dict[Source, np.generic] = {}
        #: What `as_int` computes it from, if that is known.
        self.computed: tuple[Interpreter, str, list[Variable]] | None = None
        self.output: Output | None = None

    def python_type(self) -> type:
        return type(self.example)

    def real_value(self) -> Any:
        if self.value is None:
            raise NotConstant(self)
        return self.value

    def describe(self) -> str:
        what = "array" if isinstance(self.example, np.ndarray) else "NumPy number"
        return f"{what} {self.source.text if self.source else self.tensor.node.name}"

    def as_constant(self) -> Any:
        """The present value of the number.

        Guards fix the arguments from which it was computed.
        """
        if self.present is None or self.output is None:
            raise NotConstant(self)
        for source, value in self.origins.items():
            self.output.guards.add(ConstantGuard.of(source, value))
        return self.present

    def as_int(self) -> Variable | None:
        return numpy_whole.as_int(self)

    def is_unknown_number(self) -> bool:
        return self.present is None and self.example.shape == ()

    def is_constant(self) -> bool:
        return False  # until someone asks for the value

    def as_proxy(self) -> Any:
        """The plain number, if torch takes its type for Python's.

        Others keep their dtype (np.float32), or are floats to some functions and flags to others (np.bool_).
        """
        if type(self.present) is not np.int64:
            raise GraphBreak("not_a_graph_argument", value=self)
        number = self.as_int()
        return self.as_constant().item() if number is None else number.as_proxy()

    def as_proxy_for(self, target: Any) -> Any:
        """`np.float64` is a float for all functions but those that give a tensor its dtype."""
        if type(self.present) is np.float64 and target not in CONSTRUCTORS:
            return self.as_constant().item()
        return self.as_proxy()

    def truth(self, tx: Interpreter) -> bool:
        if self.present is None:
            raise GraphBreak("data_dependent_value", what=f"bool() of {self.describe()}")
        return bool(self.as_constant())

    def length(self, tx: Interpreter) -> int:
        if not self.example.shape:
            raise GraphBreak("builtin", name="len", value=self)
        size: int = self.example.shape[0]
        return size

    def unpack(self, tx: Interpreter) -> list[Variable]:
        return [self.get_item(tx, ConstantVariable(i)) for i in range(self.length(tx))]

    def get_item(self, tx: Interpreter, key: Variable) -> Variable:
        part, key = numpy_parts.part(tx, self, key)
        if numpy_parts.is_whole(key):
            return numpy_parts.read(tx, self, part)
        return numpy_operations.operation(tx, "operator", "getitem", [part, key], {})

    def part_of(self, tx: Interpreter, view: Variable, example: Any) -> Variable:
        """A node on the array that is a part of it, as NumPy's own `[]` has made it: `example`."""
        return numpy_operations.as_arrays(tx, "getitem", view, example, [self])

    def _set_item(self, tx: Interpreter, key: Variable, value: Variable) -> Variable:
        part, key = numpy_parts.part(tx, self, key)
        return numpy_operations.operation(tx, "operator", "setitem", [part, key, value], {})

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name in CONSTANT_ATTRIBUTES:
            return tx.wrap_constant(getattr(self.example, name))
        if name == "dtype":
            return ConstantVariable(self.example.dtype)
        if name == "__class__":
            return wrap_class(tx.output, self.python_type())
        if name in numpy_functions.ARRAY_ATTRIBUTES:
            return numpy_operations.operation(tx, "attribute", name, [self], {})
        if callable(getattr(self.example, name, None)):
            return ValueMethod(self, name)
        raise GraphBreak("get_attr", value=self, name=name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name in READ_AS_INTS and not args and not kwargs:
            number = self.as_int()
            if number is not None:
                return number
        if name in NEEDS_VALUES and self.present is not None:
            return ConstantVariable(self.as_constant()).call_method(tx, name, args, kwargs)
        if name in READ_AS_BY_TENSORS:
            return self.tensor.call_method(tx, name, args, kwargs)
        if name in NEEDS_VALUES:
            raise GraphBreak("data_dependent_value", what=f"{name} of {self.describe()}")
        if name == "__len__":
            return ConstantVariable(self.length(tx))
        if name == "__iter__":
            return self.iterate(tx)
        if name == "__setitem__":
            return self._set_item(tx, *args)
        if name == "__getitem__":
            return self.get_item(tx, *args)
        if name not in numpy_functions.METHODS:
            raise GraphBreak("method", name=name, value=self)
        return numpy_operations.operation(tx, "method", name, [self, *args], kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        make: Any = numpy_functions.scalar_of
        if isinstance(self.example, np.ndarray):
            is_writeable = self.example.flags.writeable
            make = numpy_functions.array_of if is_writeable else numpy_functions.read_only_array_of
        code.call_object(make, [self.tensor])
