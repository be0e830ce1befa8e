"""`max` and `min` of numbers in tensors.

They return one of their arguments. Only a run of the graph knows which.

In:  0-d tensors of one dtype, and Python numbers with them.
Out: the value, which stays in the graph. Outside of the graph it is the object itself, picked by a comparison
     in the graph.

    m = max(a, b)
    return m * x, m   ->   m = larger_of(a, b); mul = m * x; gt = b > a
                           after the graph: (mul, b if gt else a)

The graph breaks where the program could tell the value from the object: a write to it, a view of it, a read
after a write to an argument, gradients.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import torch

from capture.graph.inputs import version_of
from capture.graph.number_operations import larger_of, smaller_of
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from capture.output.python_code import PythonCode
    from capture.output.result_recipe import Recipe
    from capture.variables.core.protocols import Interpreter

#: The function that replaces max or min in the graph, and the comparison that makes the second argument win.
FUNCTIONS: dict[Any, tuple[Any, Any]] = {max: (larger_of, operator.gt), min: (smaller_of, operator.lt)}

#: The dtype is exact for whole numbers up to these.
EXACT = {torch.float32: 2**24, torch.float64: 2**53, torch.int64: 2**62}


def pick(other_wins: torch.Tensor, other: Any, best: Any) -> Any:
    return other if other_wins else best


class Options:
    """The two arguments, in their state when they were compared."""

    def __init__(self, function: Any, best: Variable, other: Variable) -> None:
        self.comparison = FUNCTIONS[function][1]
        self.best, self.other = best, other
        self.proxies = (other.as_proxy(), best.as_proxy())
        self.tensors = [v for v in (best, other) if isinstance(v, TensorVariable)]
        self.versions = [version_of(tensor.fake) for tensor in self.tensors]
        if None in self.versions:  # nothing would count a write
            raise GraphBreak("data_dependent_value", what="max() or min() of inference tensors")

    def check_unwritten(self) -> None:
        if self.versions != [version_of(tensor.fake) for tensor in self.tensors]:
            raise GraphBreak(
                "data_dependent_value", what="the result of max() or min() after a write to its arguments"
            )

    def build(self, code: PythonCode, value: torch.fx.Node) -> None:
        """Leaves the object on the stack.

        `value` is the node of the value. It is removed if nothing reads it.
        """
        graph = code.output.graph
        with graph.inserting_after(value):
            wins = graph.call_function(self.comparison, self.proxies)
        wins.meta["example_value"] = torch.ops.aten.eq.Tensor(
            value.meta["example_value"], value.meta["example_value"]
        )
        if not value.users:
            graph.erase_node(value)
        code.call_object(pick, [TensorVariable(wins, wins.meta["example_value"]), self.other, self.best])


class ChosenTensor(TensorVariable):
    """One of two tensors."""

    identity_known = False

    def __init__(self, made: TensorVariable, options: Options) -> None:
        super().__init__(made.node, made.fake)
        self.options = options

    def as_proxy(self) -> Any:
        self.options.check_unwritten()
        return self.node

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if not hasattr(torch.Tensor, name):
            raise GraphBreak("get_attr", value=self, name=name)
        return super().get_attr(tx, name)

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        raise GraphBreak("set_attr", value=self, name=name)

    def del_attr(self, tx: Interpreter, name: str) -> None:
        raise GraphBreak("set_attr", value=self, name=name)

    def reconstruct(self, code: PythonCode) -> None:
        self.options.build(code, self.node)

    def add_to_recipe(self, recipe: Recipe) -> bool:
        return False

    def children(self) -> list[Variable]:
        return [self.options.best, self.options.other]


class ChosenNumber(Variable):
    """A 0-d tensor or a number, or the result of an operation on such values.

    The node holds the value as a tensor. `bound` is the largest magnitude if the value is a whole number. It
    is None if the value may be another float.
    """

    identity_known = False
    never_none = True

    def __init__(self, made: TensorVariable, bound: int | None, options: Options | None, born: int) -> None:
        super().__init__()
        self.tensor = made
        self.bound = bound
        self.options = options
        self.born = born

    def describe(self) -> str:
        return f"tensor or number {self.tensor.node.name}"

    def truth(self, tx: Interpreter) -> bool:
        raise GraphBreak("data_dependent_value", what=f"bool() of a {self.describe()}")

    def in_graph(self) -> TensorVariable:
        if self.options is not None:
            self.options.check_unwritten()
        return self.tensor

    def reconstruct(self, code: PythonCode) -> None:
        if self.options is None:
            super().reconstruct(code)
        else:
            self.options.build(code, self.tensor.node)

    def children(self) -> list[Variable]:
        return [] if self.options is None else [self.options.best, self.options.other]


# --- choosing ---------------------------------------------------------------------------------------------


def extreme(tx: Interpreter, function: Any, items: Sequence[Variable]) -> Variable | None:
    """`max(*items)` or `min(*items)`.

    None if no tensor is among the items, or if the choice can't stay in the graph.
    """
    concerned = any(isinstance(item, (TensorVariable, ChosenNumber)) for item in items)
    if len(items) < 2 or not concerned or not all(map(_may_be_chosen, items)) or _is_overridden(tx):
        return None
    dtypes = {tensor.fake.dtype for tensor in map(_tensor_of, items) if tensor is not None}
    if len(dtypes) != 1 or not dtypes <= EXACT.keys():
        return None
    best: Variable | None = items[0]
    for other in items[1:]:
        best = None if best is None else _chosen(tx, function, best, other)
    return best


def _is_overridden(tx: Interpreter) -> bool:
    return bool(tx.output.modes.function_modes) or torch._C._functorch.peek_interpreter_stack() is not None


def _may_be_chosen(value: Variable) -> bool:
    if isinstance(value, TensorVariable):
        single = all(type(size) is int and size == 1 for size in value.fake.shape)
        plain = value.cls is torch.Tensor and value.python_type() is torch.Tensor
        return single and plain and not value.fake.requires_grad and value.fake.device.type == "cpu"
    if isinstance(value, ChosenNumber):
        return True
    return isinstance(value, ConstantVariable) and type(value.value) in (int, float)


def _tensor_of(value: Variable) -> TensorVariable | None:
    if isinstance(value, ChosenNumber):
        return value.tensor
    return value if isinstance(value, TensorVariable) else None


def _chosen(tx: Interpreter, function: Any, best: Variable, other: Variable) -> Variable | None:
    if isinstance(best, ConstantVariable) and isinstance(other, ConstantVariable):
        return ConstantVariable(function(best.value, other.value))
    if isinstance(best, TensorVariable) and isinstance(other, TensorVariable):
        if best.fake.shape != other.fake.shape:
            return None
        return ChosenTensor(_value_of(tx, function, best, other), Options(function, best, other))
    bounds = [_bound_of(value) for value in (best, other)]
    tensors = [tensor for tensor in map(_tensor_of, (best, other)) if tensor is not None]
    if any(tensor.fake.ndim for tensor in tensors) or not all(map(_keeps_type(tensors[0]), (best, other))):
        return None
    again = any(isinstance(value, ChosenNumber) for value in (best, other))
    bound = _whole(tensors[0], *bounds)
    if again and bound is None:  # two numbers that differ could be equal as tensors
        return None
    value = _value_of(tx, function, *(_in_graph(v) for v in (best, other)))
    known = not any(isinstance(v, ChosenNumber) and v.options is None for v in (best, other))
    options = Options(function, *(_in_graph(v) for v in (best, other)))
    options.best, options.other = best, other
    return ChosenNumber(value, bound, options if known else None, tx.output.root_step)


def _value_of(tx: Interpreter, function: Any, best: Variable, other: Variable) -> TensorVariable:
    made = tx.output.call_function(tx, FUNCTIONS[function][0], [best, other], {})
    assert isinstance(made, TensorVariable)
    tx.output.operations.choices.append(made.fake)
    return made


def _in_graph(value: Variable) -> Variable:
    return value.in_graph() if isinstance(value, ChosenNumber) else value


def _keeps_type(tensor: TensorVariable) -> Any:
    """Whether a number in the same operation leaves the dtype of the tensor unchanged."""
    floating = tensor.fake.dtype.is_floating_point

    def keeps(value: Variable) -> bool:
        number = value.value if isinstance(value, ConstantVariable) else 0
        return type(number) is int or (floating and not math.isnan(number))

    return keeps


def _bound_of(value: Variable) -> int | None:
    """The bound of the whole numbers that the value may be. It is 0 for tensors, whose value is exact."""
    if isinstance(value, ChosenNumber):
        return value.bound
    if isinstance(value, ConstantVariable):
        number = value.value
        return abs(int(number)) if math.isfinite(number) and number == int(number) else None
    return 0


def _whole(tensor: TensorVariable, *bounds: int | None) -> int | None:
    known = [bound for bound in bounds if bound is not None]
    return max(known) if len(known) == len(bounds) and max(known) <= EXACT[tensor.fake.dtype] else None


# --- arithmetic -------------------------------------------------------------------------------------------


#: Operators with the same result for a number and for a 0-d tensor, if the other operand has axes.
BESIDE_TENSORS = frozenset("+-*/")
#: The bound of the result, for whole numbers within these bounds.
BOUNDS: dict[str, Any] = {"+": operator.add, "-": operator.add, "*": operator.mul}


def is_among(values: Sequence[Variable]) -> bool:
    return any(isinstance(value, ChosenNumber) for value in values)


def operate(tx: Interpreter, symbol: str, function: Any, operands: list[Variable]) -> Variable:
    """An operator with a ChosenNumber among its operands."""
    chosen = next(value for value in operands if isinstance(value, ChosenNumber))
    beside = [value for value in operands if isinstance(value, TensorVariable)]
    if not all(map(_may_be_operand, operands)) or _is_overridden(tx):
        raise GraphBreak("operator", name=symbol, value=chosen)
    if beside:
        fake = beside[0].fake
        same = fake.dtype == chosen.tensor.fake.dtype
        wide = fake.ndim > 0 and fake.is_floating_point() >= chosen.tensor.fake.is_floating_point()
        if not (wide or same) or symbol not in (BESIDE_TENSORS if wide else BOUNDS):
            raise GraphBreak("operator", name=symbol, value=chosen)
        return tx.output.call_function(tx, function, [_in_graph(v) for v in operands], {})
    bounds = [_bound_of(value) for value in operands]
    bound = None
    if symbol in BOUNDS and _whole(chosen.tensor, *bounds) is not None:
        bound = _whole(chosen.tensor, BOUNDS[symbol](*bounds))
    if bound is None or not all(map(_keeps_type(chosen.tensor), operands)):
        raise GraphBreak("operator", name=symbol, value=chosen)
    if len({t.fake.dtype for t in map(_tensor_of, operands) if t is not None}) != 1:
        raise GraphBreak("operator", name=symbol, value=chosen)
    made = tx.output.call_function(tx, function, [_in_graph(v) for v in operands], {})
    assert isinstance(made, TensorVariable)
    return ChosenNumber(made, bound, None, tx.output.root_step)


def _may_be_operand(value: Variable) -> bool:
    if isinstance(value, TensorVariable):
        return value.cls is torch.Tensor
    return _may_be_chosen(value)


# --- in the graph -----------------------------------------------------------------------------------------


def check_use(choices: list[torch.Tensor], node: torch.fx.Node) -> None:
    """Breaks if the node writes to a chosen value or shares its memory.

    That would be the memory of one of the arguments.
    """
    memories = {choice.untyped_storage()._cdata for choice in choices}
    for result in torch.utils._pytree.tree_leaves(node.meta["example_value"]):
        shares = isinstance(result, torch.Tensor) and result.untyped_storage()._cdata in memories
        if shares and all(result is not choice for choice in choices):
            raise GraphBreak("aliasing", what="a view of the result of max() or min() of tensors")
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    taken = [argument.meta.get("example_value") for argument in node.all_input_nodes]
    # torch does not always count writes to lists of tensors.
    in_place = name.endswith("_") and any(value is choice for value in taken for choice in choices)
    if in_place or any(version_of(choice) for choice in choices):
        raise GraphBreak("mutation", value="the result of max() or min() of tensors")
