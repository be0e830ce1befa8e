"""Rules for functions that make numbers and text.

In:  a call of `int`, `float`, `abs`, `round`, `str`, `repr`, `format`, `torch.arange` and so on.
Out: a constant, a symbolic number, or a node of the graph.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import Variable, realize
from capture.variables.core.constant import ConstantVariable, fold, is_foldable, raise_type_error
from capture.variables.core.rules import CALLS, rule
from capture.variables.core.shown_names import shown_name
from capture.variables.numbers import late_values
from capture.variables.numbers.arithmetic import COMPARING, compute
from capture.variables.numbers.symbolic import SymbolicVariable
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.operations.operators import binary_operator, user_operator
from capture.variables.tensors.numpy_array import NumpyVariable
from capture.variables.tensors.numpy_operations import operation
from capture.variables.tensors.tensor import TensorVariable
from capture.variables.text.size_text import is_open, text_of
from capture.variables.text.strings import format_value, text_shown, to_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from capture.variables.core.protocols import Interpreter


def _number(cls: type, methods: tuple[str, ...], takes: str) -> Callable[..., Variable]:
    def of_object(tx: Interpreter, value: ObjectVariable) -> Variable:
        for method in methods:
            result = value.dunder(tx, method, [])
            if result is not None:
                return result if method == methods[0] else CALLS[cls](tx, result)
        if cls is int and value.has_class_attribute("__trunc__"):  # Python takes it, and warns
            raise GraphBreak("builtin", name="int", value=value)
        return raise_type_error(f"{cls.__name__}() {takes}, not '{shown_name(value.cls)}'")

    def make(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
        if args and isinstance(args[0], TensorVariable):
            return args[0].call_method(tx, methods[0], list(args[1:]), kwargs)
        if len(args) == 1 and isinstance(args[0], NumpyVariable) and args[0].is_unknown_number():
            return args[0].tensor.call_method(tx, methods[0], [], {})
        whole = args[0].as_int() if len(args) == 1 else None
        args = args if whole is None else (whole,)
        text = getattr(args[0], "base_value", None) if args else None
        if isinstance(text, Variable) and text.python_type() in (str, bytes):
            args = (text, *args[1:])
        if len(args) == 1 and isinstance(args[0], ObjectVariable):
            return of_object(tx, args[0])
        computed = _computed(cls, list(args)) if len(args) == 1 else None
        if computed is not None:
            return computed
        return fold(cls, _known(args), kwargs)

    return make


def _computed(function: Callable[..., object], args: list[Variable]) -> Variable | None:
    return compute(function, args) or late_values.compute(function, args)


def _known(args: Sequence[Variable]) -> list[Variable]:
    """The arguments, with a known NumPy number as the constant of its present value."""
    return [
        ConstantVariable(a.as_constant()) if isinstance(a, NumpyVariable) and a.present is not None else a
        for a in args
    ]


CALLS[int] = _number(
    int, ("__int__", "__index__"), "argument must be a string, a bytes-like object or a real number"
)


CALLS[float] = _number(float, ("__float__", "__index__"), "argument must be a string or a real number")


CALLS[complex] = _number(
    complex, ("__complex__", "__float__", "__index__"), "first argument must be a string or a number"
)


@rule(abs)
def _abs(tx: Interpreter, value: Variable) -> Variable:
    if isinstance(value, TensorVariable):
        return tx.output.call_function(tx, torch.abs, [value], {})
    if isinstance(value, NumpyVariable):
        return operation(tx, "operator", "abs", [value], {})
    if isinstance(value, ObjectVariable):
        result = value.dunder(tx, "__abs__", [])
        return result or raise_type_error(f"bad operand type for abs(): '{shown_name(value.cls)}'")
    return _computed(abs, [value]) or fold(abs, [value], {})


@rule(pow)
def _pow(tx: Interpreter, base: Variable, exponent: Variable, modulus: Variable | None = None) -> Variable:
    if modulus is not None:
        if isinstance(base, ObjectVariable):
            result = base.dunder(tx, "__pow__", [exponent, modulus])
            if result is None or result.is_exactly(NotImplemented):
                raise GraphBreak("builtin", name="pow", value=base)  # Python asks the others, too
            return result
        return fold(pow, [base, exponent, modulus], {})
    return binary_operator(tx, "**", base, exponent)


@rule(round)
def _round(tx: Interpreter, value: Variable, digits: Variable | None = None) -> Variable:
    if isinstance(value, ObjectVariable):
        result = value.dunder(tx, "__round__", [] if digits is None else [digits])
        return result or raise_type_error(f"type {shown_name(value.cls)} doesn't define __round__ method")
    if isinstance(value, TensorVariable):
        raise GraphBreak("builtin", name="round", value=value)
    args = _known([value] if digits is None else [value, digits])
    return _computed(round, args) or fold(round, args, {})


@rule(divmod)
def _divmod(tx: Interpreter, left: Variable, right: Variable) -> Variable:
    if isinstance(left, ObjectVariable) or isinstance(right, ObjectVariable):
        return user_operator(tx, "divmod()", "divmod", left, right)
    if isinstance(left, ConstantVariable) and isinstance(right, ConstantVariable):
        return fold(divmod, [left, right], {})
    if isinstance(left, TensorVariable) or isinstance(right, TensorVariable):
        raise GraphBreak("builtin", name="divmod", value=left)  # Python raises: tensors have no __divmod__
    return TupleVariable([binary_operator(tx, "//", left, right), binary_operator(tx, "%", left, right)])


@rule(str)
def _str(
    tx: Interpreter, value: Variable = ConstantVariable(""), *rest: Variable, **kwargs: Variable
) -> Variable:
    if rest or kwargs:
        return fold(str, [value, *rest], kwargs)
    return text_of(tx, str, [value]) if is_open(tx, value) else text_shown(tx, value)


@rule(repr)
def _repr(tx: Interpreter, value: Variable) -> Variable:
    return text_of(tx, repr, [value]) if is_open(tx, value) else text_shown(tx, value, to_repr)


@rule(format)
def _format(tx: Interpreter, value: Variable, spec: Variable | None = None) -> Variable:
    return format_value(tx, value, 0, spec)


@rule(bytes)
def _bytes(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    """Bytes of numbers, text, and containers of these. The result is a constant."""
    if len(args) == 1 and isinstance(args[0], ObjectVariable) and args[0].has_class_attribute("__bytes__"):
        return args[0].call_method(tx, "__bytes__", [], {})
    if not all(is_foldable(value) for value in (*args, *kwargs.values())):
        raise GraphBreak("call", value="class bytes with an argument that is no constant")
    return fold(bytes, list(args), kwargs)


# --- functions of torch -----------------------------------------------------------------------------------


@rule(torch.sym_sqrt)
def _sym_sqrt(tx: Interpreter, value: Variable) -> Variable:
    return compute(math.sqrt, [value]) or fold(torch.sym_sqrt, [value], {})


@rule(torch.arange)
def _arange(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    """`torch.arange`, whose result holds floats if an argument is `float(n)` or 1.0.

    The number of elements depends only on ints: a float that is a whole number becomes an int.
    """
    of_sizes = any(isinstance(realize(value), SymbolicVariable) for value in (*args, *kwargs.values()))
    whole = [_whole_number(tx, value, of_sizes) for value in args]
    keywords = {name: _whole_number(tx, value, of_sizes) for name, value in kwargs.items()}
    if (*whole, *keywords.values()) != (*args, *kwargs.values()):
        keywords.setdefault("dtype", ConstantVariable(torch.get_default_dtype()))
    return tx.output.call_function(tx, torch.arange, whole, keywords)


@rule(torch.full)
def _full(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    """`torch.full(size, n < limit)`, where numbers that change are compared: the graph compares tensors.

    So the answer stays open: a loop that asks whether it is at its end needs no graph for its last turn.
    """
    given = {**dict(zip(("size", "fill_value"), args)), **kwargs}
    asked, dtype = realize(given.get("fill_value", ConstantVariable(None))), given.get("dtype")
    once = len(given) == len(args) + len(kwargs)
    plain = once and given.keys() <= {"size", "fill_value", "dtype", "device"}
    of_bools = dtype is None or dtype.is_exactly(None) or dtype.is_exactly(torch.bool)
    if not (plain and of_bools and "size" in given and _compares_open_ints(asked)):
        return tx.output.call_function(tx, torch.full, list(args), kwargs)
    assert isinstance(asked, SymbolicVariable)
    keywords = {name: given[name] for name in ("device",) if name in given}
    keywords["dtype"] = ConstantVariable(torch.int64)
    left, right = asked.operands
    filled = tx.output.call_function(tx, torch.full, [given["size"], left], keywords)
    return tx.output.call_function(tx, asked.function, [filled, right], {})


def _compares_open_ints(value: Variable) -> bool:
    return (
        isinstance(value, SymbolicVariable)
        and value.function in COMPARING
        and not value.is_unbacked
        and all(operand.python_type() is int and _is_int64(operand) for operand in value.operands)
    )


def _is_int64(value: Variable) -> bool:
    return not isinstance(value, ConstantVariable) or -(2**63) <= value.value < 2**63


def _whole_number(tx: Interpreter, value: Variable, of_sizes: bool) -> Variable:
    """The size inside of `float(size)`, or the int that is equal to a constant float."""
    value = realize(value)
    if of_sizes and isinstance(value, ConstantVariable) and type(value.value) is float:
        return ConstantVariable(int(value.value)) if value.value.is_integer() else value
    if isinstance(value, SymbolicVariable) and value.function is torch.sym_float:
        (operand,) = value.operands
        return operand if operand.python_type() is int else value
    return value
