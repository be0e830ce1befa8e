"""Hooks on the gradients of tensors that the frame computes.

In:  `y.register_hook(hook)` where autograd records `y`, a result of the graph.
Out: a node that registers the hook; whoever differentiates the graph meets it there.

The hook runs when gradients do, and a compiler runs it once, so it has to be a plain function of its argument: it is interpreted here on trial, which
also finds the guards that it needs. What it holds (arguments of a partial, variables of the frame) has to be constants that stay as they are. Any other
hook breaks the graph.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from capture.break_reasons import GraphBreak
from capture.variables.base import NotConstant, ObservedException, Variable
from capture.variables.constant import NONE
from capture.variables.function import (
    CellVariable,
    NestedFunctionVariable,
    PartialVariable,
    UserFunctionVariable,
)
from capture.variables.tensor import TENSOR_METHODS, TensorVariable

if TYPE_CHECKING:
    from capture.translator import Translator


class HandleVariable(Variable):
    """What `register_hook` returns. It can be forgotten or removed while the graph is made."""

    def __init__(self, node: torch.fx.Node) -> None:
        super().__init__(None)
        self.node: torch.fx.Node | None = node

    def python_type(self) -> type:
        return torch.utils.hooks.RemovableHandle

    def describe(self) -> str:
        return "handle of a hook"

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name != "remove":
            return super().call_method(tx, name, args, kwargs)
        if self.node is not None:
            tx.output.graph.erase_node(self.node)
            self.node = None
        return NONE

    def get_attr(self, tx: Translator, name: str) -> Variable:
        from capture.variables.function import ValueMethod

        return ValueMethod(self, name) if name == "remove" else super().get_attr(tx, name)


def _register_hook(self: TensorVariable, tx: Translator, hook: Variable) -> Variable:
    function = _as_function(tx, hook)
    if self.node.op == "placeholder" or not self.fake.requires_grad or function is None:
        raise GraphBreak("method", name="register_hook", value=self)
    _on_trial(tx, self, hook)
    node = tx.output.graph.call_function(_registering(function), (self.node,))
    node.meta["example_value"] = None
    return HandleVariable(node)


def _registering(hook: Callable[[torch.Tensor], torch.Tensor | None]) -> Callable[[torch.Tensor], None]:
    """The node's target. (A graph can't hold a function among its arguments.)"""

    def register_hook(tensor: torch.Tensor) -> None:
        tensor.register_hook(hook)

    return register_hook


def _as_function(tx: Translator, hook: Variable) -> Any:
    """The hook as an object of Python, made anew where the frame made it; None where it holds what is no constant or may change still."""
    if isinstance(hook, UserFunctionVariable):
        return hook.function
    make = MAKERS.get(type(hook))
    try:
        return make(tx, hook) if make is not None else None
    except NotConstant:
        return None


def _partial(tx: Translator, hook: PartialVariable) -> Any:
    function = _as_function(tx, hook.function)
    if function is None or hook.attributes:
        return None
    keywords = {name: value.as_constant() for name, value in hook.kwargs.items()}
    return functools.partial(function, *(value.as_constant() for value in hook.args), **keywords)


def _nested(tx: Translator, hook: NestedFunctionVariable) -> Any:
    if hook.attributes or not all(_is_settled(tx, cell) for cell in hook.closure):
        return None
    defaults = tuple(value.as_constant() for value in hook.defaults)
    keywords = {name: value.as_constant() for name, value in hook.keyword_defaults.items()}
    closure = tuple(types.CellType(cell.contents.as_constant()) for cell in hook.closure if cell.contents)
    made = types.FunctionType(hook.code, hook.scope.globals, hook.code.co_name, defaults, closure)
    made.__kwdefaults__ = keywords or None
    return made


MAKERS: dict[type[Variable], Callable[[Translator, Any], Any]] = {
    PartialVariable: _partial,
    NestedFunctionVariable: _nested,
}


def _is_settled(tx: Translator, cell: CellVariable) -> bool:
    """The cell is a variable of the code that runs, and nothing can store into it from here on: what the hook will find in it is there now."""
    name = next((name for name in tx.code.co_cellvars if tx.cells.get(name) is cell), None)
    if name is None or cell.contents is None or any(_stores(inner, name) for inner in tx.code.co_consts):
        return False
    stores = [i for i, found in enumerate(tx.instructions) if found.name in STORES and found.value == name]
    loops = [
        (found.target, i)
        for i, found in enumerate(tx.instructions)
        if found.target is not None and found.target <= i
    ]
    return all(
        store < tx.index and not any(first <= store <= last for first, last in loops) for store in stores
    )


STORES = ("STORE_DEREF", "DELETE_DEREF")


def _stores(code: Any, name: str) -> bool:
    """Whether a function that the code makes has a `nonlocal` of that name, at any depth."""
    if not isinstance(code, types.CodeType):
        return False
    found = any(i.opname in STORES and i.argval == name for i in dis.get_instructions(code))
    return found or any(_stores(inner, name) for inner in code.co_consts)


def _on_trial(tx: Translator, owner: TensorVariable, hook: Variable) -> None:
    """Interpret the hook on a gradient, for its guards; the nodes that it makes are dropped again."""
    output = tx.output
    last = next(reversed(output.graph.nodes), None)
    inputs, effects, states = len(output.inputs), output.side_effects.count(), len(output.state_changes)
    with torch.no_grad():
        grad = output.call_function(tx, torch.zeros_like, [owner], {})
        assert isinstance(grad, TensorVariable)
        written = grad.fake._version
        try:
            result = hook.call(tx, [grad], {})
        except ObservedException as raised:
            raise GraphBreak("raised", error=raised.variable.describe()) from None
    plain = (
        len(output.inputs) == inputs
        and output.side_effects.count() == effects
        and len(output.state_changes) == states
        and grad.fake._version == written
    )
    gives_gradient = result.is_exactly(None) or (
        isinstance(result, TensorVariable) and result.fake.shape == owner.fake.shape
    )
    if not plain or not gives_gradient:
        raise GraphBreak("method", name="register_hook", value=owner)
    output.drop_nodes_after(last)


TENSOR_METHODS["register_hook"] = _register_hook
