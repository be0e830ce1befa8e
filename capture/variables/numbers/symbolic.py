"""Numbers that are not known at translation time: sizes, changing ints, and results computed from them.

In:  a `SymInt`, `SymFloat` or `SymBool`, with its source, or with the function and operands that made it.
Out: a `SymbolicVariable`. The function and operands are its node in the graph if an operation takes it, and
     its bytecode if Python needs it.

`as_constant`, or a comparison that decides a branch, gives the answer for the present values. A guard checks
it.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from capture.graph.arguments import CONSTRUCTORS
from capture.graph.number_operations import bit_length
from capture.report.break_reasons import GraphBreak
from capture.report.retry import SizesAsNumbers
from capture.variables.callables.value_method import ValueMethod
from capture.variables.core.base import NotConstant, Variable, realize
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.makers import make, makes_constant
from capture.variables.core.wrap import wrap_class

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.output.python_code import PythonCode
    from capture.output.result_recipe import Recipe
    from capture.sizes.symbols import Symbols
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source

SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
METHODS: dict[str, Any] = {"bit_length": bit_length, "conjugate": operator.pos, "__round__": round}
PYTHON_TYPES: dict[type, type] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}


def _compute(function: Any, operands: list[Variable]) -> Variable | None:
    """`function(*operands)`. None if there is no rule."""
    return make(torch.SymInt, function, operands)


class SymbolicVariable(Variable):
    """A symbol has a source. Any other number is `function(*operands)`."""

    one_per_object = False

    def __init__(
        self,
        symbols: Symbols,
        value: Any,
        function: Callable[..., Any] | None = None,
        operands: tuple[Variable, ...] = (),
        *,
        source: Source | None = None,
    ) -> None:
        super().__init__(source)
        self.symbols = symbols
        self.value = value
        self.function = function
        self.operands = operands

    @property
    def is_unbacked(self) -> bool:
        """Whether only a run of the graph knows the number."""
        return bool(self.value.node.shape_env.is_unbacked(self.value.node._expr))

    def python_type(self) -> type:
        return PYTHON_TYPES[type(self.value)]

    def describe(self) -> str:
        return self.source.text if self.source is not None else str(self.value)

    def is_constant(self) -> bool:
        return True

    def open_dims(self) -> frozenset[int] | None:
        return frozenset()

    def as_constant(self) -> Any:
        """The present value. From now on a guard fixes it."""
        kind = self.python_type()
        value = decide(kind, self.value)
        # sympy has one zero, so -0.0 comes from the hint
        return kind(self.value.node.hint) if value == 0.0 and issubclass(kind, float) else value

    def real_value(self) -> Any:
        raise NotConstant(self)

    def as_proxy(self) -> Any:
        """A node for an int. A float becomes a constant; `as_proxy_for` lets some floats stay symbolic."""
        stays = isinstance(self.value, torch.SymInt) or (
            isinstance(self.value, torch.SymBool) and self.is_unbacked
        )
        return self.as_node() if stays else self.as_constant()

    def as_proxy_for(self, target: Any) -> Any:
        stays = isinstance(self.value, torch.SymFloat) and target not in FLOAT_DECIDES
        return self.as_node() if stays else self.as_proxy()

    def as_node(self) -> Any:
        return self.symbols.node_of(self)

    def truth(self, tx: Interpreter) -> bool:
        if self.function is None and isinstance(self.value, torch.SymFloat):
            is_not_zero = _compute(operator.ne, [self, ConstantVariable(0.0)])
            assert is_not_zero is not None
            return is_not_zero.truth(tx)
        return bool(decide(bool, self.value))

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name in ("real", "numerator") and isinstance(self.value, torch.SymInt):
            return self
        if name == "__class__":
            return wrap_class(tx.output, self.python_type())
        if callable(getattr(self.python_type(), name, None)):
            return ValueMethod(self, name)
        if not hasattr(self.python_type(), name):  # the error is that of every number
            return ConstantVariable(self.python_type()()).get_attr(tx, name)
        return ConstantVariable(self.as_constant()).get_attr(tx, name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        function = getattr(operator, name, None) if name.startswith("__") else METHODS.get(name)
        if function is not None and not kwargs:
            result = _compute(function, [self, *args])
            if result is not None:
                return result
        return ConstantVariable(self.as_constant()).call_method(tx, name, args, kwargs)

    def unpack(self, tx: Interpreter) -> list[Variable]:
        return ConstantVariable(self.as_constant()).unpack(tx)

    def children(self) -> list[Variable]:
        return list(self.operands)

    def reconstruct(self, code: PythonCode) -> None:
        if self.is_unbacked:
            self._load_result(code)
            return
        assert self.function is not None
        code.call_object(self.function, list(self.operands))

    def add_to_recipe(self, recipe: Recipe) -> bool:
        return self.is_unbacked and self.python_type() is not float and recipe.output(self.as_proxy())

    def _load_result(self, code: PythonCode) -> None:
        """A float leaves the graph as a tensor, because compilers of graphs know no other float."""
        node = self.as_node()
        if not isinstance(self.value, torch.SymFloat):
            code.load_output(node)
            return
        tensor = self.symbols.tensor_of(node)
        code.call_object(torch.Tensor.item, [make(torch.Tensor, tensor, tensor.meta["example_value"])])


class NumpySymbol(SymbolicVariable):
    """A number of NumPy with the layout of a float (`np.float64`), or what a comparison of one gave.

    torch takes it for a float, and so does the graph. Python computes with the number itself.
    """

    def python_type(self) -> type:
        return np.float64 if isinstance(self.value, torch.SymFloat) else np.bool_

    def as_proxy(self) -> Any:
        """In a list, or for what gives a tensor its dtype, it is no float."""
        raise GraphBreak("not_a_graph_argument", value=self)

    def as_proxy_for(self, target: Any) -> Any:
        if target in CONSTRUCTORS:
            return self.as_proxy()
        if isinstance(self.value, torch.SymFloat) and target not in FLOAT_DECIDES:
            return self.as_node()
        return self.as_constant().item()


def is_symbolic(variable: Variable) -> bool:
    return isinstance(variable, SymbolicVariable)


def is_fixed(variable: Variable) -> bool:
    """Whether it is a symbolic int whose value a guard has fixed."""
    variable = realize(variable)
    if not isinstance(variable, SymbolicVariable) or not isinstance(variable.value, torch.SymInt):
        return False
    return variable.value.node.maybe_as_int() is not None


def is_unbacked(variable: Variable) -> bool:
    """Whether the variable is a number that only a run of the graph knows."""
    return isinstance(variable, SymbolicVariable) and variable.is_unbacked


def present_int(variable: Variable) -> int | None:
    """The present value of an int, which no guard fixes. None for other values, or if only a run knows it."""
    if isinstance(variable, ConstantVariable):
        return variable.value if type(variable.value) is int else None
    if not isinstance(variable, SymbolicVariable) or variable.python_type() is not int:
        return None
    return None if variable.is_unbacked else int(variable.value.node.hint)


def decide(kind: type, value: Any) -> Any:
    """The present value of a number, or its truth. A guard checks it if the number is symbolic."""
    try:
        return kind(
            value != 0 if kind is bool and isinstance(value, (torch.SymInt, torch.SymFloat)) else value
        )
    except GraphBreak:
        raise
    except Exception as error:
        raise SizesAsNumbers(f"{value}: {error}") from error


# Operations in which a float decides about the layout of the result. sympy would compute that without
# rounding.
FLOAT_DECIDES: frozenset[Any] = frozenset(
    [torch.arange, torch.range, torch.nn.functional.interpolate, torch.nn.functional.upsample]
    + [torch.nn.functional.fractional_max_pool2d, torch.nn.functional.fractional_max_pool3d]
)


def as_number(proxy: Any, variable: Variable) -> Any:
    """The argument for an operation that can't run on a symbol: the present value, which a guard fixes."""
    return variable.as_constant() if isinstance(variable, SymbolicVariable) else proxy


# --- sizes of fake tensors --------------------------------------------------------------------------------


@makes_constant(*SYMBOLIC)
def from_symbolic(value: Any) -> Variable:
    """The variable of a size that torch computed, rebuilt from its expression."""
    if not value.node.expr.free_symbols:
        return ConstantVariable(PYTHON_TYPES[type(value)](value))
    symbols: Symbols = value.node.shape_env.owner
    known = symbols.known_number(value)
    if known is not None:
        return known
    variable = _from_expression(symbols, value.node.expr)
    return ConstantVariable(PYTHON_TYPES[type(value)](value)) if variable is None else variable


SYMPY_FUNCTIONS: dict[str, Any] = {
    "Add": operator.add,
    "Mul": operator.mul,
    "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "Max": torch.sym_max,
    "Min": torch.sym_min,
    "Pow": operator.pow,
    "PowByNatural": operator.pow,
}


def _from_expression(symbols: Symbols, expression: Any) -> Variable | None:
    """Integer arithmetic as functions of symbols and numbers. None for any other expression."""
    if expression.is_Symbol:
        return symbols.leaf(expression)
    if expression.is_Integer:
        return ConstantVariable(int(expression))
    function = SYMPY_FUNCTIONS.get(type(expression).__name__)
    if function is operator.pow and not expression.args[1].is_Integer:
        return None
    operands = [_from_expression(symbols, arg) for arg in expression.args]
    if function is None or not operands:
        return None
    result = operands[0]
    for operand in operands[1:]:
        if result is None or operand is None:
            return None
        result = _compute(function, [result, operand])
    return result
