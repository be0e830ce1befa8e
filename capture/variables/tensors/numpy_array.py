"""NumPy arrays and numbers as values of the graph.

In:  arrays from outside, `tensor.numpy()`, functions of NumPy that make arrays.
Out: nodes that do on tensors what NumPy does (`capture.graph.numpy_functions`). A value that leaves the graph
     becomes an array again.

    np.sin(x.numpy()).sum()   ->   detach, numpy_sin, numpy_sum   ->   np.float32

Translation runs each operation twice: on fake tensors, and by NumPy itself on a stand-in of the same dtype
and layout. The second run says whether the result is an array or a number, which dtype it has, and with what
it shares its memory. The graph breaks where the two runs differ.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from capture.graph import numpy_functions
from capture.graph.arguments import CONSTRUCTORS
from capture.graph.converted_inputs import read_only_array_as_tensor
from capture.report.break_reasons import GraphBreak
from capture.report.retry import SizesAsNumbers
from capture.variables.callables.value_method import ValueMethod
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.sequence import SequenceVariable, TupleVariable
from capture.variables.core.base import NotConstant, Variable, realize
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.wrap import wrap_class
from capture.variables.numbers.symbolic import NumpySymbol, SymbolicVariable
from capture.variables.tensors.tensor import TENSOR_METHODS, TensorVariable
from capture.variables.tensors.tensor_data import read_data
from guards.kinds.constants import ConstantGuard
from guards.sources import ConstantSource
from guards.values import NUMPY_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source

NEEDS_VALUES = frozenset(
    ("item", "tolist", "tobytes", "__bool__", "__int__", "__float__", "__index__", "__complex__")
    + ("__contains__", "__str__", "__repr__", "__format__")
)
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

    def is_unknown_number(self) -> bool:
        return self.present is None and self.example.shape == ()

    def is_constant(self) -> bool:
        return False  # until someone asks for the value

    def as_proxy(self) -> Any:
        """The plain number, if torch takes its type for Python's. (np.float32 is not: it keeps its dtype.)"""
        if type(self.present) not in (np.int64, np.bool_):
            raise GraphBreak("not_a_graph_argument", value=self)
        return self.as_constant().item()

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
        key = realize(key)
        if isinstance(key, SymbolicVariable) and _is_place(self, key):
            return _row(tx, self, key)
        return operation(tx, "operator", "getitem", [self, key], {})

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name in CONSTANT_ATTRIBUTES:
            return tx.wrap_constant(getattr(self.example, name))
        if name == "dtype":
            return ConstantVariable(self.example.dtype)
        if name == "__class__":
            return wrap_class(tx.output, self.python_type())
        if name in numpy_functions.ARRAY_ATTRIBUTES:
            return operation(tx, "attribute", name, [self], {})
        if callable(getattr(self.example, name, None)):
            return ValueMethod(self, name)
        raise GraphBreak("get_attr", value=self, name=name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
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
            return operation(tx, "operator", "setitem", [self, *args], {})
        if name == "__getitem__":
            return self.get_item(tx, *args)
        if name not in numpy_functions.METHODS:
            raise GraphBreak("method", name=name, value=self)
        return operation(tx, "method", name, [self, *args], kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        make: Any = numpy_functions.scalar_of
        if isinstance(self.example, np.ndarray):
            is_writeable = self.example.flags.writeable
            make = numpy_functions.array_of if is_writeable else numpy_functions.read_only_array_of
        code.call_object(make, [self.tensor])


# --- operations -------------------------------------------------------------------------------------------


def is_among(values: Any) -> bool:
    """Whether one of the values, or an item of a list or tuple among them, is an array."""
    return any(
        isinstance(v, NumpyVariable) or (isinstance(v, SequenceVariable) and is_among(v.items))
        for v in values
    )


def array_of_arrays(tx: Interpreter, rows: SequenceVariable) -> Variable:
    """`np.array([a, [b, 1.0], ...])`: stacked from the innermost lists on. NumPy's own run on the stand-ins
    says whether this gives the same dtype and shape.
    """
    items: list[Variable] = [
        array_of_arrays(tx, row) if isinstance(row, SequenceVariable) else row
        for row in map(tx.output.objects.resolve, rows.items)
    ]
    made = operation(tx, "function", "stack", [TupleVariable(items)], {})
    wanted = np.array(_example_of(rows))
    if not isinstance(made, NumpyVariable) or (made.example.dtype, made.example.shape) != (
        wanted.dtype,
        wanted.shape,
    ):
        raise _differs("array")
    return made


def operation(
    tx: Interpreter, kind: str, name: str, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """One node."""
    if name in ON_NUMBERS and isinstance(args[0], NumpyVariable) and _is_number(args[0]):
        name = ON_NUMBERS[name]
    args = [_as_array(value) if isinstance(value, NumpySymbol) else value for value in args]
    args = with_floats(tx, name, args)
    operands = [v for v in _flat([*args, *kwargs.values()]) if isinstance(v, NumpyVariable)]
    if any(v.example.dtype == np.float16 for v in operands):
        raise GraphBreak("numpy_differs", name=name, what="rounding of half precision")
    _check_complex(name, args, operands)
    if name == "dot" and not all(isinstance(a, NumpyVariable) and a.example.ndim for a in args):
        raise _differs(name)
    example = _run_numpy(tx, kind, name, args, kwargs)
    result = tx.output.call_function(
        tx,
        numpy_functions.graph_function(kind, name),
        [_in_graph(tx, a) for a in args],
        {k: _in_graph(tx, v) for k, v in kwargs.items()},
    )
    made = _as_arrays(tx, name, result, example, operands)
    if isinstance(example, np.generic) and isinstance(made, NumpyVariable):
        _note_present(tx, made, _present(tx, kind, name, args, kwargs), operands)
    return made


#: operators in place: what they do to a number, which does not change
ON_NUMBERS = {
    f"i{name.removesuffix('_')}": name
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
    + ("and_", "or_", "xor", "lshift", "rshift")
}


def _is_number(value: NumpyVariable) -> bool:
    return isinstance(value.example, np.generic)


def _is_place(array: NumpyVariable, index: SymbolicVariable) -> bool:
    """Whether an index that changes from call to call is that of a row now."""
    if index.python_type() is not int or index.is_unbacked or not array.example.shape:
        return False
    size = array.example.shape[0]
    return bool(-size <= index.value.node.hint < size)


def _row(tx: Interpreter, array: NumpyVariable, index: SymbolicVariable) -> Variable:
    """`array[index]`, a view. (`[]` would fix the index.)"""
    result = tx.output.call_method(tx, "select", [array.tensor, ConstantVariable(0), index], {})
    return _as_arrays(tx, "getitem", result, array.example[index.value.node.hint], [array])


def _check_complex(name: str, args: Sequence[Variable], operands: Sequence[NumpyVariable]) -> None:
    """Breaks where torch gives complex numbers other parts that are no numbers: `0j ** 0.0`, `1j + inf`."""
    kinds = [v.example.dtype for v in operands if v.example.dtype.kind == "c"]
    if not kinds:
        return
    known = [v.as_constant() for v in args if isinstance(v, (ConstantVariable, SymbolicVariable))]
    floats = [value for value in known if isinstance(value, float)]
    with np.errstate(over="ignore"):
        if "pow" in name or not all(np.isfinite(kind.type(value)) for value in floats for kind in kinds):
            raise _differs(name)


def _as_array(number: NumpySymbol) -> Variable:
    """A number that changes from call to call, beside an array."""
    if number.python_type() is not np.float64:
        return number
    node = number.symbols.tensor_of(number.as_node())
    tensor = TensorVariable(node, node.meta["example_value"])
    return NumpyVariable(tensor, np.float64(number.value.node.hint))


#: operations of two numbers that take a Python float for a number of the array's precision
TAKE_FLOATS = frozenset(
    [f"{prefix}{name}" for name in ("add", "sub", "mul", "truediv") for prefix in ("", "i")]
    + ["lt", "le", "gt", "ge", "eq", "ne"]
    + ["subtract", "multiply", "divide", "true_divide"]
)


def with_floats(tx: Interpreter, name: str, operands: list[Variable]) -> list[Variable]:
    """The operands, with a Python float that changes from call to call as the number that NumPy makes of it.

    Beside complex numbers, where infinite ones have parts that are no numbers, it stays a constant.
    """
    operands = [realize(value) for value in operands]
    if name not in TAKE_FLOATS or len(operands) != 2:
        return operands
    arrays = [value for value in operands if isinstance(value, NumpyVariable)]
    numbers = [value for value in operands if isinstance(value, SymbolicVariable)]
    if len(arrays) != 1 or len(numbers) != 1:
        return operands
    (number,) = numbers
    kind = arrays[0].example.dtype
    if number.python_type() is not float or number.is_unbacked or kind.kind == "c":
        return operands
    node = number.symbols.tensor_of(number.as_node())
    tensor: Variable = TensorVariable(node, node.meta["example_value"])
    example: np.generic = np.float64(number.value.node.hint)
    if kind == np.float32:
        tensor = tx.output.call_method(tx, "to", [tensor, ConstantVariable(torch.float32)], {})
        with np.errstate(over="ignore"):
            example = np.float32(example)
    assert isinstance(tensor, TensorVariable)
    made = NumpyVariable(tensor, example)
    return [made if value is number else value for value in operands]


def _present(tx: Interpreter, kind: str, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Any:
    """NumPy's result for the present values of the numbers.

    None if an argument is an array, or if NumPy raises.
    """
    if any(isinstance(v, SequenceVariable) for v in (*args, *kwargs.values())):
        return None
    values = [v.present if isinstance(v, NumpyVariable) else _example_of(v) for v in args]
    keywords = {k: v.present if isinstance(v, NumpyVariable) else _example_of(v) for k, v in kwargs.items()}
    numbers = (v for v in (*args, *kwargs.values()) if isinstance(v, NumpyVariable))
    if any(number.present is None for number in numbers):
        return None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return numpy_functions.numpy_callable(kind, name)(*values, **keywords)
        except (ArithmeticError, TypeError, ValueError):
            return None


def _note_present(
    tx: Interpreter, made: NumpyVariable, present: Any, operands: Sequence[NumpyVariable]
) -> None:
    if type(present) in NUMPY_NUMBERS:
        made.present, made.output = present, tx.output
        made.origins = {s: v for operand in operands for s, v in operand.origins.items()}


def _flat(values: Any) -> list[Variable]:
    flat: list[Variable] = []
    for value in values:
        flat += _flat(value.items) if isinstance(value, SequenceVariable) else [value]
    return flat


def _in_graph(tx: Interpreter, value: Variable) -> Variable:
    """The argument in the form that the node takes."""
    value = tx.output.objects.resolve(value)
    if isinstance(value, NumpyVariable):
        return value.tensor
    if isinstance(value, SequenceVariable):
        items = [_in_graph(tx, v) for v in value.items]
        return TupleVariable(items) if isinstance(value, TupleVariable) else ListVariable(items)
    if isinstance(value, TensorVariable):
        raise GraphBreak("not_a_graph_argument", value=value)
    constant = _constant(value)
    if isinstance(constant, (type, np.dtype)):
        return ConstantVariable(np.dtype(constant).name)
    if isinstance(constant, np.generic):
        return ConstantVariable(constant.item())
    return value


def _constant(value: Variable) -> Any:
    """The value of a literal or of a class of NumPy numbers. NotImplemented for any other variable."""
    try:
        return value.real_value()
    except NotConstant:
        return NotImplemented


def _example_of(value: Variable) -> Any:
    if isinstance(value, NumpyVariable):
        return value.example
    if isinstance(value, SequenceVariable):
        items = [_example_of(v) for v in value.items]
        return tuple(items) if isinstance(value, TupleVariable) else items
    found = _constant(value)
    if found is not NotImplemented:
        return found
    return value.as_constant()


def _run_numpy(
    tx: Interpreter, kind: str, name: str, args: list[Variable], kwargs: dict[str, Variable]
) -> Any:
    function = numpy_functions.numpy_callable(kind, name)
    try:
        examples = [_example_of(tx.output.objects.resolve(a)) for a in args]
        keywords = {k: _example_of(tx.output.objects.resolve(v)) for k, v in kwargs.items()}
    except NotConstant as error:
        raise GraphBreak("not_a_graph_argument", value=error.args[0]) from None
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error", category=DeprecationWarning)
            warnings.simplefilter("ignore", category=RuntimeWarning)
            return function(*examples, **keywords)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise GraphBreak("torch_op_failed", name=f"numpy's {name}", error=text) from None


def _as_arrays(
    tx: Interpreter, name: str, result: Variable, example: Any, operands: list[NumpyVariable]
) -> Variable:
    if isinstance(example, (tuple, list)) and isinstance(result, SequenceVariable):
        if len(example) != len(result.items):
            raise _differs(name)
        items = [_as_arrays(tx, name, r, e, operands) for r, e in zip(result.items, example)]
        return ListVariable(items) if isinstance(example, list) else TupleVariable(items)
    if not isinstance(result, TensorVariable):
        if example is None and result.is_exactly(None):
            return result
        raise _differs(name)
    for operand in operands:
        if example is operand.example:
            return operand
    if not _is_like(result.fake, example):
        raise _differs(name)
    shared = [_shares(result, example, operand) for operand in operands]
    if any(in_numpy and not in_graph for in_numpy, in_graph in shared):
        raise _differs(name)
    is_new = not any(in_numpy for in_numpy, _ in shared)
    if (any(in_graph for _, in_graph in shared) and is_new) or not _same_strides(result.fake, example):
        if not is_new:
            raise _differs(name)
        result = _laid_out(tx, result, example)
    return NumpyVariable(result, example)


def _is_like(fake: torch.Tensor, example: Any) -> bool:
    """Whether the dtype and shape are the same."""
    if not isinstance(example, (np.ndarray, np.generic)):
        return False
    return str(fake.dtype) == f"torch.{example.dtype}" and tuple(fake.shape) == example.shape


def _same_strides(fake: torch.Tensor, example: Any) -> bool:
    steps = [s * fake.element_size() for s in fake.stride()]
    return example.size == 0 or all(
        size == 1 or left == right for size, left, right in zip(example.shape, steps, example.strides)
    )


def _laid_out(tx: Interpreter, result: TensorVariable, example: Any) -> TensorVariable:
    """A copy in the layout that NumPy gives a new array."""
    strides: list[Variable] = [ConstantVariable(s // example.itemsize) for s in example.strides]
    copied = tx.output.call_function(tx, numpy_functions.with_strides, [result, TupleVariable(strides)], {})
    assert isinstance(copied, TensorVariable)
    return copied


def _shares(result: TensorVariable, example: Any, operand: NumpyVariable) -> tuple[bool, bool]:
    """Whether a result shares memory with an operand: first in NumPy, then in the graph.

    A number of NumPy has memory of its own: `number = array[0]` stays when the program writes to the array.
    """
    storages = [t.fake.untyped_storage()._cdata for t in (result, operand.tensor)]
    in_graph = storages[0] == storages[1] and result.fake.numel() > 0
    if not isinstance(example, np.ndarray) or not isinstance(operand.example, np.ndarray):
        return False, in_graph
    return bool(np.may_share_memory(example, operand.example)) and example.size > 0, in_graph


def _differs(name: str) -> GraphBreak:
    return GraphBreak("numpy_differs", name=name, what="result")


# --- arrays from outside, and conversions from and to tensors ---------------------------------------------


def wrap_array(output: Output, value: np.ndarray[Any, Any], source: Source | None) -> Variable:
    """An existing array as an input of the graph: the tensor that shares its memory."""
    tensor = _shared_tensor(value)
    if tensor is None or source is None:
        return OpaqueVariable(
            value, source, "unknown_type", value=f"ndarray object {source.text if source else ''}"
        )
    example = numpy_functions.stand_in(tensor)
    if not value.flags.writeable:
        example.flags.writeable = False  # NumPy itself refuses to write to it, and to its views
    result = NumpyVariable(output.inputs.add_array(value, tensor, source), example, source)
    result.value = value
    return result


def wrap_number(output: Output, value: np.generic, source: Source | None) -> Variable:
    """An existing number as an input of the graph: a 0-d tensor."""
    if source is None or isinstance(source, ConstantSource):
        return ConstantVariable(value)
    changing = output.symbols.number_variable(value, source)
    if changing is not None:
        return changing
    tensor = output.inputs.add_numpy_number(value, source)
    number = NumpyVariable(tensor, numpy_functions.stand_in(tensor.fake)[()], source)
    if type(value) in NUMPY_NUMBERS:
        number.present, number.origins, number.output = value, {source: value}, output
    return number


def _shared_tensor(value: np.ndarray[Any, Any]) -> torch.Tensor | None:
    """The tensor on the memory of an array. None if a tensor can't share that memory."""
    if not value.flags.aligned or not value.dtype.isnative:
        return None
    try:
        tensor = (torch.from_numpy if value.flags.writeable else read_only_array_as_tensor)(value)
    except (TypeError, ValueError):  # torch lacks the dtype, or the strides are negative
        return None
    return tensor if str(tensor.dtype) == f"torch.{value.dtype}" else None


def from_tensor(tx: Interpreter, tensor: TensorVariable) -> NumpyVariable:
    """`tensor.numpy()`."""
    fake = tensor.fake
    if any(not isinstance(n, int) for n in (*fake.shape, *fake.stride())):
        raise SizesAsNumbers("sizes of an array")
    if torch._C._functorch.peek_interpreter_stack() is not None:
        raise GraphBreak("method", name="numpy", value=tensor)
    plain = fake.device.type == "cpu" and fake.layout == torch.strided and not fake.requires_grad
    if not plain or fake.is_conj() or fake.is_neg():
        raise GraphBreak("method", name="numpy", value=tensor)
    try:
        example = numpy_functions.stand_in(fake)
    except (TypeError, RuntimeError):  # bfloat16; overlapping memory
        raise GraphBreak("method", name="numpy", value=tensor) from None
    return NumpyVariable(read_data(tensor, tx), example)  # torch counts no writes to the array


def to_tensor(tx: Interpreter, array: NumpyVariable) -> Variable:
    """`torch.from_numpy(array)`, which warns of an array that is read-only."""
    if not array.example.flags.writeable:
        raise GraphBreak("unsupported_torch_function", name="from_numpy")
    return read_data(array.tensor, tx)


def _numpy(self: TensorVariable, tx: Interpreter, **kwargs: Variable) -> Variable:
    if kwargs:
        raise GraphBreak("method", name="numpy", value=self)
    return from_tensor(tx, self)


TENSOR_METHODS["numpy"] = _numpy
