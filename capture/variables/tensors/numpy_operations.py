"""Operations on NumPy's arrays and numbers, as nodes of the graph.

In:  an operation by its kind and name, as `capture.graph.numpy_functions` lists them, and its operands.
Out: a node on their tensors, and the array or number that comes of it.

Translation runs each operation twice: on fake tensors, and by NumPy itself on a stand-in of the same dtype
and layout. The second run says whether the result is an array or a number, which dtype it has, and with what
it shares its memory. The graph breaks where the two runs differ (`numpy_agreement`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from capture.graph import numpy_functions
from capture.graph.drop_unread import IS_WHOLE
from capture.process.warning_filters import filtered
from capture.report.break_reasons import GraphBreak
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.sequence import SequenceVariable, TupleVariable
from capture.variables.core.base import NotConstant, Variable, realize
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.numbers.symbolic import NumpySymbol, SymbolicVariable
from capture.variables.tensors import numpy_agreement, numpy_array, numpy_whole
from capture.variables.tensors.tensor import TensorVariable
from guards.values import NUMPY_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from capture.variables.core.protocols import Interpreter
    from capture.variables.tensors.numpy_array import NumpyVariable


def is_among(values: Any) -> bool:
    """Whether one of the values, or an item of a list or tuple among them, is an array."""
    return any(
        isinstance(v, numpy_array.NumpyVariable) or (isinstance(v, SequenceVariable) and is_among(v.items))
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
    if not isinstance(made, numpy_array.NumpyVariable) or (made.example.dtype, made.example.shape) != (
        wanted.dtype,
        wanted.shape,
    ):
        raise numpy_agreement.differs("array")
    return made


def operation(
    tx: Interpreter, kind: str, name: str, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """One node."""
    if name in ON_NUMBERS and isinstance(args[0], numpy_array.NumpyVariable) and _is_number(args[0]):
        name = ON_NUMBERS[name]
    if name == "pow" and _is_square_root(*args):
        kind, name, args = "function", "sqrt", args[:1]
    args = [_as_array(value) if isinstance(value, NumpySymbol) else value for value in args]
    args = with_floats(tx, name, args)
    operands = [v for v in _flat([*args, *kwargs.values()]) if isinstance(v, numpy_array.NumpyVariable)]
    if any(v.example.dtype == np.float16 for v in operands):
        raise GraphBreak("numpy_differs", name=name, what="rounding of half precision")
    _check_complex(name, args, operands)
    _check_powers(name, args)
    _check_order(name, args, operands)
    if name == "dot" and not all(isinstance(a, numpy_array.NumpyVariable) and a.example.ndim for a in args):
        raise numpy_agreement.differs(name)
    example = _run_numpy(tx, kind, name, args, kwargs)
    result = tx.output.call_function(
        tx,
        numpy_functions.graph_function(kind, name),
        [_in_graph(tx, a) for a in args],
        {k: _in_graph(tx, v) for k, v in kwargs.items()},
    )
    made = as_arrays(tx, name, result, example, operands)
    if isinstance(example, np.generic) and isinstance(made, numpy_array.NumpyVariable):
        _note_present(tx, made, _present(tx, kind, name, args, kwargs), operands)
        made.computed = None if kwargs else numpy_whole.computed(tx, kind, name, args)
        if made.computed is not None:
            made.tensor.node.meta[IS_WHOLE] = True
    return made


#: operators in place: what they do to a number, which does not change
ON_NUMBERS = {
    f"i{name.removesuffix('_')}": name
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
    + ("and_", "or_", "xor", "lshift", "rshift")
}


def _is_number(value: NumpyVariable) -> bool:
    return isinstance(value.example, np.generic)


#: What has other parts in torch where a part of a complex number is infinite, no number or becomes so, or a
#: zero of the other sign. torch multiplies what it adds by `alpha`, also by 1 (`0 * inf`).
COMPLEX_ARITHMETIC = frozenset(
    f"{prefix}{name}"
    for name in ("add", "sub", "subtract", "mul", "multiply", "matmul", "pow", "neg", "negative", "square")
    + ("reciprocal", "arccos", "log1p", "nan_to_num", "dot", "vdot", "outer", "kron", "cross", "einsum")
    + ("tensordot", "prod", "cumprod", "diff", "vander", "average", "linalg.matrix_power")
    for prefix in ("", "i")
)


def _is_square_root(base: Variable, exponent: Variable, *_: Variable) -> bool:
    """Whether NumPy takes the square root in place of the power, in the precision of the array."""
    if not isinstance(exponent, ConstantVariable) or not isinstance(base, numpy_array.NumpyVariable):
        return False
    is_half = type(exponent.value) is float and exponent.value == 0.5
    return is_half and _holds_floats(base) and not _is_number(base)


def _check_complex(name: str, args: Sequence[Variable], operands: Sequence[NumpyVariable]) -> None:
    """Breaks where torch gives complex numbers other parts that are no numbers: `0j ** 0.0`, `1j + inf`."""
    kinds = [v.example.dtype for v in operands if v.example.dtype.kind == "c"]
    if not kinds:
        return
    known = [v.as_constant() for v in args if isinstance(v, (ConstantVariable, SymbolicVariable))]
    floats = [value for value in known if isinstance(value, float)]
    with np.errstate(over="ignore"):
        are_finite = all(np.isfinite(kind.type(value)) for value in floats for kind in kinds)
    if name in COMPLEX_ARITHMETIC or not are_finite:
        raise numpy_agreement.differs(name)


def _check_powers(name: str, args: Sequence[Variable]) -> None:
    """Breaks where torch takes another root of -inf and -0.0.

    NumPy takes the square root for an array to the power 0.5, also if that is a number which only the present
    call has. For which dtypes and numbers torch does so, and takes the reciprocal root for -0.5, is up to it.
    """
    if name not in ("pow", "ipow"):
        return
    base, exponent = args[:2]
    if isinstance(exponent, numpy_array.NumpyVariable):
        is_array = isinstance(base, numpy_array.NumpyVariable) and not _is_number(base)
        differs = is_array and exponent.example.ndim == 0 and exponent.example.dtype.kind == "f"
    else:
        known = exponent.as_constant() if isinstance(exponent, (ConstantVariable, SymbolicVariable)) else None
        differs = known in (-0.5, 0.5)
    if differs:
        raise numpy_agreement.differs(name)


ORDER = frozenset(("lt", "le", "gt", "ge", "less", "less_equal", "greater", "greater_equal"))


def _check_order(name: str, args: Sequence[Variable], operands: Sequence[NumpyVariable]) -> None:
    """Breaks where the graph would compare with an int that the other operand's dtype does not hold."""
    if name not in ORDER:
        return
    numbers = [v.value for v in args if isinstance(v, ConstantVariable) and type(v.value) is int]
    kinds = {v.example.dtype for v in operands}
    limits = [np.iinfo(kind) for kind in kinds if kind.kind in "iu"]
    is_held = all(limit.min <= number <= limit.max for limit in limits for number in numbers)
    has_bools = any(kind.kind == "b" for kind in kinds)
    if not is_held or (has_bools and (numbers or len(kinds) > 1)):
        raise numpy_agreement.differs(name)


def _as_array(number: NumpySymbol) -> Variable:
    """A number that changes from call to call, beside an array."""
    if number.python_type() is not np.float64:
        return number
    return numpy_array.NumpyVariable(_tensor_of(number), np.float64(number.value.node.hint))


def _tensor_of(number: SymbolicVariable) -> TensorVariable:
    node = number.symbols.tensor_of(number.as_node())
    return TensorVariable(node, node.meta["example_value"])


#: operations of two numbers that take a Python float for a number of the array's precision
TAKE_FLOATS = frozenset(
    [f"{prefix}{name}" for name in ("add", "sub", "mul", "truediv") for prefix in ("", "i")]
    + ["lt", "le", "gt", "ge", "eq", "ne"]
    + ["subtract", "multiply", "divide", "true_divide"]
)


def with_floats(tx: Interpreter, name: str, operands: list[Variable]) -> list[Variable]:
    """The operands, with a Python float that changes from call to call as the number that NumPy makes of it.

    Beside complex numbers, where infinite ones have parts that are no numbers, it stays a constant; and so
    does what is stored among whole numbers, which NumPy cuts off.
    """
    operands = [realize(value) for value in operands]
    if name == "setitem":
        array, key, value = operands
        stored = with_floats(tx, "add", [array, value])[1] if _holds_floats(array) else value
        return [array, key, stored]
    if name not in TAKE_FLOATS or len(operands) != 2:
        return operands
    arrays = [value for value in operands if isinstance(value, numpy_array.NumpyVariable)]
    numbers = [value for value in operands if isinstance(value, SymbolicVariable)]
    if len(arrays) != 1 or len(numbers) != 1:
        return operands
    (number,) = numbers
    kind = arrays[0].example.dtype
    if number.python_type() is not float or number.is_unbacked or kind.kind == "c":
        return operands
    tensor: Variable = _tensor_of(number)
    example: np.generic = np.float64(number.value.node.hint)
    if kind == np.float32:
        tensor = tx.output.call_method(tx, "to", [tensor, ConstantVariable(torch.float32)], {})
        with np.errstate(over="ignore"):
            example = np.float32(example)
    assert isinstance(tensor, TensorVariable)
    made = numpy_array.NumpyVariable(tensor, example)
    return [made if value is number else value for value in operands]


def _holds_floats(value: Variable) -> bool:
    return isinstance(value, numpy_array.NumpyVariable) and value.example.dtype.kind == "f"


def _present(tx: Interpreter, kind: str, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Any:
    """NumPy's result for the present values of the numbers.

    None if an argument is an array, or if NumPy raises.
    """
    if any(isinstance(v, SequenceVariable) for v in (*args, *kwargs.values())):
        return None
    values = [v.present if isinstance(v, numpy_array.NumpyVariable) else _example_of(v) for v in args]
    keywords = {
        k: v.present if isinstance(v, numpy_array.NumpyVariable) else _example_of(v)
        for k, v in kwargs.items()
    }
    numbers = (v for v in (*args, *kwargs.values()) if isinstance(v, numpy_array.NumpyVariable))
    if any(number.present is None for number in numbers):
        return None
    with np.errstate(all="ignore"), filtered(("ignore", Warning)):
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
    if isinstance(value, numpy_array.NumpyVariable):
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
    if isinstance(value, OpaqueVariable):  # a number of a kind that graphs do not have, which nothing guards
        raise value.breaks()
    try:
        return value.real_value()
    except NotConstant:
        return NotImplemented


def _example_of(value: Variable) -> Any:
    if isinstance(value, numpy_array.NumpyVariable):
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
        with (
            np.errstate(all="ignore"),
            filtered(("ignore", RuntimeWarning), ("error", DeprecationWarning)),
        ):
            return function(*examples, **keywords)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise GraphBreak("torch_op_failed", name=f"numpy's {name}", error=text) from None


def as_arrays(
    tx: Interpreter, name: str, result: Variable, example: Any, operands: list[NumpyVariable]
) -> Variable:
    """The result of a node on `operands` as what NumPy's own run has made: arrays, numbers, lists of them.

    The graph breaks where the two differ.
    """
    if isinstance(example, (tuple, list)) and isinstance(result, SequenceVariable):
        if len(example) != len(result.items):
            raise numpy_agreement.differs(name)
        items = [as_arrays(tx, name, r, e, operands) for r, e in zip(result.items, example)]
        return ListVariable(items) if isinstance(example, list) else TupleVariable(items)
    if not isinstance(result, TensorVariable):
        if example is None and result.is_exactly(None):
            return result
        raise numpy_agreement.differs(name)
    for operand in operands:
        if example is operand.example:
            return operand
    if not numpy_agreement.is_like(result.fake, example):
        raise numpy_agreement.differs(name)
    shared = [numpy_agreement.shares(result, example, operand) for operand in operands]
    if any(in_numpy and not in_graph for in_numpy, in_graph in shared):
        raise numpy_agreement.differs(name)
    is_new = not any(in_numpy for in_numpy, _ in shared)
    if (any(in_graph for _, in_graph in shared) and is_new) or not numpy_agreement.same_strides(
        result.fake, example
    ):
        if not is_new:
            raise numpy_agreement.differs(name)
        result = numpy_agreement.laid_out(tx, result, example)
    return numpy_array.NumpyVariable(result, example)
